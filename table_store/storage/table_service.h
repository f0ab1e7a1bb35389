// The table store's operations, for both faces (rest/ and internal/). Every rule of the domain is here or in model/.
// Thread safe; coroutines resume on the caller's executor. Table names match whatever their case and keep it.
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
#include "common/kv/operation_ledgers.h"
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
/// partition key only, so it needs one. From a SAS.
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
  bool sources_only = false;  // without the rows that followers of this table made
  Duration patience{};        // if given: a page ends after about so long; 5 s at most
  KeysIn keys_in;             // if given: lists of the table's followers may be used (model/entity_lists.h)
  /// Asked between slices: nobody waits for the answer any more, so the scan ends with kCancelled. Empty: never.
  std::function<bool()> abandoned;
  /// Called before the first entity of a partition is read, with 0, and after the last, with how many were. A refusal
  /// ends the page there, or fails the query if the page is empty. Empty: nobody counts.
  std::function<Result<void>(std::string_view partition_key, std::uint64_t read)> meter;
};

struct QueryResult {
  std::size_t count = 0;
  std::uint64_t searched = 0;  // entities that were read before `next`, whether they match or not
  std::optional<Continuation> next;
  std::string index;  // whose lists were used; empty: none
};

struct MutationJob;
struct NotedFeeds;
struct TableChange;

class TableService : public kv::OperationLedgers, public kv::AccountProperties {
 public:
  /// `ages`: by which the age of what is stored is judged (common/kv/age_clock.h); by default the same clock.
  TableService(kv::Engine& engine, Clock& clock, Random& random, ScanLimits scans = {}, const Clock* ages = nullptr);
  TableService(const kv::Shards& shards, Clock& clock, Random& random, ScanLimits scans = {});

  Task<Result<void>> create_table(std::string account, std::string table);
  /// O(1): the name is free at once; the rows go in the background.
  Task<Result<void>> delete_table(std::string account, std::string table);
  /// In one transaction with the fence's check and count.
  Task<Result<void>> delete_table_fenced(std::string account, std::string table, Fence fence);
  /// Names in case-insensitive order, from `from` on, at most `limit`; `filter` sees one property, TableName.
  Task<Result<TablePage>> list_tables(std::string account, Filter filter, std::uint32_t limit, std::string from);
  /// The table's name in its own case; kTableNotFound.
  Task<Result<std::string>> find_table(std::string account, std::string table);

  Result<StoredPolicies> get_acl(std::string_view account, std::string_view table);
  Task<Result<void>> set_acl(std::string account, std::string table, StoredPolicies policies);

  /// Shows the entity to `see`, in place; false if there is none. kTableNotFound. Synchronous: mostly one read.
  Result<bool> view(std::string_view account, std::string_view table, std::string_view partition_key,
                    std::string_view row_key, const std::function<void(const EntityView&)>& see);
  /// A copy of it, or nothing.
  Result<std::optional<Entity>> get(std::string_view account, std::string_view table, std::string_view partition_key,
                                    std::string_view row_key);
  /// Calls `each` for every match, in key order, until `top`, the end, or 5 s; `each` returns false to stop after the
  /// entity it was given (page full by bytes). What `each` sees is well-formed and gone when it returns. Gives the
  /// thread away every 2 ms and takes turns with other scans; kServerBusy if too many wait.
  Task<Result<QueryResult>> query(std::string account, Query query, std::function<bool(const EntityView&)> each);

  struct MutateResult {
    std::vector<MutationOutcome> outcomes;
    std::vector<std::string> blocks;  // the properties of each mutation (property_block.h): what an insert stored
  };
  /// 1..100 mutations of distinct rows. Checks all limits of keys, properties and sizes.
  Task<MutationResult<MutateResult>> mutate(std::string account, std::string table, std::string partition_key,
                                            std::vector<Mutation> mutations, std::optional<Fence> fence);

  /// 1..1000 mutations in all: each partition's like mutate(), in a transaction and with an outcome of its own.
  Task<Result<std::vector<Result<std::vector<MutationOutcome>>>>> mutate_all(std::string account,
                                                                             std::vector<PartitionMutations> partitions,
                                                                             std::optional<Fence> fence);
  /// The first row of each of 1..1000 places, all of one snapshot. The reply may be cut short after the first.
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
  /// Of all accounts; at most so many.
  Result<std::vector<NamedFollower>> all_followers(std::size_t most);
  /// The account's tables that have followers, also those that were dropped. Pages as of list_tables().
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
  /// Of all accounts; at most so many.
  Result<std::vector<NamedFeed>> all_feeds(std::size_t most);
  Task<Result<FeedPage>> changes(std::string account, std::string table, FeedRequest request);
  /// Lets go of what feeds have kept for long enough, now and then, until the shutdown begins.
  Task<Result<void>> let_changes_go();

  /// 1..100 moves, each a transaction of its own (model/move.h), with their outcomes. A move that did not happen is an
  /// error and has changed nothing: kResourceNotFound (the entity), kTableNotFound, kUpdateConditionNotSatisfied
  /// (something else is in the destination, or the companion's condition), kEntityAlreadyExists (the companion),
  /// kFenced.
  Task<Result<std::vector<Result<void>>>> move_all(std::string account, std::vector<Move> moves);

  /// Scans end with what they have and a continuation, and waits for changes with an empty page, so that nothing waits
  /// when the executors go.
  void begin_shutdown() {
    turns_.close();
    waits_.close();
    closing_.notify_all();
  }

  /// For workers, who keep no time of their own: what is old by this may be removed.
  Result<Time> age_now(const std::string&) { return ages_.now(); }

  /// Removes the rows of deleted tables and of logs that nobody needs; run once at start and after each delete_table by
  /// itself.
  Task<Result<void>> collect_garbage();
  /// Ends drops of tables that an earlier process began. Run it once at start.
  Task<Result<void>> finish_drops();

  // Where processes share the shards. Create, delete and set_acl are for the process that serves the catalogue, changes
  // of entities for the one that serves their partition, and open, close, count and forget of an operation for the one
  // that serves its home; they fail with kServerBusy elsewhere. What only reads is for any.

  /// Which has the partition.
  [[nodiscard]] std::size_t shard_of(std::string_view account, std::string_view table,
                                     std::string_view partition_key) const;
  /// From any thread: this process serves the shard from now on. The task goes on with what the one before has left.
  Task<Result<void>> gained(std::size_t shard);
  /// Likewise: it does not any more.
  void lost(std::size_t shard) { shards_.lost(shard); }

 private:
  /// The stored bytes of an entity, if there is one; kTableNotFound.
  Result<std::optional<std::string>> read_entity(std::string_view account, std::string_view table,
                                                 std::string_view partition_key, std::string_view row_key);
  /// With the fence's check and count, if there is one; then starts collection.
  Task<Result<void>> drop(std::string account, std::string table, std::optional<Fence> fence);
  /// Tells those who wait that changes of these feeds are durable.
  void announce(const NotedFeeds& feeds, const Executor& executor);
  /// Erases what no follower needs any more, unless that was done a moment ago.
  void trim_in_background(const std::string& feed_key, std::uint64_t feed, const Executor& executor);
  /// Somebody needs the log no more; `ended`: nobody does.
  void forget_notes(const std::string& feed_key, std::uint64_t feed, bool ended, const Executor& executor);
  /// What is on the shards of this process.
  Task<Result<void>> trim_log(std::string feed_key);
  /// A part of acknowledge(), on a shard of this process.
  Task<Result<void>> acknowledge_on(std::size_t shard, std::string feed_key, std::string follower, Version position);
  /// What other processes ask of this one.
  void offer_steps(kv::OwnerCalls& owners);
  /// False at the end of the wait. True if there are changes after what was `seen`, or may be on a shard that another
  /// process serves.
  Task<bool> await_changes(ChangeWaits::Place& place, Signal::Ticket ticket, Duration end, Position seen);
  Task<Result<void>> trim_logs();
  Task<Result<void>> collect_on(std::size_t shard);
  Task<Result<void>> go_on_with(std::size_t shard);
  Task<Result<void>> let_old_changes_go(std::string feed_key);
  Task<Result<void>> let_old_changes_go_on(std::size_t shard, const std::string& feed_key);

  /// A job's transaction.
  Result<void> write(kv::Transaction& txn, MutationJob& job);
  struct Preparation;
  /// Of a job whose shard lacked something: makes that ready, and says whether to try again. Otherwise `done` is final.
  Task<bool> prepare_again(MutationJob& job, Result<void>& done, Preparation& preparation);
  /// A change of who follows the table, as the catalogue makes it.
  [[nodiscard]] Result<CopiedTables::Change> declare(kv::Transaction& txn, std::string_view account,
                                                     TableChange change) const;
  /// Makes it in one transaction with the fence's check and count, if there is one.
  Task<Result<bool>> change_table(std::string account, std::string table, std::optional<Fence> fence,
                                  kv::CatalogueCopies::Begin begin, const FailStep* step);

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
