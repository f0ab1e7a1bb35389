// The rules of the protocol for queues, metadata and messages: names, sizes and ranges. Pure. Errors are the ones that
// a client sees.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::queue_service {

inline constexpr std::size_t kMaxTextBytes = 65536;
inline constexpr std::size_t kMaxBodyBytes = 131584;
inline constexpr std::size_t kMaxFinishBodyBytes = 4UL << 20;
inline constexpr std::size_t kMaxAnnotationBytes = 256UL << 10;
inline constexpr std::size_t kMaxMetadataBytes = 8UL << 10;
inline constexpr std::uint32_t kMaxMessagesPerGet = 32;
/// For other processes of the stack.
inline constexpr std::uint32_t kMaxMessagesPerReceive = 100;
inline constexpr std::uint32_t kMaxQueuesPerPage = 5000;
inline constexpr std::uint32_t kMaxMessagesPerList = 1000;
inline constexpr Duration kMaxVisibility = std::chrono::seconds(604800);
inline constexpr std::size_t kMaxGroupBytes = 128;
inline constexpr std::size_t kMaxIdempotencyKeyBytes = 256;
inline constexpr std::uint32_t kMaxMaxDequeueCount = 10000;
inline constexpr std::size_t kMaxFollowUps = 32;
inline constexpr Duration kDefaultIdempotencyRetention = std::chrono::hours(24);
inline constexpr Duration kMaxIdempotencyRetention = std::chrono::hours(24 * 7);
inline constexpr Duration kMaxReceiveWait = std::chrono::seconds(30);

/// Names keep their case; sort_metadata sorts them.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// kOutOfRangeInput for the length, kInvalidResourceName for the characters.
Result<void> check_queue_name(std::string_view name);
/// Returns the metadata, sorted by name in any case. kEmptyMetadataKey, kInvalidMetadata, kMetadataTooLarge.
Result<Metadata> checked_metadata(Metadata metadata);
/// Returns the metadata with these entries set, whatever the case of their names; an empty value removes one.
Metadata patched(Metadata metadata, const Metadata& changes);
/// True if both have the same entries; names are compared in any case.
bool same_metadata(const Metadata& a, const Metadata& b);
/// The entries of a queue's metadata that the service itself uses.
struct QueueOptions {
  /// A message that was taken this often moves to the poison queue instead of being taken again. 0: never.
  std::uint32_t max_dequeue_count = 0;
  /// The queue gives out no messages; everything else works.
  bool paused = false;
  /// The number of shards over which it is spread.
  std::uint32_t parts = 1;
};
inline constexpr std::string_view kMaxDequeueCountName = "tidemark_max_dequeue_count";
inline constexpr std::string_view kPausedName = "tidemark_paused";
inline constexpr std::string_view kPartsName = "tidemark_parts";
inline constexpr std::string_view kPoisonSuffix = "-poison";
/// Returns the value of an entry, whatever the case of its name; null: there is none.
const std::string* entry_in(const Metadata& metadata, std::string_view name);
/// Returns the value of kPartsName, or 1.
std::uint32_t parts_in(const Metadata& metadata);
/// kInvalidMetadata if a value is malformed, or if the name of the poison queue would not be valid.
Result<QueueOptions> options_in(const Metadata& metadata, std::string_view queue);
/// A poison queue holds failed messages; it has no groups.
inline bool is_poison_queue(std::string_view queue) { return queue.ends_with(kPoisonSuffix); }
std::string poison_queue_of(std::string_view queue);
/// Returns the name that a queue and its poison queue share.
inline std::string_view without_poison_suffix(std::string_view queue) {
  if (is_poison_queue(queue)) queue.remove_suffix(kPoisonSuffix.size());
  return queue;
}

/// kInvalidInput unless the group key or idempotency key is text without control characters, of at most `limit` bytes.
Result<void> check_key(std::string_view what, std::string_view key, std::size_t limit);
struct Message;
/// Replaces the text of a message in this queue. In a poison queue, the first text is kept as its original.
void replace_text(Message& message, std::string text, std::string_view queue);

/// Returns the life of a message that was put for so many seconds: nothing for -1, which means for ever, and the
/// longest span that exists for larger values.
std::optional<Duration> life_of(std::int64_t seconds);
/// kRequestBodyTooLarge with the field MaxLimit; kInvalidInput for a text that XML cannot carry.
Result<void> check_text(std::string_view text);
/// kRequestBodyTooLarge.
Result<void> check_annotation(std::string_view annotation);

}  // namespace tidemark::queue_service
