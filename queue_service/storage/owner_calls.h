// The calls of requests over HTTP, and those between the processes that share the shards of the queues (docs/scale.md,
// Owners). client/queue_calls.h has the calls of workers and the api. A name is that of a queue or of a part.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue_service/client/queue_calls.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::calls {

struct GetProperties {
  static constexpr std::string_view kMethod = "queue.get_properties";
  using Reply = QueueProperties;
  std::string account, name;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

struct SetMetadata {
  static constexpr std::string_view kMethod = "queue.set_metadata";
  using Reply = void;
  std::string account, name;
  Metadata metadata;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

struct PatchMetadata {
  static constexpr std::string_view kMethod = "queue.patch_metadata";
  using Reply = void;
  std::string account, name;
  Metadata changes;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

/// Merges the document of a client into the service properties of the account.
struct SetServiceProperties {
  static constexpr std::string_view kMethod = "queue.set_service_properties";
  using Reply = void;
  std::string account, document;
  [[nodiscard]] rpc::ShardNumber place() const { return {}; }
};

struct Take {
  static constexpr std::string_view kMethod = "queue.take";
  using Reply = std::vector<TakenMessage>;
  std::string account, name;
  TakeRequest request;
  Duration wait{};
  std::string token = {};  // for CancelWaitHere; empty: the wait cannot be cancelled
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

/// Cancels a wait in the called process. The wait may belong to another process instead.
struct CancelWaitHere {
  static constexpr std::string_view kMethod = "queue.cancel_wait_here";
  using Reply = void;
  std::string token;
};

/// Undoes a delivery that could not be handed over: it does not count as an attempt.
struct GiveBack {
  static constexpr std::string_view kMethod = "queue.give_back";
  using Reply = void;
  LeaseKey lease;
  [[nodiscard]] QueueOrPart place() const { return {lease.account, lease.queue}; }
};

struct Peek {
  static constexpr std::string_view kMethod = "queue.peek";
  using Reply = std::vector<Message>;
  std::string account, name;
  std::uint32_t count = 1;
  [[nodiscard]] QueueOrPart place() const { return {account, name}; }
};

/// The outcome of a departed message: where it was put, or why it never can be.
struct Outcome {
  std::uint64_t number = 0;
  std::optional<ErrorCode> refused;
  Placed placed;
};

/// Messages that departed from one shard to queues of another.
struct Arrive {
  static constexpr std::string_view kMethod = "queue.arrive";
  using Reply = std::vector<Outcome>;
  std::uint64_t to_shard = 0, from_shard = 0;
  std::vector<std::pair<std::uint64_t, std::string>> departed;  // numbers, and departures as they are stored
  [[nodiscard]] rpc::ShardNumber place() const { return {to_shard}; }
};

/// Removes a message from queues of one shard.
struct WithdrawHere {
  static constexpr std::string_view kMethod = "queue.withdraw_here";
  using Reply = bool;
  std::uint64_t shard = 0;
  std::string account;
  std::vector<std::string> names;
  MessageName message;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

// Calls for a part of a spread queue, made by the process that serves the queue.

struct MakePart {
  static constexpr std::string_view kMethod = "queue.make_part";
  using Reply = void;
  std::string account, part;
  std::uint64_t incarnation = 0;
  bool with_poison = false;
  [[nodiscard]] QueueOrPart place() const { return {account, part}; }
};

struct DropPart {
  static constexpr std::string_view kMethod = "queue.drop_part";
  using Reply = void;
  std::string account, part;
  std::uint64_t incarnation = 0;
  [[nodiscard]] QueueOrPart place() const { return {account, part}; }
};

/// Puts a message whose part has been chosen.
struct PutIntoPart {
  static constexpr std::string_view kMethod = "queue.put_into_part";
  using Reply = Placed;
  std::string account, part;
  PutRequest message;
  [[nodiscard]] QueueOrPart place() const { return {account, part}; }
};

struct RemoveFromPart {
  static constexpr std::string_view kMethod = "queue.remove_from_part";
  using Reply = void;
  std::string account, part, message_id;
  std::optional<std::uint64_t> epoch;
  [[nodiscard]] QueueOrPart place() const { return {account, part}; }
};

struct RedriveFromPart {
  static constexpr std::string_view kMethod = "queue.redrive_from_part";
  using Reply = void;
  std::string account, part, message_id;
  MoveRequest move;
  std::optional<std::uint64_t> epoch;
  [[nodiscard]] QueueOrPart place() const { return {account, part}; }
};

}  // namespace tidemark::queue_service::calls
