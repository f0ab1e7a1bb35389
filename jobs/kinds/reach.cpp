#include "jobs/kinds/reach.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {
bool is_same(const Location& a, const Location& b) {
  if (a.account != b.account) return false;
  if (!a.archive || !b.archive) return !a.archive && !b.archive && iequals_ascii(a.table, b.table);
  const auto& x = *a.archive;
  const auto& y = *b.archive;
  const bool grouped_alike = x.format == ArchiveFormat::kEntity || x.per == y.per;
  return x.container == y.container && x.directory == y.directory && x.prefix == y.prefix && x.format == y.format &&
         grouped_alike && iequals_ascii(x.table, y.table);
}

std::string_view store_of(const Location& location) {
  if (!location.archive) return "table";
  return location.archive->directory.empty() ? "container" : "directory";
}

const std::string& name_of(const Location& location) {
  if (!location.archive) return location.table;
  return location.archive->directory.empty() ? location.archive->container : location.archive->directory;
}

bool Reach::covers(const table_store::Entity& entity) const {
  if (everything) return true;
  if (selection.entity) {
    return selection.entity->partition_key == entity.partition_key && selection.entity->row_key == entity.row_key;
  }
  if (!selection.filter) return false;
  const auto filter = table_store::Filter::parse(*selection.filter);
  return filter && filter->matches(entity);
}

std::optional<EntityKey> Reach::key_for(table_store::Entity entity) const {
  if (!templates) return std::nullopt;
  set_values(entity, sets);
  return apply_key_templates(*templates, entity);
}

Reach reach_of(const JobSpec& spec) {
  return std::visit(
      [](const auto& work) {
        auto reach = work.reach();
        reach.writes_blobs = work.writes_blobs();
        return reach;
      },
      spec.work);
}

Reach seen_from(const std::string& home, Reach reach) {
  for (auto* place : {&reach.from, &reach.to}) {
    if (place->account == home) place->account.clear();
  }
  for (auto& account : reach.accounts) {
    if (account == home) account.clear();
  }
  return reach;
}

std::vector<std::string> other_accounts(const Reach& reach) {
  std::vector<std::string> out;
  for (const auto* place : {&reach.from, &reach.to}) {
    if (!place->account.empty() && std::ranges::find(out, place->account) == out.end()) out.push_back(place->account);
  }
  std::ranges::copy_if(reach.accounts, std::back_inserter(out), [](const auto& account) { return !account.empty(); });
  return out;
}

Result<void> check_accounts(const Reach& reach, const std::vector<std::string>& allowed) {
  for (const auto& account : other_accounts(reach)) {
    if (std::ranges::find(allowed, account) != allowed.end()) continue;
    return invalid_job({"jobs may not reach account '" + account + "', which the setting job_accounts does not name"});
  }
  return {};
}

std::vector<std::string> ledger_accounts(const Reach& reach, const std::string& home) {
  // A move counts entities from a table in that table's account, and entities from objects in the destination's.
  std::vector<const Location*> written{&reach.from};
  if (reach.step == Step::kCopy) written = {&reach.to};
  if (reach.moves()) written = {&reach.from, &reach.to};
  if (reach.moves() && reach.from.archive) std::swap(written.front(), written.back());
  std::vector<std::string> out;
  const auto add = [&](const std::string& named) {
    const auto& account = named.empty() ? home : named;
    if (std::ranges::find(out, account) == out.end()) out.push_back(account);
  };
  for (const auto& account : reach.accounts) add(account);
  if (out.empty()) {
    for (const auto* place : written) add(place->account);
  }
  if (out == std::vector{home}) out.clear();
  return out;
}

}  // namespace tidemark::jobs
