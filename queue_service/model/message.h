// Messages as the queue keeps them. No I/O.
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
  /// Kept beside the text and invisible to the public protocol: checkpoint, attempts, poison reason. The workers use
  /// JSON; to the queue it is bytes.
  std::string annotation;
  /// At most one message of a group is in flight, and they come in the order in which they were put. Empty for none.
  std::string group;
  Time inserted;
  Time expires;  // kNeverExpires if never
  Time next_visible;
  std::uint32_t dequeue_count = 0;  // attempts; raised by each receive, reset only by a redrive
  std::uint64_t epoch = 0;          // all deliveries; raised by each receive, never reset, kept by moves
  /// The name of the part of a spread queue that it was taken from, to be used with its lease; empty elsewhere.
  std::string part = {};
  /// What the text was in its poison queue, before somebody changed it there for the first time; nothing as long as
  /// that is what it is. Kept by moves. The public protocol does not show it.
  std::optional<std::string> original = {};
};

/// Of what somebody may edit where it lies: the text, and what is kept beside it. In quotes.
std::string etag_of(const Message& message);
/// kConditionNotMet unless that is what was seen. Empty: whatever it is.
Result<void> check_seen(const Message& message, std::string_view seen);

inline constexpr Time kNeverExpires = std::chrono::sys_days{std::chrono::year{9999} / 12 / 31} +
                                      std::chrono::hours(23) + std::chrono::minutes(59) + std::chrono::seconds(59);

}  // namespace tidemark::queue_service
