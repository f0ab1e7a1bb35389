// Containers: their rows are on the first shard (storage/container_rows.h).
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"

namespace tidemark::blob_store {
namespace {

const FailStep kCreateContainerStep("blob.create_container");
const FailStep kDeleteContainerStep("blob.delete_container");
const FailStep kChangeContainerStep("blob.change_container");
const FailStep kLeaseContainerStep("blob.lease_container");

}  // namespace

Task<Result<Stamp>> BlobService::create_container(ContainerRef ref, Metadata metadata, std::string public_access) {
  CO_TRY(check_metadata(metadata));
  Container container;
  container.metadata = std::move(metadata);
  container.public_access = std::move(public_access);
  const auto create = [&](kv::Transaction& txn) -> Result<std::optional<shards::CatalogueCopies::Change>> {
    auto existing = find_container(txn, ref);
    if (existing) return fail(ErrorCode::kContainerAlreadyExists);
    if (!existing.failed_with(ErrorCode::kContainerNotFound)) return fail(std::move(existing.error()));
    container.generation = TRY(Ids(0).take(txn));
    container.version = TRY(next_version(txn));
    txn.put(blob_keys::container(ref.account, ref.name), records::kContainer.encode(container));
    return std::nullopt;  // no shard has a copy yet
  };
  CO_TRY(co_await containers_.change(ref.account, ref.name, create, &kCreateContainerStep));
  co_return container.version;
}

Task<Result<void>> BlobService::delete_container(ContainerRef ref, Conditions conditions) {
  const auto drop = [&](kv::Transaction& txn) -> Result<std::optional<shards::CatalogueCopies::Change>> {
    auto container = TRY(find_container(txn, ref));
    TRY(check_lease_of_write(container.lease, conditions.lease_id, clock_.now(), Leased::kContainer));
    TRY(check_write(conditions, &container.version, false));
    return dropped(container, divided() ? TRY(Ids(0).take(txn)) : container.generation);
  };
  // A client that repeats a deletion that failed in the middle is told that it was done.
  const bool begun = divided() && CO_TRY(containers_.under_way(*catalogue().snapshot(), ref.account, ref.name));
  auto done = co_await containers_.change(ref.account, ref.name, drop, &kDeleteContainerStep);
  if (!done && !(begun && done.failed_with(ErrorCode::kContainerNotFound))) co_return fail(std::move(done.error()));
  collect_all();
  co_return Result<void>{};
}

Result<Container> BlobService::get_container(const ContainerRef& ref, const Conditions& conditions) const {
  auto container = TRY(find_container(*catalogue().snapshot(), ref));
  TRY(check_lease_of_read(container.lease, conditions.lease_id, clock_.now(), Leased::kContainer));
  return container;
}

Task<Result<Stamp>> BlobService::change_container(ContainerRef ref, Conditions conditions,
                                                  std::function<void(Container&)> change) {
  Stamp version;
  CO_TRY(co_await catalogue().transact(
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

Task<Result<Stamp>> BlobService::set_container_policies(ContainerRef ref, StoredPolicies policies) {
  co_return co_await change_container(std::move(ref), {}, [&](Container& container) { container.policies = policies; });
}

Task<Result<LeaseOutcome>> BlobService::lease_container(ContainerRef ref, LeaseRequest request, Conditions conditions) {
  LeaseOutcome outcome;
  CO_TRY(co_await catalogue().transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto container = TRY(find_container(txn, ref));
        TRY(check_write(conditions, &container.version, false));
        outcome = {TRY(act(container.lease, request, clock_.now())), container.version};
        txn.put(blob_keys::container(ref.account, ref.name), records::kContainer.encode(container));
        return {};
      },
      &kLeaseContainerStep));
  co_return outcome;
}

}  // namespace tidemark::blob_store
