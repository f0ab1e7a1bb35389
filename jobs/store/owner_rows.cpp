#include "jobs/store/owner_rows.h"

#include "jobs/store/fields.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr const char* kOwners = "owners";

constexpr std::tuple kOwnerFields{
    Field{"Owner", &Owner::worker},
    Field{"Epoch", &Owner::epoch},
    Field{"Beat", &Owner::beat},
};

Owner owner_of(const Entity& row) {
  Owner out;
  read_properties(row, out, kOwnerFields);
  out.version = row.version;
  return out;
}

}  // namespace

Task<Result<Owner>> OwnerRows::owner(std::string id) {
  auto read = co_await tables_.get(table_, kOwners, std::move(id));
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return Owner{};
  const auto row = CO_TRY(std::move(read));
  co_return row ? owner_of(*row) : Owner{};
}

Task<Result<std::map<std::string, Owner>>> OwnerRows::all_owners() {
  std::map<std::string, Owner> out;
  auto request = rows_of(kOwners);
  request.table = table_;
  do {
    auto read = co_await tables_.query(request);
    if (read.failed_with(ErrorCode::kTableNotFound)) co_return out;
    auto page = CO_TRY(std::move(read));
    for (const auto& row : page.entities) out.emplace(row.row_key, owner_of(row));
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty() && out.size() < most_);
  co_return out;
}

Task<Result<bool>> OwnerRows::swap_owner(std::string id, Owner& owner) {
  std::vector<table_store::Property> properties;
  add_properties(properties, owner, kOwnerFields);
  const auto seen = owner.version == 0 ? std::nullopt : std::optional(owner.version);
  const auto written = CO_TRY(co_await change_row(tables_, table_, kOwners,
                                                  write_of(std::move(id), seen, std::move(properties)), std::nullopt));
  if (written) owner.version = *written;
  co_return written.has_value();
}

Task<Result<void>> OwnerRows::remove_owner(std::string id, Owner owner) {
  CO_TRY(co_await change_row(tables_, table_, kOwners, erasure_of(std::move(id), owner.version), std::nullopt));
  co_return Result<void>{};
}

Task<Result<void>> OwnerRows::forget_owner(std::string id) {
  CO_TRY(co_await change_row(tables_, table_, kOwners, erasure_of(std::move(id), {}), std::nullopt));
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
