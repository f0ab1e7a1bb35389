// The rows of a queue that is spread, or is to be, in transactions of the queue's own shard. The parts are made first,
// under a note beside the queue's row, which the transaction that spreads the queue takes away. Each making has a
// higher number, its incarnation, so late calls of an earlier one change nothing. A part is in use as long as the queue
// or a note has its incarnation; others are dropped. The poison queue is spread with its queue, and stays so.
#pragma once
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {

Result<std::optional<PartsNote>> read_parts_note(const kv::Reader& rows, std::string_view account,
                                                 std::string_view queue);
/// Notes that the parts are being made, in place of an earlier note; a call just after another one makes them under the
/// same note. Returns nothing if the queue has so many parts already.
Result<std::optional<PartsNote>> note_parts(kv::Transaction& txn, std::string_view account, const std::string& queue,
                                            std::uint32_t parts, Time now);
/// Gives the queue, whose row is about to be written, the parts that were made under this note, from the commit on.
/// kUnavailable if there is no note: they have to be made. kInvalidMetadata if its poison queue has another number of
/// them.
Result<void> adopt_parts(kv::Transaction& txn, std::string_view account, const std::string& queue, QueueRecord& record,
                         const std::optional<PartsNote>& made, Time now);
/// Tells whether the queue of this part, or a note, has its incarnation; `rows` are those of the queue's own shard.
Result<bool> is_in_use(const kv::Reader& rows, std::string_view account, const QueuePart& part,
                       std::uint64_t incarnation);

/// Makes the part, in a transaction of its own shard; makes it anew if it is from an earlier incarnation. kFenced if it
/// is from a later one.
Result<void> make_part_rows(kv::Transaction& txn, Effects& effects, const std::string& account, const std::string& part,
                            std::uint64_t incarnation, Time now);
/// Removes a queue's row; the messages are collected.
void drop_queue(kv::Transaction& txn, Effects& effects, const std::string& account, const std::string& queue,
                const QueueRecord& record);

/// kInvalidInput for the poison queue of a queue that exists and is spread.
Result<void> check_can_be_deleted(const kv::Reader& rows, std::string_view account, std::string_view queue);
/// Returns the metadata with the number of parts of a queue that is already spread, which cannot change.
/// kInvalidMetadata for another number.
Result<Metadata> with_these_parts(Metadata metadata, std::uint32_t parts);
/// kInvalidMetadata if messages of groups or idempotency keys are in the queue: they would be looked for in its parts.
Result<void> check_can_be_spread(const kv::Reader& rows, std::uint64_t generation);

}  // namespace tidemark::queue_service
