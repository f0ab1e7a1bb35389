#include "blob_store/storage/blob_service.h"

#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_retention.h"
#include "common/process/failures.h"

namespace tidemark::blob_store {
namespace {

const FailStep kSetServicePropertiesStep("blob.set_service_properties");

/// A fetched copy is missing again only if the container was deleted and made anew meanwhile.
constexpr int kMostBrought = 3;
constexpr Duration kFinishAgain = std::chrono::seconds(1);

}  // namespace

BlobService::BlobService(shards::Shards shards, Clock& clock, Random& random, const PayloadFiles& files,
                         Executor background)
    : OperationLedgers(shards, &blob_keys::ledger),
      AccountProperties(shards.catalogue().engine, blob_keys::kServiceProperties, kSetServicePropertiesStep),
      stored_(std::move(shards)),
      clock_(clock),
      random_(random),
      files_(files),
      background_(std::move(background)) {
  for (const auto& shard : stored_.all) shards_.emplace_back(shards_.size(), shard, clock, files, background_);
  if (peers() == nullptr) return;
  for (auto& shard : shards_) {
    shard.collector.tell_owner(
        [this, &shard](std::vector<PayloadId> abandoned) { return abandon_elsewhere(shard, std::move(abandoned)); });
  }
}

void BlobService::start() {
  for (auto& shard : shards_) shard.collector.start();
  if (divided()) process::spawn_in_background(background_, "blob.finish_deletions", containers_.finish_all());
}

void BlobService::start_sharing(std::string payload_folder) {
  payload_folder_ = std::move(payload_folder);
  for (auto& shard : shards_) shard.collector.rest();
}

void BlobService::gained(std::size_t shard) {
  shards_[shard].collector.start(Collector::Former::kMayWrite);
  if (shard > 0) return;
  process::spawn_in_background(background_, "blob.note_payload_folder", note_payload_folder());
  if (divided()) process::spawn_in_background(background_, "blob.finish_deletions", finish_deletions());
}

/// Shards may be without an owner for a while, as the catalogue was.
Task<Result<void>> BlobService::finish_deletions() {
  auto done = co_await containers_.finish_all();
  while (!done && peers()->here(0)) {
    co_await sleep_for(clock_, kFinishAgain);
    done = co_await containers_.finish_all();
  }
  co_return peers()->here(0) ? done : Result<void>();
}

void BlobService::lost(std::size_t shard) {
  shards_[shard].collector.rest();
  shards_[shard].lent.forget_all();
  containers_.lost(shard);
}

Task<Result<void>> BlobService::note_payload_folder() {
  co_return co_await catalogue().transact([this](kv::Transaction& txn) -> Result<void> {
    if (!TRY(txn.get(blob_keys::kPayloadFolder))) txn.put(blob_keys::kPayloadFolder, payload_folder_);
    return {};
  });
}

void BlobService::collect_all() {
  for (auto& shard : shards_) shard.collector.kick();
}

void BlobService::begin_shutdown() {
  stopping_ = true;
  stopped_.notify_all();
  for (auto& shard : shards_) shard.collector.stop();
}

// Rises even if the clock does not.
Result<Stamp> BlobService::next_version(kv::Transaction& txn) const {
  auto stored = TRY(txn.get(blob_keys::kLastVersion));
  auto version = Stamp::at(clock_.now());
  if (stored) version.ticks = std::max(version.ticks, TRY(records::decode_number(*stored)) + 1);
  txn.put(blob_keys::kLastVersion, records::encode_number(version.ticks));
  return version;
}

Task<Result<void>> BlobService::transact(const BlobRef& ref, BlobBody body, const FailStep* step,
                                         std::optional<ContainerRef> other) {
  auto& shard = of(ref);
  stored_.all[shard.number].wrote(ref.account, ref.container, ref.name);
  if (shard.number > 0) return transact_elsewhere(shard, ref, std::move(body), step, std::move(other));
  auto on_catalogue = [body = std::move(body), place = place_on(shard)](kv::Transaction& txn) {
    return body(txn, place);
  };
  return shard.engine.transact(std::move(on_catalogue), step);
}

Task<Result<void>> BlobService::transact_elsewhere(const Shard& shard, BlobRef ref, BlobBody body, const FailStep* step,
                                                   std::optional<ContainerRef> other) {
  auto place = place_on(shard);
  place.retained_days = CO_TRY(retained_days(CO_TRY(catalogue().get(blob_keys::service_properties(ref.account)))));
  const auto on_shard = [&](kv::Transaction& txn) { return body(txn, place); };
  for (int brought = 0;; ++brought) {
    auto done = co_await shard.engine.transact(on_shard, step);
    if (!done.failed_with(ErrorCode::kContainerNotFound) || brought == kMostBrought) co_return done;
    CO_TRY(co_await know_container(shard, ref.parent()));
    if (other) CO_TRY(co_await know_container(shard, *other));
  }
}

Task<Result<void>> BlobService::know_container(const Shard& shard, ContainerRef ref) const {
  if (shard.number == 0 || CO_TRY(containers_.find(*shard.engine.snapshot(), ref.account, ref.name))) {
    co_return Result<void>{};
  }
  if (CO_TRY(co_await containers_.bring(shard.number, ref.account, ref.name))) co_return Result<void>{};
  CO_TRY(check_container_name(ref.name));
  co_return fail(ErrorCode::kContainerNotFound);
}

Result<std::uint64_t> BlobService::generation_in(const kv::Reader& rows, const Shard& shard,
                                                 const ContainerRef& ref) const {
  auto known = find_generation(rows, place_on(shard), ref);
  if (shard.number == 0 || !known.failed_with(ErrorCode::kContainerNotFound)) return known;
  return TRY(find_container(*catalogue().snapshot(), ref)).generation;
}

}  // namespace tidemark::blob_store
