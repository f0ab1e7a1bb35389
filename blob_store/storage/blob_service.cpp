#include "blob_store/storage/blob_service.h"

#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "common/kv/generations.h"

namespace tidemark::blob_store {
namespace {

const FailStep kCreateContainerStep("blob.create_container");
const FailStep kDeleteContainerStep("blob.delete_container");
const FailStep kChangeContainerStep("blob.change_container");
const FailStep kSetServicePropertiesStep("blob.set_service_properties");

}  // namespace

BlobService::BlobService(kv::Engine& engine, Clock& clock, Random& random, const PayloadFiles& files,
                         Executor background, const Clock* ages)
    : OperationLedgers(engine, &blob_keys::ledger),
      AccountProperties(engine, blob_keys::kServiceProperties, kSetServicePropertiesStep),
      engine_(engine),
      clock_(clock),
      random_(random),
      files_(files),
      readers_(clock),
      collector_(engine, files, readers_, ages == nullptr ? clock : *ages, std::move(background)) {}

// Rises even if the clock does not.
Result<Stamp> BlobService::next_version(kv::Transaction& txn) const {
  auto stored = TRY(txn.get(blob_keys::kLastVersion));
  auto version = Stamp::at(clock_.now());
  if (stored) version.ticks = std::max(version.ticks, TRY(records::decode_number(*stored)) + 1);
  txn.put(blob_keys::kLastVersion, records::encode_number(version.ticks));
  return version;
}

Task<Result<Stamp>> BlobService::create_container(ContainerRef ref, Metadata metadata, std::string public_access) {
  CO_TRY(check_metadata(metadata));
  Container container;
  container.metadata = std::move(metadata);
  container.public_access = std::move(public_access);
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto existing = find_container(txn, ref);
        if (existing) return fail(ErrorCode::kContainerAlreadyExists);
        if (!existing.failed_with(ErrorCode::kContainerNotFound)) return fail(std::move(existing.error()));
        container.generation = TRY(take_id(txn));
        container.version = TRY(next_version(txn));
        txn.put(blob_keys::container(ref.account, ref.name), records::kContainer.encode(container));
        return {};
      },
      &kCreateContainerStep));
  co_return container.version;
}

Task<Result<void>> BlobService::delete_container(ContainerRef ref, Conditions conditions) {
  auto done = co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto container = TRY(find_container(txn, ref));
        TRY(check_lease_of_write(container.lease, conditions.lease_id, clock_.now(), Leased::kContainer));
        TRY(check_write(conditions, &container.version, false));
        txn.erase(blob_keys::container(ref.account, ref.name));
        kv::drop_generation(txn, blob_keys::kDroppedGeneration, container.generation);
        return {};
      },
      &kDeleteContainerStep);
  if (done) collector_.kick();
  co_return done;
}

Result<Container> BlobService::get_container(const ContainerRef& ref, const Conditions& conditions) const {
  auto container = TRY(find_container(*engine_.snapshot(), ref));
  TRY(check_lease_of_read(container.lease, conditions.lease_id, clock_.now(), Leased::kContainer));
  return container;
}

Task<Result<Stamp>> BlobService::change_container(ContainerRef ref, Conditions conditions,
                                                  std::function<void(Container&)> change) {
  Stamp version;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto container = TRY(find_container(txn, ref));
        TRY(check_lease_of_read(container.lease, conditions.lease_id, clock_.now(), Leased::kContainer));
        TRY(check_write(conditions, &container.version, false));
        container.version = version = TRY(next_version(txn));
        change(container);
        txn.put(blob_keys::container(ref.account, ref.name), records::kContainer.encode(container));
        return {};
      },
      &kChangeContainerStep));
  co_return version;
}

Task<Result<Stamp>> BlobService::set_container_metadata(ContainerRef ref, Metadata metadata, Conditions conditions) {
  CO_TRY(check_metadata(metadata));
  co_return co_await change_container(std::move(ref), std::move(conditions),
                                      [&](Container& container) { container.metadata = metadata; });
}

Task<Result<Stamp>> BlobService::set_container_access(ContainerRef ref, std::string public_access,
                                                      StoredPolicies policies, Conditions conditions) {
  co_return co_await change_container(std::move(ref), std::move(conditions), [&](Container& container) {
    container.public_access = public_access;
    container.policies = policies;
  });
}

}  // namespace tidemark::blob_store
