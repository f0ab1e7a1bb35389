// The calls that the table store answers (common/rpc/call.h). Their fields are in the order of the service's
// parameters. A call with a place() is carried out by the process that serves the place; any process carries out the
// others.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/base/stored_policy.h"
#include "common/rpc/places.h"
#include "table_store/model/changes.h"
#include "table_store/model/feed.h"
#include "table_store/model/move.h"
#include "table_store/model/mutation.h"
#include "table_store/model/query.h"
#include "table_store/model/steps.h"

namespace tidemark::table_store::calls {

struct PartitionPlace {
  std::string_view account, table, partition_key;
};
struct CreateTable {
  static constexpr std::string_view kMethod = "table.create";
  using Reply = void;
  std::string account, table;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct DeleteTable {
  static constexpr std::string_view kMethod = "table.delete";
  using Reply = void;
  std::string account, table;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct DeleteTableFenced {
  static constexpr std::string_view kMethod = "table.delete_fenced";
  using Reply = void;
  std::string account, table;
  Fence fence;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct TableExists {
  static constexpr std::string_view kMethod = "table.exists";
  using Reply = bool;
  std::string account, table;
};

struct GetAcl {
  static constexpr std::string_view kMethod = "table.get_acl";
  using Reply = StoredPolicies;
  std::string account, table;
};

struct SetAcl {
  static constexpr std::string_view kMethod = "table.set_acl";
  using Reply = void;
  std::string account, table;
  StoredPolicies policies;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct ListTables {
  static constexpr std::string_view kMethod = "table.list";
  using Reply = TablePage;
  std::string account, from;
};

struct FollowedTables {
  static constexpr std::string_view kMethod = "table.followed";
  using Reply = TablePage;
  std::string account, from;
};

struct Get {
  static constexpr std::string_view kMethod = "table.get";
  using Reply = std::optional<Entity>;
  std::string account, table, partition_key, row_key;
  [[nodiscard]] PartitionPlace place() const { return {account, table, partition_key}; }
};

struct GetAll {
  static constexpr std::string_view kMethod = "table.get_all";
  using Reply = std::vector<std::optional<Entity>>;
  std::string account, table, partition_key;
  std::vector<std::string> row_keys;
  [[nodiscard]] PartitionPlace place() const { return {account, table, partition_key}; }
};

struct Query {
  static constexpr std::string_view kMethod = "table.query";
  using Reply = QueryPage;
  std::string account;
  QueryRequest query;
};

/// The failure of one of the mutations; the error of a call has no place for the index.
struct MutationFailure {
  Error error;
  std::uint64_t index = 0;
};

struct Mutate {
  static constexpr std::string_view kMethod = "table.mutate";
  using Reply = std::variant<std::vector<MutationOutcome>, MutationFailure>;
  std::string account, table, partition_key;
  std::vector<Mutation> mutations;
  std::optional<Fence> fence;
  [[nodiscard]] PartitionPlace place() const { return {account, table, partition_key}; }
};

/// 1..1000 mutations in all. The mutations of each partition are a transaction of their own, with its own outcome.
struct MutateAll {
  static constexpr std::string_view kMethod = "table.mutate_all";
  using Reply = std::vector<Result<std::vector<MutationOutcome>>>;
  std::string account;
  std::vector<PartitionMutations> partitions;
  std::optional<Fence> fence;
};

/// 1..1000 searches.
struct FindRows {
  static constexpr std::string_view kMethod = "table.find_rows";
  using Reply = FoundRows;
  std::string account, table;
  std::vector<RowSearch> searches;
  Selection selection;
};

struct Follow {
  static constexpr std::string_view kMethod = "table.follow";
  using Reply = FollowerStatus;
  std::string account, table;
  Following following;
  bool anew = false;
  std::optional<Position> at = {};
  std::optional<Fence> fence = {};
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct Unfollow {
  static constexpr std::string_view kMethod = "table.unfollow";
  using Reply = void;
  std::string account, table, follower;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct Followers {
  static constexpr std::string_view kMethod = "table.followers";
  using Reply = std::vector<FollowerStatus>;
  std::string account, table;
};

struct ChangedEntities {
  static constexpr std::string_view kMethod = "table.changed_entities";
  using Reply = ChangesPage;
  std::string account, table, follower;
  Position after;
  NotesRead skip;
  std::uint32_t limit = 0;
  Duration wait{};
  Selection selection;
};

struct Acknowledge {
  static constexpr std::string_view kMethod = "table.acknowledge";
  using Reply = void;
  std::string account, table, follower;
  Position position;
};

struct PutFeed {
  static constexpr std::string_view kMethod = "table.put_feed";
  using Reply = FeedStatus;
  std::string account, table;
  ChangeFeed feed;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct DropFeed {
  static constexpr std::string_view kMethod = "table.drop_feed";
  using Reply = void;
  std::string account, table;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct GetFeed {
  static constexpr std::string_view kMethod = "table.feed";
  using Reply = FeedStatus;
  std::string account, table;
  std::vector<FeedPlace> places;
};

struct ReadChanges {
  static constexpr std::string_view kMethod = "table.changes";
  using Reply = FeedPage;
  std::string account, table;
  FeedRequest request;
};

struct MoveAll {
  static constexpr std::string_view kMethod = "table.move_all";
  using Reply = std::vector<Result<void>>;
  std::string account;
  std::vector<Move> moves;
};

/// Where the steps of a request are taken (StepsRequest::at).
struct StepsPlace {
  std::string_view account;
  const StepsRequest& request;
};

struct TakeSteps {
  static constexpr std::string_view kMethod = "table.take_steps";
  using Reply = std::variant<StepsTaken, StepFailure>;
  std::string account;
  StepsRequest request;
  [[nodiscard]] StepsPlace place() const { return {account, request}; }
};

struct OpenOperation {
  static constexpr std::string_view kMethod = "table.open";
  using Reply = OperationLedger;
  std::string account, operation_id;
  std::uint64_t epoch = 0, since = 0;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, operation_id}; }
};

struct CloseOperation {
  static constexpr std::string_view kMethod = "table.close";
  using Reply = OperationLedger;
  std::string account, operation_id;
  std::uint64_t epoch = 0, since = 0;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, operation_id}; }
};

struct ReadOperation {
  static constexpr std::string_view kMethod = "table.operation";
  using Reply = OperationLedger;
  std::string account, operation_id;
};

struct ForgetOperation {
  static constexpr std::string_view kMethod = "table.forget";
  using Reply = void;
  std::string account, operation_id;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, operation_id}; }
};

struct AgeNow {
  static constexpr std::string_view kMethod = "table.age_now";
  using Reply = Time;
  std::string account;
};

struct Count {
  static constexpr std::string_view kMethod = "table.count";
  using Reply = OperationLedger;
  std::string account;
  Fence fence;
  std::uint64_t amount = 0;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, fence.operation_id}; }
};

}  // namespace tidemark::table_store::calls
