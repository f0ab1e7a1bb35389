#include "workers/kinds/archive/part_side.h"

#include <algorithm>
#include <set>

#include "common/base/encoding.h"
#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/archived_object.h"
#include "jobs/plan/plan.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;

constexpr std::int64_t kFirstVersion = 1;
constexpr std::int64_t kNotArchived = 0;
constexpr std::size_t kNotedBesideGroup = 80;  // job, epoch, number and ending of a part's name
constexpr int kDropRaces = 20;
// A batch waits until all of its entities are admitted, and a job must stop soon after it is told to.
constexpr std::size_t kBatchSeconds = 5;

/// Tells whether `dropped` names this version of the key or a newer one.
bool is_dropped(const std::map<std::pair<std::string_view, std::string_view>, std::int64_t>& dropped,
                const Entity& entity) {
  const auto found = dropped.find({entity.partition_key, entity.row_key});
  return found != dropped.end() && entity.version <= found->second;
}

}  // namespace

PartSide::KeyDigest PartSide::digest_of(const Entity& entity) {
  // No key contains a line break.
  const auto hash = sha256(entity.partition_key + "\n" + entity.row_key);
  KeyDigest digest{};
  std::copy_n(hash.begin(), digest.size(), digest.begin());
  return digest;
}

Task<Result<std::optional<PartSide::Part>>> PartSide::load(std::string name) {
  auto object = CO_TRY(co_await objects_->read(name));
  if (!object.has_value()) co_return std::optional<Part>();
  auto entities = CO_TRY(jobs::archived_in(archive_, name, *object));
  if (!entities) co_return std::optional<Part>({std::move(name), kNotArchived, {}});
  Part part{std::move(name), *object->version, std::move(*entities)};
  co_return std::optional<Part>(std::move(part));
}

Task<Result<jobs::ObjectNames>> PartSide::part_names(std::string root, std::string from) {
  auto names = co_await objects_->list(std::move(root), std::move(from));
  if (names) std::erase_if(names->names, [this](const auto& name) { return !jobs::is_object_name(archive_, name); });
  co_return names;
}

Task<Result<void>> PartSide::learn_newest() {
  if (learned_) co_return Result<void>{};
  learned_ = true;
  std::vector<Line> lines;
  std::string from;
  do {
    auto names = CO_TRY(co_await part_names(jobs::archive_root(archive_), std::move(from)));
    for (auto& name : names.names) {
      CO_TRY(context_.check());
      auto part = CO_TRY(co_await load(std::move(name)));
      if (!part.has_value()) continue;
      const auto number = static_cast<std::uint32_t>(parts_.size());
      parts_.push_back(std::move(part->name));
      for (const auto& entity : part->entities) lines.push_back({digest_of(entity), entity.version, number});
      if (lines.size() <= kMaxIndexedLines) continue;
      // Everything is restored: the table keeps the newest version.
      if (filter_.matches_all() && selection_.operation.empty()) co_return Result<void>{};
      co_return fail(ErrorCode::kJobInvalid, "The archive has more than " + std::to_string(kMaxIndexedLines) +
                                                 " entities: restore all of it, or a part under a longer prefix.");
    }
    from = std::move(names.next);
  } while (!from.empty());
  std::sort(lines.begin(), lines.end());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool like_last = i > 0 && lines[i].key == lines[i - 1].key;
    const bool like_next = i + 1 < lines.size() && lines[i].key == lines[i + 1].key;
    if (like_last || like_next) several_.push_back(lines[i]);
  }
  co_return Result<void>{};
}

std::span<const PartSide::Line> PartSide::lines_of(const Entity& entity) const {
  if (several_.empty()) return {};
  const auto found = std::ranges::equal_range(several_, digest_of(entity), {}, &Line::key);
  return {found.begin(), found.end()};
}

bool PartSide::obsolete(const Entity& entity) const {
  const auto lines = lines_of(entity);
  return !lines.empty() && entity.version < lines.back().version;
}

Task<Result<Page>> PartSide::read(std::string continuation) {
  CO_TRY(co_await learn_newest());
  read_from_.clear();
  obsolete_.clear();
  Page page;
  auto names = CO_TRY(co_await part_names(jobs::archive_root(archive_), std::move(continuation)));
  page.continuation = names.names.size() > 1 ? names.names[1] : std::move(names.next);
  if (names.names.empty()) co_return page;
  auto part = CO_TRY(co_await load(names.names.front()));
  if (!part.has_value()) co_return page;
  if (part->version == kNotArchived) {
    page.foreign.push_back(std::move(names.names.front()));
    co_return page;
  }
  read_from_.push_back(part->name);
  for (auto& entity : part->entities) {
    if (selects(entity)) (obsolete(entity) ? obsolete_ : page.entities).push_back(std::move(entity));
  }
  co_return page;
}

Task<Result<std::optional<Entity>>> PartSide::get(jobs::EntityKey key) {
  read_from_.clear();
  obsolete_.clear();
  auto root = jobs::archive_root(archive_);
  if (archive_.per == jobs::PartUnit::kPartition) root += jobs::key_segment(key.partition_key) + "/";
  std::optional<Entity> newest;
  std::string from;
  do {
    auto names = CO_TRY(co_await part_names(root, std::move(from)));
    for (const auto& name : names.names) {
      CO_TRY(context_.check());
      auto part = CO_TRY(co_await load(name));
      if (!part.has_value()) continue;
      for (auto& entity : part->entities) {
        if (entity.partition_key != key.partition_key || entity.row_key != key.row_key) continue;
        read_from_.push_back(name);
        if (newest && newest->version >= entity.version) continue;
        newest = std::move(entity);
        std::swap(read_from_.front(), read_from_.back());
      }
    }
    from = std::move(names.next);
  } while (!from.empty());
  co_return newest;
}

Task<Result<void>> PartSide::before_put(std::vector<Entity> entities) {
  // The versions of a single entity were looked for in all parts; the versions of a page's entities are known from
  // learn_newest().
  for (std::size_t i = 1; i < read_from_.size(); ++i) {
    CO_TRY(co_await drop(read_from_[i], entities));
  }
  std::map<std::uint32_t, std::vector<Entity>> elsewhere;
  for (const auto& entity : entities) {
    for (const auto& line : lines_of(entity)) {
      if (parts_[line.part] != read_from_.front()) elsewhere[line.part].push_back(entity);
    }
  }
  for (auto& [part, dropped] : elsewhere) {
    CO_TRY(co_await drop(parts_[part], std::move(dropped)));
  }
  co_return Result<void>{};
}

Task<Result<RemoveOutcome>> PartSide::remove(std::vector<Entity> entities) {
  RemoveOutcome out;
  out.ends.resize(entities.size(), RemoveEnd::kRemoved);
  entities.insert(entities.end(), std::make_move_iterator(obsolete_.begin()), std::make_move_iterator(obsolete_.end()));
  obsolete_.clear();
  for (const auto& name : read_from_) {
    CO_TRY(co_await drop(name, entities));
  }
  co_return out;
}

Task<Result<void>> PartSide::finish_page() {
  if (obsolete_.empty()) co_return Result<void>{};
  CO_TRY(co_await remove({}));
  co_return Result<void>{};
}

bool PartSide::wants_more(const std::vector<Entity>& page) const {
  if (page.size() >= kBatchEntities) return false;
  const auto rate = context_.spec().max_per_second;
  if (rate && page.size() >= kBatchSeconds * *rate) return false;
  std::size_t bytes = 0;
  std::size_t noted = 0;
  std::set<std::string> groups;
  for (const auto& entity : page) {
    bytes += jobs::entity_bytes(entity);
    auto group = jobs::part_group(archive_, entity.partition_key, entity.version);
    const auto length = group.size();
    if (groups.insert(std::move(group)).second) noted += length + kNotedBesideGroup;
  }
  return bytes < kBatchBytes && noted < kPageKeyBytes;
}

std::vector<Unit> PartSide::units(std::vector<Entity> entities) {
  std::map<std::string, Unit> by_group;
  for (auto& entity : entities) {
    auto& unit = by_group[jobs::part_group(archive_, entity.partition_key, entity.version)];
    unit.entities.push_back(std::move(entity));
  }
  std::vector<Unit> out;
  for (auto& [group, unit] : by_group) {
    unit.name = jobs::part_name(archive_, group, context_.job_id(), context_.epoch(), next_number_++);
    out.push_back(std::move(unit));
  }
  return out;
}

json PartSide::note(const std::vector<Unit>& units) const {
  const auto root = jobs::archive_root(archive_).size();
  json names = json::array();
  for (const auto& unit : units) names.push_back(unit.name.substr(root));
  return names;
}

Task<Result<Unfinished>> PartSide::unfinished(json note) {
  Unfinished out;
  if (!note.is_array()) co_return out;
  for (const auto& name : note) {
    if (!name.is_string()) continue;
    CO_TRY(context_.check());
    auto part = CO_TRY(co_await load(jobs::archive_root(archive_) + name.get<std::string>()));
    if (part.has_value()) out.put.push_back({std::move(part->entities), std::move(part->name)});
  }
  co_return out;
}

Task<Result<PutOutcome>> PartSide::put(Unit unit) {
  PutOutcome out;
  out.ends.resize(unit.entities.size(), PutEnd::kThere);
  for (auto& entity : unit.entities) entity.operation = context_.job_id();
  auto outcome = CO_TRY(co_await publish(std::move(unit.name), std::move(unit.entities), kFirstVersion, {}));
  // Only this delivery uses the name, so an object that is there already comes from a put whose answer was lost.
  const bool there = outcome == WriteOutcome::kApplied || outcome == WriteOutcome::kUnchanged;
  if (!there) std::fill(out.ends.begin(), out.ends.end(), PutEnd::kInTheWay);
  co_return out;
}

Task<Result<jobs::WriteOutcome>> PartSide::publish(std::string name, std::vector<Entity> entities, std::int64_t version,
                                                   std::optional<std::int64_t> replaces) {
  jobs::ObjectWrite write;
  write.name = std::move(name);
  write.bytes = jobs::part_text(entities, jobs::archive_root(archive_), archive_.gzip);
  write.type = std::string(jobs::type_of_object(write.name));
  write.version = version;
  write.replaces = replaces;
  return put_object(std::move(write));
}

Task<Result<bool>> PartSide::retract(std::string unit_name, std::vector<Entity> changed) {
  CO_TRY(co_await drop(std::move(unit_name), std::move(changed)));
  co_return true;
}

Task<Result<void>> PartSide::take_back(std::string unit_name, std::vector<jobs::EntityKey> keys) {
  std::vector<Entity> gone;
  for (auto& key : keys) {
    auto& entity = gone.emplace_back();
    entity.partition_key = std::move(key.partition_key);
    entity.row_key = std::move(key.row_key);
    entity.version = INT64_MAX;  // only this job uses the part, and it has the key once
  }
  co_return co_await drop(std::move(unit_name), std::move(gone));
}

Task<Result<void>> PartSide::drop(std::string name, std::vector<Entity> entities) {
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> dropped;
  for (const auto& entity : entities) {
    auto& version = dropped[{entity.partition_key, entity.row_key}];
    version = std::max(version, entity.version);
  }
  // Another job may write the part again at the same time: each must remove only its own entities.
  for (int race = 0; race < kDropRaces; ++race) {
    CO_TRY(context_.check());
    auto part = CO_TRY(co_await load(name));
    if (!part.has_value()) co_return Result<void>{};
    std::vector<Entity> kept;
    for (const auto& entity : part->entities) {
      if (!is_dropped(dropped, entity)) kept.push_back(entity);
    }
    if (kept.size() == part->entities.size()) co_return Result<void>{};
    auto outcome = CO_TRY(co_await replace(std::move(*part), std::move(kept)));
    if (outcome == WriteOutcome::kApplied || outcome == WriteOutcome::kMissing) co_return Result<void>{};
  }
  co_return fail(ErrorCode::kConditionNotMet, "The part '" + name + "' kept changing.");
}

Task<Result<jobs::WriteOutcome>> PartSide::replace(Part part, std::vector<Entity> kept) {
  if (!kept.empty()) {
    co_return co_await publish(std::move(part.name), std::move(kept), part.version + 1, part.version);
  }
  co_return co_await erase_object(std::move(part.name), part.version);
}

}  // namespace tidemark::workers
