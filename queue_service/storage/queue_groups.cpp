// Message groups. The first message of a group is ready or timed like any other; those behind it wait in a list of
// their own, which no walk visits, until it is gone.
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {
Result<std::optional<GroupRecord>> QueueRows::read_group(const std::string& group) const {
  auto bytes = TRY(txn_->get(queue_keys::group(generation_, group)));
  if (!bytes) return std::optional<GroupRecord>();
  auto record = TRY(kGroupRecord.decode(*bytes));
  return std::optional(record);
}

void QueueRows::save_group(const std::string& group, const GroupRecord& record) {
  txn_->put(queue_keys::group(generation_, group), kGroupRecord.encode(record));
}

Result<Place> QueueRows::join_group(MessageRecord record, std::optional<Time> visible_at) {
  const auto& group = record.message.group;
  auto state = TRY(read_group(group));
  if (!state) {
    save_group(group, {});
    return write(record, visible_at);
  }
  const bool immediate = !visible_at || *visible_at <= now_;
  const auto place = next_place(immediate ? std::nullopt : visible_at);
  if (state->waiting++ == 0) state->front = place.sequence;
  save_group(group, *state);
  record.receipt = place;
  record.listed = true;  // the receipt does not name the message's group
  write_at(record, Set::kWaiting, place);
  return place;
}

Result<void> QueueRows::leave_group(const FoundMessage& found) {
  const auto& group = found.record.message.group;
  auto state = TRY(read_group(group));
  if (!state) return fail(ErrorCode::kCorruption, "A message's group is not there.");
  if (found.set == Set::kWaiting) {
    --state->waiting;
    save_group(group, *state);
    return {};
  }
  for (std::size_t passed = 0; state->waiting > 0; ++passed) {
    FoundMessage next{Set::kWaiting, {}, false, {}};
    {
      const auto cursor = txn_->scan(queue_keys::waiting_from(generation_, group, state->front));
      TRY(cursor->status());
      if (!cursor->valid()) return fail(ErrorCode::kCorruption, "A group's next message is not there.");
      auto record = TRY(decode_message(cursor->value()));
      auto rest = cursor->key().substr(cursor->key().size() - 8);
      next.place.sequence = kv::take_u64(rest).value_or(0);
      next.record = std::move(record);
    }
    erase_row(next);
    --state->waiting;
    state->front = next.place.sequence + 1;
    if (has_expired(next.record.message.expires) && passed < kMaxExpiredPassed) {
      txn_->erase(queue_keys::by_id(generation_, next.record.message.id));
      ++figures_.expired;
      continue;
    }
    save_group(group, *state);
    const auto wanted = next.record.receipt ? next.record.receipt->visible_at : Time{};
    write(next.record, wanted);
    return {};
  }
  txn_->erase(queue_keys::group(generation_, group));
  return {};
}

}  // namespace tidemark::queue_service
