// Queues that are spread over several shards: the choice of a message's part, and operations on all parts.
#include "common/base/numbers.h"
#include "queue_service/storage/queue_core.h"
#include "queue_service/storage/served_calls.h"
#include "queue_service/storage/spread_rows.h"

namespace tidemark::queue_service {
namespace {

const FailStep kNotePartsStep("queue.note_parts");
const FailStep kMakePartStep("queue.make_part");
const FailStep kDropPartStep("queue.drop_part");
const FailStep kForgetPartsStep("queue.forget_parts");

/// A making of parts that has taken so long has been given up.
constexpr Duration kMakingPatience = std::chrono::minutes(10);
constexpr std::size_t kNotesTogether = 256;

}  // namespace

Result<std::uint32_t> QueueService::Core::parts_of(std::string_view account, std::string_view queue) const {
  if (!may_be_spread(queue)) return 1U;
  const auto record = TRY(read_queue(*of(account, queue).engine.snapshot(), account, queue));
  return record ? record->options.parts : 1U;
}

Result<std::vector<std::string>> QueueService::Core::with_parts(std::string_view account, std::string queue) const {
  const auto parts = TRY(parts_of(account, queue));
  return part_names(queue, parts);
}

Result<std::vector<std::string>> QueueService::Core::with_parts(std::string_view account,
                                                                const std::vector<std::string>& queues) const {
  std::vector<std::string> all;
  for (const auto& queue : queues) std::ranges::move(TRY(with_parts(account, queue)), std::back_inserter(all));
  return all;
}

Result<void> QueueService::Core::check_parts(std::string_view queue, std::uint32_t parts) const {
  if (parts == 1) return {};
  if (is_poison_queue(queue)) {
    return fail(ErrorCode::kInvalidMetadata,
                "A poison queue has as many parts as its queue: set tidemark_parts there.");
  }
  if (parts <= shards.size()) return {};
  if (shards.size() == 1) {
    return fail(ErrorCode::kInvalidMetadata,
                "This store has one shard, so no queue can be spread (the setting shards is chosen when the store is "
                "made).");
  }
  return fail(ErrorCode::kInvalidMetadata,
              "tidemark_parts must be a number from 1 to " + std::to_string(shards.size()) +
                  ", the number of this store's shards (the setting shards, chosen when the store is made).");
}

std::string QueueService::Core::part_for(std::string_view account, std::string queue, std::uint32_t parts,
                                         const Sorting& by) const {
  if (parts <= 1) return queue;
  const auto hashed = [&](std::string_view kind, std::string_view name) {
    return static_cast<std::uint32_t>(stored.placement.among(parts, {account, queue, kind, name}));
  };
  const auto number = !by.group.empty()             ? hashed("group", by.group)
                      : !by.idempotency_key.empty() ? hashed("key", by.idempotency_key)
                                                    : by.turn % parts;
  return part_name({std::move(queue), number, parts});
}

Result<std::string> QueueService::Core::part_to_put(std::string_view account, std::string queue,
                                                    const PutRequest& request) {
  const auto parts = TRY(parts_of(account, queue));
  if (parts == 1) return queue;
  return part_for(account, std::move(queue), parts, {request.group, request.idempotency_key, next_turn()});
}

std::string QueueService::Core::part_to_move(std::string_view account, std::string_view from, std::string queue,
                                             std::uint32_t parts, const Sorting& by) const {
  const auto source = part_in(from);
  const bool is_beside =
      source && source->parts == parts && without_poison_suffix(source->queue) == without_poison_suffix(queue);
  if (is_beside && (by.group.empty() || is_poison_queue(queue))) {
    return part_name({std::move(queue), source->number, parts});
  }
  return part_for(account, std::move(queue), parts, by);
}

Result<std::string> QueueService::Core::part_by_now(const kv::Reader& rows, const Shard& here, std::string_view account,
                                                    std::string queue, const Sorting& by) const {
  const auto is_here = [&] { return &of(account, queue) == &here; };
  if (is_part(queue) && is_here() && !TRY(read_queue(rows, account, queue))) queue = whole_queue(queue);
  const bool has_its_part = !by.group.empty() || !by.idempotency_key.empty();
  if (!has_its_part || is_part(queue) || !is_here()) return queue;
  const auto record = TRY(read_queue(rows, account, queue));
  return record ? part_for(account, std::move(queue), record->options.parts, by) : queue;
}

Task<Result<std::vector<TakenMessage>>> QueueService::take_from_parts(const std::string& account,
                                                                      const std::string& queue,
                                                                      const QueueOptions& options,
                                                                      TakeRequest request) {
  request.max_dequeue_count = options.max_dequeue_count;
  std::vector<TakenMessage> all;
  std::optional<Error> failed;
  std::uint32_t failures = 0;
  const auto wanted = request.count;
  const auto first = core_->next_turn();
  for (std::uint32_t i = 0; i < options.parts && all.size() < wanted; ++i) {
    request.count = wanted - static_cast<std::uint32_t>(all.size());
    auto part = part_name({queue, (first + i) % options.parts, options.parts});
    auto taken = co_await call(calls::Take{account, std::move(part), request});
    if (taken) {
      std::ranges::move(*taken, std::back_inserter(all));
    } else if (taken.error().code != ErrorCode::kQueueNotFound) {
      failed = std::move(taken.error());
      ++failures;
    }
  }
  // A repeated call finds the messages of a part that cannot be reached now.
  if (failed && failures == options.parts) co_return fail(std::move(*failed));
  std::ranges::stable_sort(all, {}, [](const TakenMessage& taken) { return taken.message.inserted; });
  co_return all;
}

Task<Result<std::vector<std::string>>> QueueService::tidied(const std::string& account, const std::string& queue) {
  std::vector<std::string> there;
  for (auto& part : CO_TRY(core_->with_parts(account, queue))) {
    auto& shard = core_->of(account, part);
    auto look = shard.look(account, part);
    if (part != queue && look.failed_with(ErrorCode::kQueueNotFound)) continue;
    const bool may_have_expired = CO_TRY(std::move(look)).may_have_expired;
    if (may_have_expired && core_->here(shard)) CO_TRY(co_await tidy(account, part));
    there.push_back(std::move(part));
  }
  co_return there;
}

Result<std::optional<QueueService::InPart>> QueueService::find_in_parts(std::string_view account,
                                                                        std::string_view queue, std::string_view id) {
  for (auto& part : TRY(core_->with_parts(account, std::string(queue)))) {
    auto& shard = core_->of(account, part);
    const auto snapshot = shard.engine.snapshot();
    auto record = require_queue(*snapshot, account, part);
    if (part != queue && record.failed_with(ErrorCode::kQueueNotFound)) continue;
    auto found = TRY(read_message(*snapshot, TRY(std::move(record)).generation, id));
    if (!found || found->record.message.expires <= shard.ages.now()) continue;
    return std::optional(InPart{std::move(part), std::move(found->record.message)});
  }
  return std::optional<InPart>();
}

Result<std::string> QueueService::part_with(std::string_view account, std::string_view queue, std::string_view id) {
  auto found = TRY(find_in_parts(account, queue, id));
  if (!found) return fail(ErrorCode::kMessageNotFound);
  return std::move(found->part);
}

Result<MessagePage> QueueService::list(std::string_view account, std::string_view queue, std::uint32_t limit,
                                       std::string_view continuation) {
  const auto parts = TRY(core_->parts_of(account, queue));
  if (parts == 1) return list_part(account, queue, limit, continuation);
  // One part after another: the number of the part, and where its listing goes on.
  const auto names = part_names(std::string(queue), parts);
  const auto colon = continuation.find(':');
  const auto first = continuation.empty() ? std::optional<std::uint32_t>(0)
                                          : parse_number<std::uint32_t>(continuation.substr(0, colon), 0, parts);
  if (!first || (!continuation.empty() && colon == std::string_view::npos)) return fail(ErrorCode::kInvalidMarker);
  auto inner = continuation.empty() ? std::string_view() : continuation.substr(colon + 1);
  MessagePage page;
  limit = std::clamp<std::uint32_t>(limit, 1, kMaxMessagesPerList);
  for (auto at = *first; at < names.size(); ++at, inner = {}) {
    if (page.messages.size() == limit) {
      page.continuation = std::to_string(at) + ":";
      break;
    }
    const auto left = limit - static_cast<std::uint32_t>(page.messages.size());
    auto more = list_part(account, names[at], left, inner);
    if (at > 0 && more.failed_with(ErrorCode::kQueueNotFound)) continue;
    auto of_part = TRY(std::move(more));
    std::ranges::move(of_part.messages, std::back_inserter(page.messages));
    if (of_part.continuation.empty()) continue;
    page.continuation = std::to_string(at) + ":" + of_part.continuation;
    break;
  }
  return page;
}

Task<Result<void>> QueueService::make_part(std::string account, std::string part, std::uint64_t incarnation,
                                           bool with_poison) {
  const auto now = core_->clock.now();
  auto& shard = core_->to_write(account, part);
  co_return co_await shard.transact(kMakePartStep, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    TRY(make_part_rows(txn, effects, account, part, incarnation, now));
    if (with_poison) TRY(make_part_rows(txn, effects, account, poison_queue_of(part), incarnation, now));
    return {};
  });
}

Task<Result<void>> QueueService::drop_part(std::string account, std::string part, std::uint64_t incarnation) {
  auto& shard = core_->to_write(account, part);
  co_return co_await shard.transact(kDropPartStep, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    const auto record = TRY(read_queue(txn, account, part));
    if (record && record->incarnation <= incarnation) drop_queue(txn, effects, account, part, *record);
    return {};
  });
}

Task<Result<std::optional<PartsNote>>> QueueService::make_parts(std::string account, std::string queue,
                                                                std::uint32_t parts) {
  const auto now = core_->clock.now();
  std::optional<PartsNote> note;
  CO_TRY(co_await core_->to_write(account, queue)
             .transact(kNotePartsStep, [&](kv::Transaction& txn, Effects&) -> Result<void> {
               note = TRY(note_parts(txn, account, queue, parts, now));
               return {};
             }));
  for (std::uint32_t number = 0; note && number < parts; ++number) {
    auto part = part_name({queue, number, parts});
    CO_TRY(co_await call(calls::MakePart{account, std::move(part), note->incarnation, note->with_poison}));
  }
  co_return note;
}

Task<Result<void>> QueueService::with_parts_made(
    const std::string& account, const std::string& queue, const std::uint32_t& parts,
    std::function<Task<Result<void>>(const std::optional<PartsNote>& made)> run) {
  std::optional<PartsNote> made;
  auto done = co_await run(made);
  if (!done.failed_with(ErrorCode::kUnavailable) || parts == 1) co_return done;
  // kFenced: another call has made them meanwhile, under a later note.
  auto making = co_await make_parts(account, queue, parts);
  if (!making && !making.failed_with(ErrorCode::kFenced)) co_return fail(std::move(making.error()));
  if (making) made = *making;
  done = co_await run(made);
  // Another call makes them at the same time.
  if (done.failed_with(ErrorCode::kUnavailable)) co_return fail(ErrorCode::kServerBusy);
  co_return done;
}

Task<Result<void>> QueueService::drop_parts(std::string account, std::string queue, std::uint32_t parts,
                                            std::uint64_t incarnation) {
  std::optional<Error> failed;  // of one part; the others do not wait for it
  for (std::uint32_t number = 0; number < parts; ++number) {
    auto dropped = co_await call(calls::DropPart{account, part_name({queue, number, parts}), incarnation});
    if (!dropped) failed = std::move(dropped.error());
  }
  if (failed) co_return fail(std::move(*failed));
  co_return Result<void>{};
}

Task<Result<void>> QueueService::forget_old_notes(Shard& shard) {
  const auto until = core_->clock.now() - kMakingPatience;
  std::vector<std::string> old;
  const auto find = [&](const kv::Reader& rows) -> Result<void> {
    old.clear();
    const auto notes = rows.scan(queue_keys::all_parts_notes());
    for (; notes->valid() && old.size() < kNotesTogether; notes->next()) {
      if (TRY(kPartsNote.decode(notes->value())).since <= until) old.emplace_back(notes->key());
    }
    return notes->status();
  };
  CO_TRY(find(*shard.engine.snapshot()));
  if (old.empty()) co_return Result<void>{};
  co_return co_await shard.transact(kForgetPartsStep, [&](kv::Transaction& txn, Effects&) -> Result<void> {
    TRY(find(txn));
    for (const auto& note : old) txn.erase(note);
    return {};
  });
}

Result<bool> QueueService::is_left_over(std::string_view account, std::string_view name,
                                        const QueueRecord& record) const {
  const auto part = part_in(name);
  // A younger part may belong to a making that a reader does not see yet, if the database has just changed its leader.
  if (!part || record.created > core_->clock.now() - kMakingPatience) return false;
  return !TRY(is_in_use(*core_->of(account, part->queue).engine.snapshot(), account, *part, record.incarnation));
}

}  // namespace tidemark::queue_service
