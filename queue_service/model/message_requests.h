// Requests to put, move or change messages. Plain values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/operation_ledger.h"
#include "queue_service/model/message.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::queue_service {

/// The step of a transaction in which a message is put (docs/transactions.md): it is put once, and only under this
/// fence.
struct PutStep {
  Fence fence;
  std::uint32_t number = 0;  // from 1
};

struct PutRequest {
  std::string text;
  Duration delay{};
  std::optional<Duration> time_to_live = {};  // nothing if it never expires
  /// At most one message of a group is in flight, and they come in the order in which they were put. Empty: no group.
  std::string group = {};
  /// Putting the same key again within `retention` (at most 7 days) gives the same message; with another text,
  /// kIdempotencyKeyReused. Empty: no key.
  std::string idempotency_key = {};
  Duration retention = kDefaultIdempotencyRetention;
  std::optional<PutStep> step = {};  // a message of a step has no idempotency key
  /// The message takes turns: `group` is then not a group but the key by which it takes them (storage/queue_turns.cpp).
  bool turns = false;
};

/// Returns the tenant of a key by which messages take turns: the part before the first '/'.
inline std::string_view tenant_of(std::string_view key) { return key.substr(0, key.find('/')); }

/// Limits for the messages of each key that is not empty, where messages take turns; 0: no limit.
struct KeyLimits {
  std::uint32_t running = 0;     // in flight at once
  std::uint32_t per_second = 0;  // deliveries
};

/// Where a message was put, for the answers to put and update.
struct Placed {
  std::string id;
  std::string receipt;
  Time inserted, expires, next_visible;
};

/// Identifies the holder of a message: by the epoch of a delivery or, if that is 0, by a pop receipt.
struct LeaseKey {
  std::string account, queue, message_id;
  std::uint64_t epoch = 0;
  std::string receipt = {};
};

/// Names a message in any queue that it may be in. The receipt is that of its putting, which finds the message until it
/// is first delivered; from then on its id alone does.
struct MessageName {
  std::string id;
  std::string receipt = {};
};

struct FollowUp {
  std::string queue;  // must exist
  PutRequest message;
};

struct MoveRequest {
  std::string to_queue = {};    // created if necessary
  std::string annotation = {};  // replaces the present one
  /// Replaces the annotation by a note with this reason and the message's history.
  std::optional<std::string> reason = {};
  bool reset_dequeue_count = false;
  std::optional<std::string> text = {};
  bool count_attempt = true;  // false: the delivery that moves the message does not count as an attempt
  bool leaves_group = false;  // from now on, the message has no group
  /// For a redrive: the ETag that the message must still have (kConditionNotMet); empty for any.
  std::string seen = {};
};

/// Messages of a queue, visible or not.
struct MessagePage {
  std::vector<Message> messages;
  std::string continuation;  // empty at the end
};

}  // namespace tidemark::queue_service
