// The table store's operations, for both faces (rest/ and internal/). Every rule of the domain is here or in model/.
// Thread safe; coroutines resume on the caller's executor. Table names match in any case and keep their case.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/random.h"
#include "common/base/stored_policy.h"
#include "common/kv/account_properties.h"
#include "common/shards/operation_ledgers.h"
#include "common/shards/peers.h"
#include "table_store/client/table_calls.h"
#include "table_store/model/changes.h"
#include "table_store/model/feed.h"
#include "table_store/model/filter.h"
#include "table_store/model/listed.h"
#include "table_store/model/move.h"
#include "table_store/model/mutation.h"
#include "table_store/model/query.h"
#include "table_store/storage/change_hints.h"
#include "table_store/storage/change_waits.h"
#include "table_store/storage/log_trims.h"
#include "table_store/storage/scan_turns.h"
#include "table_store/storage/table_shards.h"

namespace tidemark::table_store {

/// Entities with (pk, rk) in [start, end], compared as pairs; absent parts do not bound. A row key bounds within its
/// partition key only, so it needs one. Comes from a SAS.
struct KeyBounds {
  std::optional<std::string> start_pk, start_rk, end_pk, end_rk;
  [[nodiscard]] bool contains(std::string_view pk, std::string_view rk) const;
};

/// Finds the first keys in the text of a row that lists entities; none if the text is not such a list.
using KeysIn = std::function<std::vector<ListedKey>(std::string_view text, std::size_t most)>;

struct Query {
  std::string table;
  Filter filter;
  std::uint32_t top = 1000;  // 1..1000
  std::optional<Continuation> from;
  KeyBounds bounds;
  std::string operation;      // if given: only copies that this operation wrote
  std::string follower;       // if given: only rows that this follower of some table made
  bool sources_only = false;  // leave out the rows that followers of this table made
  Duration patience{};        // if given: a page ends after about so long; 5 s at most
  KeysIn keys_in;             // if given: lists of the table's followers may be used (model/entity_lists.h)
  /// Asked between slices. True: the answer is not wanted any more, so the scan ends with kCancelled. Empty: never.
  std::function<bool()> abandoned;
  /// Called before the first entity of a partition is read, with 0, and after the last, with their number. A refusal
  /// ends the page there, or fails the query if the page is empty. Empty: no count is kept.
  std::function<Result<void>(std::string_view partition_key, std::uint64_t read)> meter;
};

struct QueryResult {
  std::size_t count = 0;
  std::uint64_t searched = 0;  // entities that were read before `next`, whether they match or not
  std::optional<Continuation> next;
  std::string index;  // the index whose lists were used; empty: none
};

struct MutationJob;
struct NotedFeeds;
struct StepsJob;
struct TableChange;

class TableService : public shards::OperationLedgers, public kv::AccountProperties {
 public:
  /// `ages`: the clock by which the age of stored things is judged (common/kv/age_clock.h); by default the same clock.
  TableService(kv::Engine& engine, Clock& clock, Random& random, ScanLimits scans = {}, const Clock* ages = nullptr);
  TableService(const shards::Shards& shards, Clock& clock, Random& random, ScanLimits scans = {});

  /// Carries out a call of client/table_calls.h or owner_calls.h, in the process that serves its place. Defined in
  /// served_calls.h. kServerBusy: no process serves it now, or it is unknown whether the call was carried out.
  template <class Call>
  Task<Result<typename Call::Reply>> call(Call call);

  Task<Result<void>> create_table(std::string account, std::string table);
  /// O(1): the name is free at once; the rows are removed in the background.
  Task<Result<void>> delete_table(std::string account, std::string table);
  /// Deletes the table in one transaction with the fence's check and count.
  Task<Result<void>> delete_table_fenced(std::string account, std::string table, Fence fence);
  /// Returns names in case-insensitive order, from `from` on, at most `limit`; `filter` sees one property, TableName.
  Task<Result<TablePage>> list_tables(std::string account, Filter filter, std::uint32_t limit, std::string from);
  /// Returns the table's name in its own case; kTableNotFound.
  Task<Result<std::string>> find_table(std::string account, std::string table);

  Result<StoredPolicies> get_acl(std::string_view account, std::string_view table);
  Task<Result<void>> set_acl(std::string account, std::string table, StoredPolicies policies);

  /// Shows the entity to `see`, in place; false if there is none. kTableNotFound. Synchronous: mostly one read.
  Result<bool> view(std::string_view account, std::string_view table, std::string_view partition_key,
                    std::string_view row_key, const std::function<void(const EntityView&)>& see);
  /// Returns a copy of the entity, or nothing.
  Result<std::optional<Entity>> get(std::string_view account, std::string_view table, std::string_view partition_key,
                                    std::string_view row_key);
  /// Calls `each` for every match, in key order, until `top`, the end, or 5 s; `each` returns false to stop after the
  /// entity it was given (page full by bytes). The entity is well-formed and only valid during the call. Gives the
  /// thread away every 2 ms and takes turns with other scans; kServerBusy if too many wait.
  Task<Result<QueryResult>> query(std::string account, Query query, std::function<bool(const EntityView&)> each);

  struct MutateResult {
    std::vector<MutationOutcome> outcomes;
    std::vector<std::string> blocks;  // the properties of each mutation (property_block.h), as an insert stored them
  };
  /// 1..100 mutations of distinct rows. Checks all limits of keys, properties and sizes.
  Task<MutationResult<MutateResult>> mutate(std::string account, std::string table, std::string partition_key,
                                            std::vector<Mutation> mutations, std::optional<Fence> fence);

  /// Does the same in the process that serves the partition.
  Task<MutationResult<MutateResult>> mutate_anywhere(std::string account, std::string table, std::string partition_key,
                                                     std::vector<Mutation> mutations, std::optional<Fence> fence);

  /// 1..1000 mutations in all: each partition's like mutate(), in a transaction and with an outcome of its own.
  Task<Result<std::vector<Result<std::vector<MutationOutcome>>>>> mutate_all(std::string account,
                                                                             std::vector<PartitionMutations> partitions,
                                                                             std::optional<Fence> fence);
  /// Returns the first row of each of 1..1000 places, all from one snapshot. The reply may be cut short after the
  /// first.
  Task<Result<FoundRows>> find_rows(std::string account, std::string table, std::vector<RowSearch> searches,
                                    Selection selection = {});

  Task<Result<ListedPage>> find_listed(std::string account, ListedRequest request, KeysIn keys_in);
  Task<Result<CopiesPage>> find_copies(std::string account, CopiesRequest request);

  // Following a table: model/changes.h, client/table_client.h.

  Task<Result<FollowerStatus>> follow(std::string account, std::string table, Following following, bool anew,
                                      std::optional<Position> at = {}, std::optional<Fence> fence = {});
  Task<Result<void>> unfollow(std::string account, std::string table, std::string follower);
  Result<std::vector<FollowerStatus>> followers(const std::string& account, const std::string& table);
  struct NamedFollower {
    std::string account, table;
    FollowerStatus status;
  };
  /// Returns at most so many followers, of all accounts.
  Result<std::vector<NamedFollower>> all_followers(std::size_t most);
  /// Returns the account's tables that have followers, also those that were dropped. In pages like list_tables().
  Result<TablePage> followed_tables(const std::string& account, const std::string& from);
  Task<Result<ChangesPage>> changed_entities(std::string account, std::string table, std::string follower,
                                             Position after, NotesRead skip, std::uint32_t limit, Duration wait,
                                             Selection selection = {});
  Task<Result<void>> acknowledge(std::string account, std::string table, std::string follower, Position position);

  // The change feed: model/feed.h, client/table_client.h.

  Task<Result<FeedStatus>> put_feed(std::string account, std::string table, ChangeFeed feed);
  Task<Result<void>> drop_feed(std::string account, std::string table);
  Result<FeedStatus> feed_status(const std::string& account, const std::string& table,
                                 const std::vector<FeedPlace>& places);
  struct NamedFeed {
    std::string account;
    FeedStatus status;
  };
  /// Returns at most so many feeds, of all accounts.
  Result<std::vector<NamedFeed>> all_feeds(std::size_t most);
  Task<Result<FeedPage>> changes(std::string account, std::string table, FeedRequest request);
  /// Drops changes that feeds have kept for long enough, now and then, until the shutdown begins.
  Task<Result<void>> let_changes_go();

  /// 1..100 moves, each a transaction of its own (model/move.h), with their outcomes. A move that did not happen is an
  /// error and has changed nothing: kResourceNotFound (the entity), kTableNotFound, kUpdateConditionNotSatisfied
  /// (something else is in the destination, or the companion's condition), kEntityAlreadyExists (the companion),
  /// kFenced.
  Task<Result<std::vector<Result<void>>>> move_all(std::string account, std::vector<Move> moves);

  /// Takes steps of a transaction, in one commit of one shard (model/steps.h). kFenced, kTableNotFound.
  Task<Result<std::variant<StepsTaken, StepFailure>>> take_steps(std::string account, StepsRequest request);

  /// Ends scans with their matches so far and a continuation, and waits for changes with an empty page, so that nothing
  /// waits when the executors are destroyed.
  void begin_shutdown() {
    turns_.close();
    waits_.close();
    closing_.notify_all();
  }

  /// Returns the time for workers, which keep no time of their own, to judge the age of things for removal.
  Result<Time> age_now(const std::string&) { return ages_.now(); }

  /// Removes the rows of deleted tables and of logs that are not needed. Run it once at start; it runs by itself after
  /// each delete_table.
  Task<Result<void>> collect_garbage();
  /// Ends drops of tables that an earlier process began. Run it once at start.
  Task<Result<void>> finish_drops();

  // Where processes share the shards, call() and mutate_anywhere() pass on what changes something; the functions above
  // fail with kServerBusy in another process than the one that serves the place of their call. Any process answers
  // operations that only read.

  [[nodiscard]] bool is_shared() const { return shards_.shared(); }
  [[nodiscard]] bool is_here(std::size_t shard) const { return shards_.here(shard); }
  [[nodiscard]] Clock& clock() const { return clock_; }

  // For other processes, on a shard that this one serves.

  /// Makes a part of acknowledge().
  Task<Result<void>> acknowledge_on(std::uint64_t shard, std::string feed_key, std::string follower, Version position);
  /// See ChangeHints.
  Task<Result<bool>> await_change(std::uint64_t shard, std::uint64_t feed, Version after) {
    return hints_.await_change(shard, feed, after);
  }
  /// Returns the copies of tables, which have calls of their own (common/shards/owner_calls.h).
  [[nodiscard]] const shards::CatalogueCopies& catalogue_copies() const { return shards_.copies(); }

  /// Returns the shard that has the partition.
  [[nodiscard]] std::size_t shard_of(std::string_view account, std::string_view table,
                                     std::string_view partition_key) const;
  /// This process serves the shard from now on. The task continues the work that the previous process has left. From
  /// any thread.
  Task<Result<void>> gained(std::size_t shard);
  /// This process no longer serves the shard. From any thread.
  void lost(std::size_t shard) { shards_.lost(shard); }

 private:
  // The shard of a call's place.
  [[nodiscard]] std::size_t shard_at(const calls::PartitionPlace& place) const {
    return shard_of(place.account, place.table, place.partition_key);
  }
  [[nodiscard]] std::size_t shard_at(const rpc::OperationPlace& place) const {
    return home_of(place.account, place.operation_id);
  }
  [[nodiscard]] std::size_t shard_at(rpc::ShardNumber place) const { return place.shard; }
  [[nodiscard]] std::size_t shard_at(const calls::StepsPlace& place) const;
  /// Returns the stored bytes of an entity, if there is one; kTableNotFound.
  Result<std::optional<std::string>> read_entity(std::string_view account, std::string_view table,
                                                 std::string_view partition_key, std::string_view row_key);
  /// Drops the table with the fence's check and count, if there is a fence; then starts the collection.
  Task<Result<void>> drop(std::string account, std::string table, std::optional<Fence> fence);
  /// Tells waiters that changes of these feeds are durable.
  void announce(const NotedFeeds& feeds, const Executor& executor);
  /// Erases notes that no follower needs any more, unless that was done a moment ago.
  void trim_in_background(const std::string& feed_key, std::uint64_t feed, const Executor& executor);
  /// A follower or reader does not need the log any more; `ended`: there are none left.
  void forget_notes(const std::string& feed_key, std::uint64_t feed, bool ended, const Executor& executor);
  /// Trims the log on the shards of this process.
  Task<Result<void>> trim_log(std::string feed_key);
  /// Reads pages of a log until one says anything, or the time is over (storage/log_reading.h).
  template <class Page, class Read>
  Task<Result<Page>> await_page(Duration wait, Read read);
  /// Returns false at the end of the wait, and true if there are changes after the position `seen`, or there may be
  /// some on a shard that another process serves.
  Task<bool> await_changes(ChangeWaits::Place& place, Signal::Ticket ticket, Duration end, Position seen);
  Task<Result<void>> trim_logs();
  Task<Result<void>> collect_on(std::size_t shard);
  Task<Result<void>> go_on_with(std::size_t shard);
  Task<Result<void>> let_old_changes_go(std::string feed_key);
  Task<Result<void>> let_old_changes_go_on(std::size_t shard, const std::string& feed_key);

  /// Takes the steps within a transaction of their shard.
  Result<void> take(kv::Transaction& txn, StepsJob& steps);
  /// Runs a job's transaction.
  Result<void> write(kv::Transaction& txn, MutationJob& job);
  struct Preparation;
  /// If a job's shard lacked something, prepares it, and says whether to try again. Otherwise `done` is final.
  Task<bool> prepare_again(MutationJob& job, Result<void>& done, Preparation& preparation);
  /// Returns a change of the table's followers in the form in which the catalogue makes it.
  [[nodiscard]] Result<CopiedTables::Change> declare(kv::Transaction& txn, std::string_view account,
                                                     TableChange change) const;
  /// Makes the change in one transaction with the fence's check and count, if there is a fence.
  Task<Result<bool>> change_table(std::string account, std::string table, std::optional<Fence> fence,
                                  shards::CatalogueCopies::Begin begin, const FailStep* step);

  TableShards shards_;
  kv::Engine& engine_;  // of the catalogue
  Clock& clock_;
  const Clock& ages_;
  ScanTurns turns_;
  ChangeWaits waits_;
  ChangeHints hints_;
  LogTrims trims_;
  Signal closing_;
};

}  // namespace tidemark::table_store
