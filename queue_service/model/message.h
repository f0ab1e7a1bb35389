// Messages as the queue stores them. No I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::queue_service {

struct Message {
  std::string id;  // GUID, lower case
  std::string text;
  /// Stored beside the text and invisible to the public protocol: checkpoint, attempts, poison reason. The workers use
  /// JSON; to the queue it is bytes.
  std::string annotation;
  /// At most one message of a group is in flight, and they come in the order in which they were put. Empty: no group.
  std::string group;
  Time inserted;
  Time expires;  // kNeverExpires if it never does
  Time next_visible;
  std::uint32_t dequeue_count = 0;  // attempts; raised by each receive, reset only by a redrive
  std::uint64_t epoch = 0;          // all deliveries; raised by each receive, never reset, kept by moves
  /// The part of a spread queue that the message was taken from, to be used with its lease; empty for other queues.
  std::string part = {};
  /// The text before it was first changed in its poison queue; nothing as long as it is unchanged. Kept by moves. The
  /// public protocol does not show it.
  std::optional<std::string> original = {};
};

/// Returns the ETag, in quotes, of the parts of a stored message that somebody may edit: the text and the annotation.
std::string etag_of(const Message& message);
/// kConditionNotMet unless `seen` is the message's ETag. An empty `seen` matches any.
Result<void> check_seen(const Message& message, std::string_view seen);

inline constexpr Time kNeverExpires = std::chrono::sys_days{std::chrono::year{9999} / 12 / 31} +
                                      std::chrono::hours(23) + std::chrono::minutes(59) + std::chrono::seconds(59);

}  // namespace tidemark::queue_service
