// The rows of a queue that is spread, or is to be, in transactions of the queue's own shard. The parts are made first,
// under a note of them, and a queue that becomes spread takes the note away. One that is deleted leaves a note of what is to
// be dropped, so parts that belong to no queue are always noted. Its poison queue is spread with it, and stays so.
#pragma once
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {

/// Parts that were being made for this long are dropped: nobody makes them any more.
inline constexpr Duration kMakingPatience = std::chrono::minutes(10);

Result<std::optional<PartsNote>> read_parts_note(const kv::Reader& rows, std::string_view account,
                                                 std::string_view queue);
void put_parts_note(kv::Transaction& txn, std::string_view account, std::string_view queue, const PartsNote& note);

/// The queue has the parts that were made for it, from the commit on. kUnavailable if there are none: make_parts().
/// kInvalidMetadata if its poison queue has another number of them.
Result<void> adopt_parts(kv::Transaction& txn, std::string_view account, const std::string& queue, std::uint32_t parts,
                         Time now);
/// The queue is about to go, and its parts are to be dropped. kInvalidInput for the poison queue of a queue that is there.
Result<void> let_go_of_parts(kv::Transaction& txn, std::string_view account, const std::string& queue,
                             std::uint32_t parts, Time now);
/// Removes the queue's row; the messages are collected.
void drop_queue(kv::Transaction& txn, Effects& effects, const std::string& account, const std::string& queue,
                const QueueRecord& record);

/// A queue that is spread stays so, over as many parts: the metadata with their number. kInvalidMetadata for another one.
Result<Metadata> with_these_parts(Metadata metadata, std::uint32_t parts);
/// kInvalidMetadata if messages of groups or idempotency keys are in the queue, which would be looked for in its parts.
Result<void> check_can_be_spread(const kv::Reader& rows, std::uint64_t generation);

}  // namespace tidemark::queue_service
