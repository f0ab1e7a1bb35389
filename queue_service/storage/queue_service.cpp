#include "queue_service/storage/queue_service.h"

#include "common/base/encoding.h"
#include "common/kv/generations.h"
#include "common/process/failures.h"
#include "queue_service/storage/queue_core.h"
#include "queue_service/storage/served_calls.h"
#include "queue_service/storage/spread_rows.h"

namespace tidemark::queue_service {
namespace {

const FailStep kCreateQueueStep("queue.create_queue");
const FailStep kDeleteQueueStep("queue.delete_queue");
const FailStep kClearStep("queue.clear");
const FailStep kSetMetadataStep("queue.set_metadata");
const FailStep kSetAclStep("queue.set_acl");
const FailStep kSetServicePropertiesStep("queue.set_service_properties");
const FailStep kTidyStep("queue.tidy");
const FailStep kLedgerStep("queue.ledger");

/// The turns of one request; each removes up to 256 messages that expired. Upkeep removes the rest.
constexpr int kMaxTidyTurns = 16;

}  // namespace

QueueService::QueueService(const shards::Shards& shards, Clock& clock, Random& random, ServiceLimits limits)
    : OperationLedgers(shards, &queue_keys::ledger, &kLedgerStep),
      AccountProperties(shards.catalogue().engine, queue_keys::kServiceProperties, kSetServicePropertiesStep),
      core_(std::make_shared<Core>(shards, clock, random, limits)) {}
QueueService::QueueService(kv::Engine& engine, Clock& clock, Random& random, ServiceLimits limits, const Clock* ages)
    : QueueService({{{engine, ages == nullptr ? clock : *ages}}, {}}, clock, random, limits) {}
QueueService::~QueueService() = default;

shards::Peers* QueueService::peers() const { return core_->stored.peers; }

std::size_t QueueService::shards() const { return core_->shards.size(); }

Clock& QueueService::clock() const { return core_->clock; }

std::size_t QueueService::shard_of(std::string_view account, std::string_view queue) const {
  return core_->of(account, queue).number;
}

Task<Result<void>> QueueService::gained(std::size_t shard) {
  const auto core = core_;
  const auto from = core->shards[shard];
  CO_TRY(co_await Shard::collect(from));
  co_return co_await core->carry_from(*from);
}

void QueueService::lost(std::size_t shard) { core_->shards[shard]->arrivals.changed_everywhere(); }

Task<Result<Arrived>> QueueService::arrive(std::size_t to_shard, std::size_t from_shard,
                                           std::vector<Departed> departed) {
  auto& to = *core_->shards[to_shard];
  auto arrived = CO_TRY(co_await core_->arrive(to, from_shard, std::move(departed)));
  // Messages that depart again are followed from here: the process that carries them may not serve this shard.
  for (auto& [number, arrival] : arrived) {
    if (!arrival) continue;
    auto placed = co_await core_->follow(to, std::move(*arrival));
    arrival = placed ? Result<Arrival>(std::move(*placed)) : fail(std::move(placed.error()));
  }
  co_return arrived;
}

void QueueService::begin_shutdown() {
  core_->stopping.store(true);
  for (const auto& shard : core_->shards) shard->arrivals.changed_everywhere();
  core_->shutdown.notify_all();
}

std::size_t QueueService::waiters() const { return core_->waits.count(); }

Task<Result<void>> QueueService::collect_garbage() {
  for (const auto& shard : core_->shards) {
    if (core_->here(*shard)) CO_TRY(co_await Shard::collect(shard));
  }
  co_return Result<void>{};
}

Task<Result<void>> QueueService::carry_on() {
  core_->stuck.store(false);
  std::optional<Error> failed;  // of one shard; the others do not wait for it
  for (const auto& from : core_->shards) {
    if (!core_->here(*from)) continue;
    if (auto carried = co_await core_->carry_from(*from); !carried) failed = std::move(carried.error());
  }
  if (failed) co_return fail(std::move(*failed));
  co_return Result<void>{};
}

Task<Result<CreateOutcome>> QueueService::create_queue(std::string account, std::string queue, Metadata metadata) {
  CO_TRY(check_queue_name(queue));
  auto checked = CO_TRY(checked_metadata(std::move(metadata)));
  auto options = CO_TRY(options_in(checked, queue));
  CO_TRY(core_->check_parts(queue, options.parts));
  auto outcome = CreateOutcome::kCreated;
  const auto now = core_->clock.now();
  std::optional<PartsNote> parts;
  const auto create = [&](kv::Transaction& txn, Effects&) -> Result<void> {
    auto existing = TRY(read_queue(txn, account, queue));
    if (existing) {
      outcome = CreateOutcome::kExistedAlready;
      // A caller that makes a poison queue need not know that its queue is spread.
      const auto parts_before = is_poison_queue(queue) ? existing->options.parts : 1;
      const auto wanted = parts_before > 1 ? TRY(with_these_parts(checked, parts_before)) : checked;
      if (!same_metadata(existing->metadata, wanted)) return fail(ErrorCode::kQueueAlreadyExists);
      return {};
    }
    outcome = CreateOutcome::kCreated;
    QueueRecord record{0, now, options, checked, {}};
    if (options.parts > 1) TRY(adopt_parts(txn, account, queue, record, parts, now));
    TRY(start_generation(txn, account, queue, std::move(record), Time{}));
    return {};
  };
  CO_TRY(co_await with_parts_made(account, queue, options.parts, [&](const auto& made) {
    parts = made;
    return core_->of(account, queue).transact(kCreateQueueStep, create);
  }));
  co_return outcome;
}

Task<Result<void>> QueueService::ensure_queue(std::string account, std::string queue) {
  {
    auto existing = CO_TRY(read_queue(*core_->of(account, queue).engine.snapshot(), account, queue));
    if (existing) co_return Result<void>{};
  }
  auto created = co_await create_queue(account, queue, {});
  if (!created && !created.failed_with(ErrorCode::kQueueAlreadyExists)) co_return fail(std::move(created.error()));
  co_return Result<void>{};
}

Task<Result<void>> QueueService::delete_queue(std::string account, std::string queue) {
  auto& shard = core_->of(account, queue);
  QueueRecord record;
  auto deleted = co_await shard.transact(kDeleteQueueStep, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    record = TRY(require_queue(txn, account, queue));
    TRY(check_can_be_deleted(txn, account, queue));
    drop_queue(txn, effects, account, queue, record);
    return {};
  });
  if (!deleted || record.options.parts == 1) co_return deleted;
  // If a part cannot be reached now, upkeep drops it: it cannot be found meanwhile.
  const auto dropped = co_await drop_parts(account, queue, record.options.parts, record.incarnation);
  if (!dropped) process::log_failed_task("queue.drop_parts", dropped.error());
  co_return deleted;
}

Task<Result<void>> QueueService::clear(std::string account, std::string queue) {
  std::uint32_t parts = 1;
  CO_TRY(co_await core_->of(account, queue)
             .transact(kClearStep, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
               auto record = TRY(require_queue(txn, account, queue));
               parts = record.options.parts;
               auto figures = TRY(read_figures(txn, record.generation));
               kv::drop_generation(txn, queue_keys::kDroppedGeneration, record.generation);
               TRY(start_generation(txn, account, queue, std::move(record), figures.last_immediate));
               effects.dropped = true;
               effects.changed.emplace_back(account, queue);
               return {};
             }));
  for (std::uint32_t number = 0; parts > 1 && number < parts; ++number) {
    auto cleared = co_await call(calls::Clear{account, part_name({queue, number, parts})});
    if (!cleared && !cleared.failed_with(ErrorCode::kQueueNotFound)) co_return cleared;
  }
  co_return Result<void>{};
}

Result<QueuePage> QueueService::list_queues(std::string_view account, std::string_view prefix, std::string_view from,
                                            std::uint32_t limit) {
  constexpr std::size_t kMostBytes = 4UL << 20;  // many queues may have much metadata
  const auto start = std::max(prefix, from);
  kv::KeyRange range{queue_keys::queue(account, start), kv::prefix_end(queue_keys::queues_of(account))};
  QueuePage page;
  std::size_t bytes = 0;
  shards::MergedScan queues(shards::snapshots_of(core_->stored), range);
  for (; queues.valid(); queues.next()) {
    auto name = queue_keys::queue_name(queues.key(), account);
    if (!name) return fail(ErrorCode::kCorruption);
    if (!name->starts_with(prefix)) break;
    if (is_part(*name)) continue;
    if (page.queues.size() == limit || bytes >= kMostBytes) {
      page.next = std::move(name);
      break;
    }
    bytes += name->size() + queues.value().size();
    auto record = TRY(kQueueRecord.decode(queues.value()));
    page.queues.push_back({std::move(*name), std::move(record.metadata)});
  }
  TRY(queues.status());
  return page;
}

Task<Result<QueueProperties>> QueueService::get_properties(std::string account, std::string queue) {
  // Expired messages at the front are not counted.
  QueueProperties properties;
  for (const auto& part : CO_TRY(co_await tidied(account, queue))) {
    const auto snapshot = core_->of(account, part).engine.snapshot();
    auto record = CO_TRY(require_queue(*snapshot, account, part));
    properties.messages += CO_TRY(read_figures(*snapshot, record.generation)).messages();
    if (part == queue) properties.metadata = std::move(record.metadata);
  }
  co_return properties;
}

Task<Result<void>> QueueService::change_metadata(std::string account, std::string queue,
                                                 std::function<Result<Metadata>(const Metadata&)> change) {
  auto& shard = core_->of(account, queue);
  const auto now = core_->clock.now();
  std::uint32_t parts = 1;
  std::optional<PartsNote> made;
  const auto change_record = [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    auto record = TRY(require_queue(txn, account, queue));
    const auto parts_before = record.options.parts;
    record.metadata = TRY(change(record.metadata));
    if (parts_before > 1) record.metadata = TRY(with_these_parts(std::move(record.metadata), parts_before));
    record.options = TRY(options_in(record.metadata, queue));
    parts = record.options.parts;
    if (parts > parts_before) {
      TRY(core_->check_parts(queue, parts));
      TRY(check_can_be_spread(txn, record.generation));
      TRY(adopt_parts(txn, account, queue, record, made, now));
    }
    txn.put(queue_keys::queue(account, queue), kQueueRecord.encode(record));
    effects.changed.emplace_back(account, queue);  // it may have been resumed, or have parts now
    return {};
  };
  co_return co_await with_parts_made(account, queue, parts, [&](const auto& note) {
    made = note;
    return shard.transact(kSetMetadataStep, change_record);
  });
}

Task<Result<void>> QueueService::set_metadata(std::string account, std::string queue, Metadata metadata) {
  auto checked = CO_TRY(checked_metadata(std::move(metadata)));
  co_return co_await change_metadata(std::move(account), std::move(queue), [&](const Metadata&) { return checked; });
}

Task<Result<void>> QueueService::patch_metadata(std::string account, std::string queue, Metadata changes) {
  co_return co_await change_metadata(std::move(account), std::move(queue), [&](const Metadata& metadata) {
    return checked_metadata(patched(metadata, changes));
  });
}

Result<StoredPolicies> QueueService::get_acl(std::string_view account, std::string_view queue) {
  auto record = TRY(require_queue(*core_->of(account, queue).engine.snapshot(), account, queue));
  return std::move(record.acl);
}

Task<Result<void>> QueueService::set_acl(std::string account, std::string queue, StoredPolicies acl) {
  auto& shard = core_->of(account, queue);
  co_return co_await shard.transact(kSetAclStep, [&](kv::Transaction& txn, Effects&) -> Result<void> {
    auto record = TRY(require_queue(txn, account, queue));
    record.acl = acl;
    txn.put(queue_keys::queue(account, queue), kQueueRecord.encode(record));
    return {};
  });
}

Task<Result<void>> QueueService::tidy(std::string account, std::string queue) {
  const auto tidy_some = [](QueueRows& rows) { return rows.tidy(); };
  for (int turn = 0; turn < kMaxTidyTurns; ++turn) {
    if (!CO_TRY(co_await change_queue(kTidyStep, account, queue, tidy_some))) break;
  }
  co_return Result<void>{};
}

}  // namespace tidemark::queue_service
