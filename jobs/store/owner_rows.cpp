#include "jobs/store/owner_rows.h"

#include "jobs/store/fields.h"

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

OwnerRows::OwnerRows(table_store::TableClient& tables, std::string_view table, std::size_t most)
    : owners_(tables, table, kOwners), most_(most) {}

Task<Result<Owner>> OwnerRows::owner(std::string id) {
  const auto row = CO_TRY(co_await owners_.find(std::move(id)));
  co_return row ? owner_of(*row) : Owner{};
}

Task<Result<std::map<std::string, Owner>>> OwnerRows::all_owners() {
  std::map<std::string, Owner> out;
  for (const auto& row : CO_TRY(co_await owners_.all(most_))) out.emplace(row.row_key, owner_of(row));
  co_return out;
}

Task<Result<bool>> OwnerRows::swap_owner(std::string id, Owner& owner) {
  std::vector<table_store::Property> properties;
  add_properties(properties, owner, kOwnerFields);
  co_return co_await owners_.swap(std::move(id), owner.version, std::move(properties));
}

Task<Result<void>> OwnerRows::remove_owner(std::string id, Owner owner) {
  CO_TRY(co_await owners_.erase(std::move(id), owner.version));
  co_return Result<void>{};
}

Task<Result<void>> OwnerRows::forget_owner(std::string id) {
  CO_TRY(co_await owners_.erase(std::move(id)));
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
