// A client of the table store for the workers and the api. Every call crosses a rpc::Transport and may fail with
// kDeadlineExceeded or kUnavailable, in which case it may or may not have taken effect. Table names match in any case.
#pragma once
#include <memory>

#include "common/rpc/call.h"
#include "table_store/client/table_calls.h"

namespace tidemark::table_store {

class TableClient {
  rpc::Caller caller_;

 public:
  /// Calls as `account`; the transport must outlive the client.
  TableClient(rpc::Transport& transport, std::string account)
      : caller_{transport, std::move(account), std::chrono::seconds(10)} {}
  TableClient(const TableClient&) = delete;
  TableClient& operator=(const TableClient&) = delete;

  [[nodiscard]] const std::string& account() const { return caller_.account; }
  /// Returns a client of the same store for another account.
  [[nodiscard]] std::shared_ptr<TableClient> as(std::string account) const {
    return std::make_shared<TableClient>(caller_.transport, std::move(account));
  }

  rpc::Method<calls::CreateTable> create_table{caller_};  // kTableAlreadyExists
  rpc::Method<calls::DeleteTable> delete_table{caller_};  // kResourceNotFound
  /// Deletes the table in one transaction with the fence, which counts it as 1. kResourceNotFound.
  rpc::Method<calls::DeleteTableFenced> delete_table_fenced{caller_};
  rpc::Method<calls::TableExists> table_exists{caller_};
  rpc::Method<calls::GetAcl> policies{caller_};  // kTableNotFound
  rpc::Method<calls::SetAcl> set_policies{caller_};
  Task<Result<std::vector<std::string>>> list_tables();
  /// Returns the tables that have followers, also dropped ones.
  Task<Result<std::vector<std::string>>> followed_tables();
  /// Returns nothing if there is no such entity. kTableNotFound.
  rpc::Method<calls::Get> get{caller_};
  /// Reads 1..100 rows of one partition, not in one snapshot.
  Task<Result<std::vector<std::optional<Entity>>>> get_all(std::string table, std::string partition_key,
                                                           std::vector<std::string> row_keys);
  rpc::Method<calls::Query> query{caller_};
  /// Makes 1..100 mutations of distinct rows of one partition, atomically.
  Task<MutationResult<std::vector<MutationOutcome>>> mutate(std::string table, std::string partition_key,
                                                            std::vector<Mutation> mutations,
                                                            std::optional<Fence> fence);
  /// Makes 1..100 moves, each in its own transaction, and returns their outcomes (storage/table_service.h).
  Task<Result<std::vector<Result<void>>>> move_all(std::vector<Move> moves);
  /// Takes steps of a transaction in one commit (model/steps.h). kFenced; the errors of mutations, with the number of
  /// the step in a StepFailure.
  rpc::Method<calls::TakeSteps> take_steps{caller_};
  /// Makes changes in several partitions, each partition's (1..100) atomically; 1..1000 mutations in all. A partition
  /// may be named more than once.
  rpc::Method<calls::MutateAll> mutate_all{caller_};
  /// Does the same for a call that the caller keeps, which must be of this account.
  Task<Result<calls::MutateAll::Reply>> mutate_all_of(const calls::MutateAll& call);
  /// Returns the row that each of 1..1000 searches finds, if there is one, in one snapshot. A reply holds about 4 MiB:
  /// there may be fewer rows than searches, but at least one; ask for the rest with another call.
  rpc::Method<calls::FindRows> find_rows{caller_};

  // Following a table (model/changes.h). A follower outlives the table: its log continues when a table of the same name
  // is made again.

  /// Makes or changes the follower. A new one, and any that is to begin anew, has the position of the last change of
  /// the store: it misses nothing from now on. Any other keeps its position, but becomes stale if it follows an
  /// additional property while changes wait for it. `at`: it begins anew only from this position, so that a delayed
  /// call, which comes after another one has begun anew, loses nothing. kTableNotFound for a new one,
  /// kTooManyFollowers, kFenced.
  rpc::Method<calls::Follow> follow{caller_};
  rpc::Method<calls::Unfollow> unfollow{caller_};    // no error if there is no such follower
  rpc::Method<calls::Followers> followers{caller_};  // of a table, by name; none for a table without followers
  /// Returns the changes of about `limit` (1..10000) entities after the position `after`, or the first that come within
  /// `wait` (at most 5 s); an empty page if none came. A transaction's changes are in one page, so there may be
  /// somewhat more; `skip` is that of the previous page (ChangesPage), and none at first. A position before the
  /// follower's own stands for that one. kFollowerNotFound, kServerBusy if too many wait.
  rpc::Method<calls::ChangedEntities> changed_entities{caller_};
  /// Says that the follower has processed all changes up to this position. A lower one than before changes nothing, and
  /// neither does any for a stale follower. kFollowerNotFound.
  rpc::Method<calls::Acknowledge> acknowledge{caller_};

  // The change feed of a table (model/feed.h). It outlives the table, as followers do.

  /// Declares or changes the feed. Changes that were kept before have the values that were asked for then.
  /// kTableNotFound for a new feed.
  rpc::Method<calls::PutFeed> put_feed{caller_};
  rpc::Method<calls::DropFeed> drop_feed{caller_};  // kFeedNotFound
  /// Returns how much is kept, and how far behind the feed's end these places (at most 1000) are. kFeedNotFound.
  rpc::Method<calls::GetFeed> feed{caller_};
  /// Returns the changes from a place on. A page may end within a transaction. kFeedNotFound; kChangesExpired if some
  /// changes after the place are not kept any more; kServerBusy if too many wait.
  rpc::Method<calls::ReadChanges> changes{caller_};

  /// Raises the operation's epoch and returns its ledger. kFenced if its epoch is higher already. The last argument is
  /// Fence::since.
  rpc::Method<calls::OpenOperation> open_operation{caller_};
  rpc::Method<calls::CloseOperation> close_operation{caller_};
  rpc::Method<calls::ReadOperation> read_operation{caller_};
  /// Closes the operation for good, whatever its epoch is, unless it is closed already: nothing is written in its name
  /// any more.
  Task<Result<void>> end_operation(std::string id);
  /// Removes the ledger if it is closed; for operations whose messages are gone.
  rpc::Method<calls::ForgetOperation> forget_operation{caller_};
  /// Raises a counter of an open operation, without any other effect; for skipped keys.
  rpc::Method<calls::Count> count{caller_};
  /// Returns the time by which the age of stored things is judged for removal (common/kv/age_clock.h).
  rpc::Method<calls::AgeNow> age_now{caller_};
};

}  // namespace tidemark::table_store
