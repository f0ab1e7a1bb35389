// Calls between the processes that share the shards of the queues (docs/scale.md, Owners).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue_service/model/message_requests.h"
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service::calls {

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
};

/// The outcome of a departed message: where it was put, or why it never can be.
struct Outcome {
  std::uint64_t number = 0;
  std::optional<ErrorCode> refused;
  Placed placed;
};

/// Sent by the process that serves one shard to that of another: messages that departed to queues there.
struct Arrive {
  static constexpr std::string_view kMethod = "queue.arrive";
  using Reply = std::vector<Outcome>;
  std::uint64_t to_shard = 0, from_shard = 0;
  std::vector<std::pair<std::uint64_t, std::string>> departed;  // numbers, and departures as they are stored
};

/// Sent likewise: removes a message from queues of a shard.
struct WithdrawThere {
  static constexpr std::string_view kMethod = "queue.withdraw_there";
  using Reply = bool;
  std::uint64_t shard = 0;
  std::string account;
  std::vector<std::string> queues;
  MessageName message;
};

// Calls for a part of a spread queue, sent by the process that serves the queue. client/queue_calls.h has the others.

struct MakePart {
  static constexpr std::string_view kMethod = "queue.make_part";
  using Reply = void;
  std::string account, part;
  std::uint64_t incarnation = 0;
  bool with_poison = false;
};

struct DropPart {
  static constexpr std::string_view kMethod = "queue.drop_part";
  using Reply = void;
  std::string account, part;
  std::uint64_t incarnation = 0;
};

struct Clear {
  static constexpr std::string_view kMethod = "queue.clear";
  using Reply = void;
  std::string account, part;
};

struct Take {
  static constexpr std::string_view kMethod = "queue.take";
  using Reply = std::vector<TakenMessage>;
  std::string account, part;
  TakeRequest request;
};

/// Puts a message whose part has been chosen.
struct PutIntoPart {
  static constexpr std::string_view kMethod = "queue.put_into_part";
  using Reply = Placed;
  std::string account, part;
  PutRequest message;
};

struct RemoveFromPart {
  static constexpr std::string_view kMethod = "queue.remove_from_part";
  using Reply = void;
  std::string account, part, message_id;
  std::optional<std::uint64_t> epoch;
};

struct RedriveFromPart {
  static constexpr std::string_view kMethod = "queue.redrive_from_part";
  using Reply = void;
  std::string account, part, message_id;
  MoveRequest move;
  std::optional<std::uint64_t> epoch;
};

struct Update {
  static constexpr std::string_view kMethod = "queue.update";
  using Reply = Placed;
  LeaseKey holder;
  Duration visibility{};
  std::optional<std::string> text;
};

}  // namespace tidemark::queue_service::calls
