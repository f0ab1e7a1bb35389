#include "api/explain/entity_places.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/kinds/archive/plan_objects.h"
#include "jobs/objects/file_objects.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kMostPlaces = 32;
constexpr std::size_t kMostBlobs = 16;  // for one entity
// For one archive. Parts have up to about 16 MiB each: an answer comes within seconds.
constexpr LookBounds kArchiveBounds{.keys = 1000, .samples = 1000, .reads = 64, .bytes = 16UL << 20};

std::string text_of(const Location& location) {
  return location.account + "/" +
         (location.archive ? members_json(*location.archive).dump() : to_lower_ascii(location.table));
}

std::string text_of(const Reach& reach) {
  auto out = text_of(reach.from) + "\n" + text_of(reach.to) + "\n";
  for (const auto& [name, value] : reach.sets) out += name + "=" + value_text(value) + "\n";
  if (!reach.templates) return out;
  for (const auto* parts : {&reach.templates->partition, &reach.templates->row}) {
    for (const auto& part : *parts) out += (part.placeholder ? "{" : "'") + part.text + "\n";
    out += "\n";
  }
  return out;
}

table_store::Version origin_of(const table_store::Entity& entity) {
  return entity.source_version.value_or(entity.version);
}

}  // namespace

void EntityPlaces::connect(Reach reach) {
  reach = seen_from(store_.account(), std::move(reach));
  if (!check_accounts(reach, access_.accounts)) return;
  const bool leads_on = !reach.from.empty() && !reach.to.empty() && (reach.keeps_key || reach.templates);
  if (leads_on && known_reaches_.insert(text_of(reach)).second) reaches_.push_back(std::move(reach));
}

Task<Result<void>> EntityPlaces::search(std::string table, EntityKey key) {
  add({std::move(table)}, key, false);
  for (std::size_t next = 0; next < places_.size();) {
    for (; next < places_.size(); ++next) {
      CO_TRY(co_await look(next));
      follow_moves(next);
    }
    // Only now, because for an archived entity the archived version determines the places of its copies.
    for (std::size_t place = 0; place < places_.size(); ++place) follow_copies(place);
  }
  co_return Result<void>{};
}

void EntityPlaces::add(const Location& location, const EntityKey& key, bool copy) {
  const bool known = std::any_of(places_.begin(), places_.end(), [&](const EntityPlace& place) {
    return is_same(place.location, location) && place.key == key;
  });
  if (known) return;
  if (places_.size() >= kMostPlaces) {
    complete_ = false;
    return;
  }
  auto& place = places_.emplace_back();
  place.location = location;
  place.key = key;
  found_.push_back({copy, {}});
}

void EntityPlaces::follow_moves(std::size_t from) {
  for (const auto& reach : reaches_) {
    if (!reach.keeps_key) continue;
    const auto key = places_[from].key;
    const auto copy = found_[from].copy;
    if (is_same(reach.from, places_[from].location)) add(reach.to, key, copy);
    if (is_same(reach.to, places_[from].location)) add(reach.from, key, copy);
  }
}

void EntityPlaces::follow_copies(std::size_t from) {
  if (found_[from].copy) return;
  for (const auto& reach : reaches_) {
    if (!reach.templates || !is_same(reach.from, places_[from].location)) continue;
    const auto* entity = original_at(from);
    // A copy within the same table is not copied again.
    if (entity == nullptr || (entity->is_copy() && is_same(reach.from, reach.to))) continue;
    if (const auto key = reach.key_for(*entity)) add(reach.to, *key, true);
  }
}

const EntityPlaces::Entity* EntityPlaces::original_at(std::size_t place) const {
  if (found_[place].entity) return &*found_[place].entity;
  const Entity* newest = nullptr;
  for (const auto& [copy, entity] : found_) {
    if (copy || !entity) continue;
    if (newest == nullptr || origin_of(*newest) < origin_of(*entity)) newest = &*entity;
  }
  return newest;
}

Task<Result<void>> EntityPlaces::look(std::size_t place) {
  CO_TRY(co_await (places_[place].location.archive ? look_into_archive(place) : look_into_table(place)));
  if (!is_job_id(places_[place].job)) co_return Result<void>{};
  places_[place].record = CO_TRY(co_await store_.find(places_[place].job));
  co_return Result<void>{};
}

Task<Result<void>> EntityPlaces::look_into_table(std::size_t place) {
  const auto& there = places_[place];
  const auto tables = store_.tables_in(there.location.account);
  auto entity = co_await tables->get(there.location.table, there.key.partition_key, there.key.row_key);
  if (entity.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};
  if (!entity) co_return fail(std::move(entity.error()));
  if (!entity->has_value()) co_return Result<void>{};
  places_[place].present = true;
  places_[place].version = (*entity)->version;
  places_[place].source_version = (*entity)->source_version;
  places_[place].job = (*entity)->operation;
  found_[place].entity = std::move(**entity);
  co_await look_at_blobs(place);
  co_return Result<void>{};
}

Task<void> EntityPlaces::look_at_blobs(std::size_t place) {
  auto& there = places_[place];
  for (const auto& property : found_[place].entity->properties) {
    const auto* text = std::get_if<std::string>(&property.value);
    auto link = text != nullptr && property.name.ends_with(kLinkSuffix) ? parse_link(*text) : std::nullopt;
    if (!link) continue;
    if (there.blobs.size() == kMostBlobs || access_.blobs == nullptr) {
      complete_ = false;
      co_return;
    }
    // Reads beyond the end, so that no bytes are sent.
    const auto blobs =
        access_.blobs->as(there.location.account.empty() ? access_.blobs->account() : there.location.account);
    auto blob = co_await blobs->read(link->container, link->name, link->size, {});
    // The user who wrote the link may have given impossible names.
    if (!blob && http_status_of(blob.error().code) >= 500) {
      complete_ = false;
      give_up_on_blobs(blob.error());
      there.problem = std::move(blob.error().message);
      co_return;
    }
    const bool present = blob && *blob && (*blob)->version.etag() == link->etag;
    there.blobs.push_back({property.name.substr(0, property.name.size() - kLinkSuffix.size()), *link, present});
  }
}

/// A store that does not answer is not asked again for each place: every call would wait until its deadline.
void EntityPlaces::give_up_on_blobs(const Error& error) {
  if (http_status_of(error.code) >= 500) access_.blobs = nullptr;
}

Task<Result<void>> EntityPlaces::look_into_archive(std::size_t place) {
  const auto archive = *places_[place].location.archive;
  auto objects = open_archive(access_, tables_, archive, places_[place].location.account);
  if (!objects && !archive.directory.empty()) {
    co_return co_await look_into_catalog(place);
  }
  Result<ObjectsFound> found = fail(ErrorCode::kJobInvalid, "This process reaches no blob store.");
  if (objects) {
    ObjectsWanted wanted{archive, places_[place].key, {}, {}};
    found = co_await jobs::look_into_archive(**objects, std::move(wanted), kArchiveBounds);
  }
  auto& there = places_[place];
  if (!found) {
    // The rest of the story is still useful, because containers are not the only place.
    complete_ = false;
    if (archive.directory.empty()) give_up_on_blobs(found.error());
    there.problem = std::move(found.error().message);
    co_return Result<void>{};
  }
  complete_ = complete_ && found->complete;
  there.may_be_in = std::move(found->unread);
  for (auto& [entity, object] : found->samples) {
    if (there.objects.empty() || there.objects.back() != object) there.objects.push_back(std::move(object));
    // An archived entity carries the version of its original, and has no version of its own.
    const bool newer = !found_[place].entity || found_[place].entity->version < entity.version;
    if (!newer) continue;
    there.present = true;
    there.source_version = entity.version;
    there.job = entity.operation;
    found_[place].entity = std::move(entity);
  }
  co_return Result<void>{};
}

/// For a directory that this process may not read. The catalog names every object: for a document it holds everything
/// except the properties, for parts only their names.
Task<Result<void>> EntityPlaces::look_into_catalog(std::size_t place) {
  const auto archive = *places_[place].location.archive;
  const auto key = places_[place].key;
  FileObjects catalog(tables_, {archive.directory, nullptr, {}});
  if (archive.format == ArchiveFormat::kLines) {
    auto bounds = kArchiveBounds;
    bounds.reads = 0;
    ObjectsWanted wanted{archive, key, {}, {}};
    auto found = CO_TRY(co_await jobs::look_into_archive(catalog, std::move(wanted), bounds));
    if (found.unread.empty()) co_return Result<void>{};
    complete_ = false;
    places_[place].may_be_in = std::move(found.unread);
    places_[place].problem = "What is in the parts of this directory is seen by the workers alone.";
    co_return Result<void>{};
  }
  auto name = document_name(archive, key.partition_key, key.row_key);
  auto row = CO_TRY(co_await catalog.find(name));
  if (!row || !row->name) co_return Result<void>{};
  complete_ = false;
  auto& there = places_[place];
  there.present = true;
  there.source_version = row->name->version;
  there.job = row->name->writer.job;
  there.objects.push_back(std::move(name));
  Entity known;
  known.partition_key = key.partition_key;
  known.row_key = key.row_key;
  known.version = row->name->version;
  known.operation = row->name->writer.job;
  found_[place].entity = std::move(known);
  co_return Result<void>{};
}

bool EntityPlaces::any_at(const Location& location, const std::function<bool(const Entity&)>& fits) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto& entity = found_[i].entity;
    if (entity && is_same(places_[i].location, location) && fits(*entity)) return true;
  }
  return false;
}

std::vector<std::string> EntityPlaces::tables() const {
  std::vector<std::string> out;
  for (const auto& place : places_) {
    if (!place.location.archive) out.push_back(place.location.table);
  }
  return out;
}

bool EntityPlaces::present_at(const Location& location) const {
  return any_at(location, [](const Entity&) { return true; });
}

bool EntityPlaces::selected_by(const Reach& reach) const {
  return any_at(reach.from, [&](const Entity& entity) { return reach.covers(entity); });
}

bool EntityPlaces::named_by(const Reach& reach) const {
  return std::any_of(places_.begin(), places_.end(), [&](const EntityPlace& place) {
    return reach.selection.entity == place.key && is_same(place.location, reach.from);
  });
}

bool EntityPlaces::written_by(const std::string& operation, const Location& there) const {
  return any_at(there, [&](const Entity& entity) { return entity.operation == operation; });
}

}  // namespace tidemark::jobs
