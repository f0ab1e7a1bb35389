// The parts of a spread queue (docs/queue-extensions.md). Each is a queue of its own on another shard, under a name
// that no client can give: JOBS#2.8, or JOBS#2.8-poison, is the third of eight. Receipts of messages in a part name it.
// No I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace tidemark::queue_service {

inline constexpr std::uint32_t kMaxParts = 64;

struct QueuePart {
  std::string queue;  // the spread queue
  std::uint32_t number = 0, parts = 0;
  bool operator==(const QueuePart&) const = default;
};

inline bool is_part(std::string_view name) { return name.find('#') != std::string_view::npos; }
/// Checks names that come from outside: only receipts, leases and the processes that share the shards name parts.
/// kInvalidResourceName.
Result<void> check_is_whole(std::string_view name);
std::string part_name(const QueuePart& part);
/// Returns the queue, and its parts if there is more than one.
std::vector<std::string> part_names(const std::string& queue, std::uint32_t parts);
/// Parses the name of a part; nothing for any other name.
std::optional<QueuePart> part_in(std::string_view name);
/// Returns the queue that the name is a part of; any other name unchanged.
std::string whole_queue(std::string_view name);

/// Returns the part in short, such as "2.8", where the queue is known.
std::string part_text(const QueuePart& part);
std::optional<QueuePart> part_from_text(std::string queue, std::string_view text);

/// Returns the receipt of a message in this part.
std::string with_part(std::string_view receipt, const QueuePart& part);
/// Returns nothing if the receipt names no part.
std::optional<QueuePart> part_of_receipt(std::string queue, std::string_view receipt);
/// Returns the part that the receipt of a message names; the queue itself if it names none.
std::string place_of_receipt(std::string queue, std::string_view receipt);

}  // namespace tidemark::queue_service
