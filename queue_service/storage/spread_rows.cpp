#include "queue_service/storage/spread_rows.h"

#include "common/kv/generations.h"

namespace tidemark::queue_service {
namespace {

std::unexpected<Error> refused(std::string message) { return fail(ErrorCode::kInvalidMetadata, std::move(message)); }

/// The poison queue is spread as its queue is.
Result<void> spread_poison(kv::Transaction& txn, std::string_view account, const std::string& queue,
                           std::uint32_t parts, Time now) {
  const auto poison = poison_queue_of(queue);
  auto record = TRY(read_queue(txn, account, poison));
  if (record && record->options.parts == parts) return {};
  if (record && record->options.parts > 1) {
    return refused("The poison queue " + poison + " is left from a queue with " + std::to_string(record->options.parts) +
                   " parts. Delete it first, or use the same number of parts.");
  }
  const bool is_new = !record;
  if (is_new) record = QueueRecord{0, now, {}, {}, {}};
  record->metadata = TRY(checked_metadata(patched(record->metadata, {{std::string(kPartsName), std::to_string(parts)}})));
  record->options.parts = parts;
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

void put_parts_note(kv::Transaction& txn, std::string_view account, std::string_view queue, const PartsNote& note) {
  txn.put(queue_keys::parts_note(account, queue), kPartsNote.encode(note));
}

Result<void> adopt_parts(kv::Transaction& txn, std::string_view account, const std::string& queue, std::uint32_t parts,
                         Time now) {
  const auto note = TRY(read_parts_note(txn, account, queue));
  if (!note || note->dropping || note->parts != parts) return fail(ErrorCode::kUnavailable);
  TRY(spread_poison(txn, account, queue, parts, now));
  txn.erase(queue_keys::parts_note(account, queue));
  return {};
}

Result<void> let_go_of_parts(kv::Transaction& txn, std::string_view account, const std::string& queue,
                             std::uint32_t parts, Time now) {
  if (is_poison_queue(queue) && TRY(read_queue(txn, account, without_poison_suffix(queue)))) {
    return fail(ErrorCode::kInvalidInput,
                "The poison queue of a spread queue cannot be deleted before the queue is. Clear it instead.");
  }
  put_parts_note(txn, account, queue, {parts, true, now});
  return {};
}

void drop_queue(kv::Transaction& txn, Effects& effects, const std::string& account, const std::string& queue,
                const QueueRecord& record) {
  txn.erase(queue_keys::queue(account, queue));
  kv::drop_generation(txn, queue_keys::kDroppedGeneration, record.generation);
  effects.dropped = true;
  effects.changed.emplace_back(account, queue);
}

Result<Metadata> with_these_parts(Metadata metadata, std::uint32_t parts) {
  const auto said = parts_in(metadata);
  if (said == parts) return metadata;
  if (said > 1) {
    return refused("The queue is spread over " + std::to_string(parts) +
                   " parts, and their number cannot be changed. Make another queue, and put new messages there.");
  }
  return checked_metadata(patched(std::move(metadata), {{std::string(kPartsName), std::to_string(parts)}}));
}

Result<void> check_can_be_spread(const kv::Reader& rows, std::uint64_t generation) {
  for (const auto kind : {'g', 'k'}) {
    const auto found = rows.scan(kv::under(kv::key('m', generation, kind)));
    TRY(found->status());
    if (!found->valid()) continue;
    return refused(
        "A queue can be spread as long as no message in it has a group or an idempotency key that is remembered. "
        "Clear it first, or make a new queue.");
  }
  return {};
}

}  // namespace tidemark::queue_service
