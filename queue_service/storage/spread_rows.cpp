#include "queue_service/storage/spread_rows.h"

#include "common/kv/generations.h"

namespace tidemark::queue_service {
namespace {

/// So long a note is shared by all calls that want the same parts.
constexpr Duration kSharedFor = std::chrono::seconds(10);

std::unexpected<Error> refused(std::string message) { return fail(ErrorCode::kInvalidMetadata, std::move(message)); }

Result<Metadata> with_parts_entry(const Metadata& metadata, std::uint32_t parts) {
  return checked_metadata(patched(metadata, {{std::string(kPartsName), std::to_string(parts)}}));
}

Result<bool> has_parts(const kv::Reader& rows, std::string_view account, std::string_view queue, std::uint32_t parts) {
  const auto record = TRY(read_queue(rows, account, queue));
  return record && record->options.parts == parts;
}

/// Spreads the poison queue as its queue is spread.
Result<void> spread_poison(kv::Transaction& txn, std::string_view account, const std::string& queue,
                           const PartsNote& made, Time now) {
  const auto poison = poison_queue_of(queue);
  auto record = TRY(read_queue(txn, account, poison));
  if (record && record->options.parts == made.parts) return {};
  if (record && record->options.parts > 1) {
    return refused("The poison queue " + poison + " is left from a queue with " +
                   std::to_string(record->options.parts) + " parts. Delete it first, or use the same number of parts.");
  }
  if (!made.with_poison) return fail(ErrorCode::kUnavailable);  // the poison queue had parts when the note was made
  const bool is_new = !record;
  if (is_new) record.emplace().created = now;
  record->metadata = TRY(with_parts_entry(record->metadata, made.parts));
  record->incarnation = made.incarnation;
  if (is_new) {
    TRY(start_generation(txn, account, poison, std::move(*record), Time{}));
  } else {
    txn.put(queue_keys::queue(account, poison), kQueueRecord.encode(*record));
  }
  return {};
}

}  // namespace

Result<std::optional<PartsNote>> read_parts_note(const kv::Reader& rows, std::string_view account,
                                                 std::string_view queue) {
  const auto row = TRY(rows.get(queue_keys::parts_note(account, queue)));
  if (!row) return std::optional<PartsNote>();
  return std::optional(TRY(kPartsNote.decode(*row)));
}

Result<std::optional<PartsNote>> note_parts(kv::Transaction& txn, std::string_view account, const std::string& queue,
                                            std::uint32_t parts, Time now) {
  if (TRY(has_parts(txn, account, queue, parts))) return std::optional<PartsNote>();
  const bool with_poison = !TRY(has_parts(txn, account, poison_queue_of(queue), parts));
  const auto before = TRY(read_parts_note(txn, account, queue));
  const bool is_shared =
      before && before->parts == parts && before->with_poison == with_poison && before->since + kSharedFor > now;
  if (is_shared) return before;
  const PartsNote note{parts, TRY(next_generation(txn)), with_poison, now};
  txn.put(queue_keys::parts_note(account, queue), kPartsNote.encode(note));
  return std::optional(note);
}

Result<void> adopt_parts(kv::Transaction& txn, std::string_view account, const std::string& queue, QueueRecord& record,
                         const std::optional<PartsNote>& made, Time now) {
  const auto note = made ? TRY(read_parts_note(txn, account, queue)) : std::nullopt;
  if (!note || note->incarnation != made->incarnation || note->parts != record.options.parts) {
    return fail(ErrorCode::kUnavailable);
  }
  TRY(spread_poison(txn, account, queue, *note, now));
  record.incarnation = note->incarnation;
  txn.erase(queue_keys::parts_note(account, queue));
  return {};
}

Result<bool> is_in_use(const kv::Reader& rows, std::string_view account, const QueuePart& part,
                       std::uint64_t incarnation) {
  const auto record = TRY(read_queue(rows, account, part.queue));
  if (record && record->options.parts == part.parts && record->incarnation == incarnation) return true;
  const auto note = TRY(read_parts_note(rows, account, without_poison_suffix(part.queue)));
  return note && note->incarnation == incarnation;
}

Result<void> make_part_rows(kv::Transaction& txn, Effects& effects, const std::string& account, const std::string& part,
                            std::uint64_t incarnation, Time now) {
  const auto before = TRY(read_queue(txn, account, part));
  if (before && before->incarnation == incarnation) return {};
  if (before && before->incarnation > incarnation) return fail(ErrorCode::kFenced);
  if (before) drop_queue(txn, effects, account, part, *before);
  QueueRecord record;
  record.created = now;
  record.incarnation = incarnation;
  TRY(start_generation(txn, account, part, std::move(record), Time{}));
  return {};
}

void drop_queue(kv::Transaction& txn, Effects& effects, const std::string& account, const std::string& queue,
                const QueueRecord& record) {
  txn.erase(queue_keys::queue(account, queue));
  kv::drop_generation(txn, queue_keys::kDroppedGeneration, record.generation);
  effects.dropped = true;
  effects.changed.emplace_back(account, queue);
}

Result<void> check_can_be_deleted(const kv::Reader& rows, std::string_view account, std::string_view queue) {
  if (!is_poison_queue(queue)) return {};
  const auto its_queue = TRY(read_queue(rows, account, without_poison_suffix(queue)));
  if (!its_queue || its_queue->options.parts == 1) return {};
  return fail(ErrorCode::kInvalidInput,
              "The poison queue of a spread queue cannot be deleted before the queue is. Clear it instead.");
}

Result<Metadata> with_these_parts(Metadata metadata, std::uint32_t parts) {
  const auto wanted = std::to_string(parts);
  const auto* const said = entry_in(metadata, kPartsName);
  if (said == nullptr) return with_parts_entry(metadata, parts);
  if (*said != wanted) {
    return refused("The queue is spread over " + wanted +
                   " parts, and their number cannot be changed. Make another queue, and put new messages there.");
  }
  return metadata;
}

Result<void> check_can_be_spread(const kv::Reader& rows, std::uint64_t generation) {
  for (const auto kind : {'g', 'k'}) {
    const auto found = rows.scan(kv::under(kv::key('m', generation, kind)));
    TRY(found->status());
    if (!found->valid()) continue;
    return refused(
        "A queue can be spread as long as no message in it has a group and no idempotency key is remembered. "
        "Clear it first, or make a new queue.");
  }
  return {};
}

}  // namespace tidemark::queue_service
