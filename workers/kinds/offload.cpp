#include "jobs/kinds/offload/offload.h"

#include <algorithm>

#include "blob_store/model/names.h"
#include "common/base/encoding.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/kinds/offload/blob_link.h"
#include "jobs/objects/blob_objects.h"
#include "table_store/model/limits.h"
#include "workers/runtime/bulk_job.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using jobs::BlobLink;
using jobs::kLinkSuffix;
using nlohmann::json;
using table_store::Property;
using table_store::WriteOutcome;

constexpr std::string_view kNothing = "no property to move";
constexpr std::string_view kNoLinkName = "a property stays: the name of its link is taken or too long";
constexpr std::string_view kNameTaken = "a link stays: no property can have its name, or one has it already";
constexpr std::string_view kBlobGone = "the blob is missing or not what the link says";
constexpr std::size_t kOffloadedTogether = 50;
constexpr std::size_t kNoteBytes = 60'000;
constexpr std::int64_t kOnlyVersion = 1;  // a blob of an offload job is written once

/// The change that one entity needs.
struct PropertyChange {
  std::vector<std::size_t> places;  // of the properties
  std::vector<BlobLink> links;      // of the same properties; on the way out without the ETag yet
  std::string_view stays = {};      // why some of the selected properties stay
};
using ChangeOf = std::function<PropertyChange(const Entity&)>;

struct Walk : jobs::Selection {
  std::string source;
  ChangeOf change_of;
  bool outward = false;
  bool erase_blobs = true;  // inward
};

bool wanted(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

/// Tells whether the entity can have one more property of this name.
bool can_have(const Entity& entity, const std::string& name) {
  return table_store::check_property_name(name) && entity.find(name) == nullptr;
}

/// Names of blobs contain the job's id, so nobody else writes them.
PropertyChange change_outward(const jobs::OffloadSpec& spec, const std::string& job_id, const Entity& entity) {
  jobs::ObjectArchive root;
  root.prefix = spec.prefix;
  root.table = spec.source;
  PropertyChange change;
  for (std::size_t i = 0; i < entity.properties.size(); ++i) {
    const auto& property = entity.properties[i];
    const auto bytes = jobs::blob_bytes(property.value);
    const bool goes = bytes && bytes->size() >= spec.min_bytes && wanted(spec.properties, property.name) &&
                      !property.name.ends_with(kLinkSuffix);
    if (!goes) continue;
    if (!can_have(entity, property.name + std::string(kLinkSuffix))) {
      change.stays = kNoLinkName;
      continue;
    }
    BlobLink link;
    link.container = spec.container;
    link.name = jobs::archive_root(root) + jobs::key_segment(entity.partition_key) + "/" +
                jobs::key_segment(entity.row_key) + "/" + jobs::key_segment(property.name) + "-" +
                std::to_string(entity.version) + "-" + job_id;
    link.size = bytes->size();
    link.binary = std::holds_alternative<table_store::Binary>(property.value);
    link.sha256 = hex_encode(sha256(*bytes));
    change.places.push_back(i);
    change.links.push_back(std::move(link));
  }
  return change;
}

PropertyChange change_inward(const jobs::InlineSpec& spec, const Entity& entity) {
  PropertyChange change;
  for (std::size_t i = 0; i < entity.properties.size(); ++i) {
    const auto& property = entity.properties[i];
    const auto* text = std::get_if<std::string>(&property.value);
    if (text == nullptr || !property.name.ends_with(kLinkSuffix)) continue;
    const auto name = property.name.substr(0, property.name.size() - kLinkSuffix.size());
    auto link = jobs::parse_link(*text);
    if (!link || !wanted(spec.properties, name)) continue;
    if (!can_have(entity, name)) {
      change.stays = kNameTaken;
      continue;
    }
    change.places.push_back(i);
    change.links.push_back(std::move(*link));
  }
  return change;
}

/// Checks the names, because anybody may have written the link.
bool can_be(const std::string& container, const std::string& blob) {
  return blob_store::check_container_name(container) && blob_store::check_blob_name(blob);
}

/// One run of either job.
class Swapper final : public BulkJob {
 public:
  Swapper(JobContext& context, Walk walk)
      : BulkJob(context, source_,
                {.entity = walk.entity,
                 .doing = walk.outward ? "offloading" : "inlining",
                 .changed = walk.outward ? "offloaded" : "inlined",
                 .total_known = false}),
        walk_(std::move(walk)),
        source_(context, {walk_.source, walk_.filter.value_or(""), ""}) {}

 private:
  Task<Result<bool>> open() override { co_return co_await objects({}).open(context_.fence({})); }
  Task<Result<void>> resume(json saved) override;
  Task<Result<void>> work_on(std::vector<Entity> entities) override;
  Task<Result<void>> close() override { co_return co_await objects({}).close(context_.fence({})); }

  Task<Result<void>> swap_chunk(std::vector<Entity> chunk, json loose);
  Task<Result<void>> swap(Entity entity);
  /// Replaces the entity if it is still the version that was read.
  Task<Result<WriteOutcome>> replace(const Entity& entity, std::vector<Property> properties);
  /// Uploads, or reads. Returns false if the value is not available, which it notes.
  Task<Result<bool>> carry(const Entity& entity, PropertyChange& change, std::vector<Property>& properties);
  Task<Result<void>> upload(const Property& property, BlobLink& link);
  Task<Result<std::optional<std::string>>> download(BlobLink link);
  Task<Result<void>> erase(std::string container, std::string name);
  [[nodiscard]] jobs::BlobObjects objects(std::string container) const {
    return {*context_.objects.blobs, std::move(container)};
  }

  Walk walk_;
  TableSource source_;
};

Task<Result<void>> Swapper::work_on(std::vector<Entity> entities) {
  std::vector<Entity> chunk;
  json loose = json::array();
  std::size_t noted = 0;
  for (auto& entity : entities) {
    const auto change = walk_.change_of(entity);
    if (!change.stays.empty()) skip(change.stays, entity);
    if (change.links.empty()) {
      if (walk_.entity && change.stays.empty()) skip(kNothing, entity);
      continue;
    }
    for (const auto& link : change.links) {
      loose.push_back(json::array({entity.partition_key, entity.row_key, link.container, link.name}));
      noted += entity.partition_key.size() + entity.row_key.size() + link.container.size() + link.name.size();
    }
    chunk.push_back(std::move(entity));
    if (chunk.size() < kOffloadedTogether && noted <= kNoteBytes) continue;
    CO_TRY(co_await swap_chunk(std::exchange(chunk, {}), std::exchange(loose, json::array())));
    noted = 0;
  }
  if (chunk.empty()) co_return Result<void>{};
  co_return co_await swap_chunk(std::move(chunk), std::move(loose));
}

Task<Result<void>> Swapper::swap_chunk(std::vector<Entity> chunk, json loose) {
  CO_TRY(co_await note("loose", std::move(loose), fail_points::kOffloadNote));
  std::vector<ChangeSet> changes;
  for (auto& entity : chunk) {
    changes.push_back({1, {{walk_.source, entity.partition_key}}, [this, entity = std::move(entity)]() mutable {
                         return swap(std::move(entity));
                       }});
  }
  co_return co_await make(std::move(changes));
}

Task<Result<void>> Swapper::swap(Entity entity) {
  auto change = walk_.change_of(entity);
  auto properties = entity.properties;
  if (!CO_TRY(co_await carry(entity, change, properties))) co_return Result<void>{};
  CO_TRY(context_.check());
  bool applied = false;
  if (const auto fits = table_store::check_properties(entity.partition_key, entity.row_key, properties); !fits) {
    skip(fits.failed_with(ErrorCode::kInvalidInput) ? kBlobGone : kTooLarge, entity);
  } else {
    const auto end = CO_TRY(co_await replace(entity, std::move(properties)));
    applied = end == WriteOutcome::kApplied;
    if (applied) did(1);
    if (end == WriteOutcome::kConflict) look_again();
  }
  // A blob is unused if it was uploaded for an entity that has changed, or if its value is back in the entity.
  const bool unused = walk_.outward ? !applied : applied && walk_.erase_blobs;
  if (!unused) co_return Result<void>{};
  for (auto& link : change.links) {
    CO_TRY(co_await erase(std::move(link.container), std::move(link.name)));
  }
  co_return Result<void>{};
}

Task<Result<WriteOutcome>> Swapper::replace(const Entity& entity, std::vector<Property> properties) {
  auto mutation = jobs::write_of(entity.row_key, entity.version, std::move(properties));
  const auto outcomes = CO_TRY(co_await fail_points::kOffloadLink.around(context_.tables.mutate(
      walk_.source, entity.partition_key, {std::move(mutation)}, context_.fence(std::string(kDone)))));
  co_return outcomes.front().kind;
}

Task<Result<bool>> Swapper::carry(const Entity& entity, PropertyChange& change, std::vector<Property>& properties) {
  for (std::size_t i = 0; i < change.places.size(); ++i) {
    auto& property = properties[change.places[i]];
    auto& link = change.links[i];
    if (walk_.outward) {
      CO_TRY(co_await upload(property, link));
      property.name += kLinkSuffix;
      property.value = jobs::link_text(link);
      continue;
    }
    auto bytes = CO_TRY(co_await download(link));
    if (!bytes) {
      skip(kBlobGone, entity);
      co_return false;
    }
    property.name.resize(property.name.size() - kLinkSuffix.size());
    property.value = jobs::value_of(link, std::move(*bytes));
  }
  co_return true;
}

Task<Result<void>> Swapper::upload(const Property& property, BlobLink& link) {
  auto store = objects(link.container);
  jobs::ObjectWrite write;
  write.name = link.name;
  write.bytes = std::string(*jobs::blob_bytes(property.value));
  write.type = link.binary ? "application/octet-stream" : "text/plain; charset=utf-8";
  write.version = kOnlyVersion;
  CO_TRY(co_await fail_points::kOffloadUpload.around(store.put(std::move(write), context_.fence({}))));
  auto piece = CO_TRY(co_await context_.objects.blobs->read(link.container, link.name, link.size, {}));
  // Only somebody who overwrites the jobs' own blobs can have changed it.
  if (!piece || piece->size != link.size || piece->source_version != kOnlyVersion) {
    co_return fail(ErrorCode::kConditionNotMet, "The blob '" + link.name + "' was changed while it was written.");
  }
  link.etag = piece->version.etag();
  co_return Result<void>{};
}

Task<Result<std::optional<std::string>>> Swapper::download(BlobLink link) {
  if (!can_be(link.container, link.name)) co_return std::optional<std::string>();
  auto store = objects(std::move(link.container));
  auto object = CO_TRY(co_await store.read(std::move(link.name)));
  const bool good =
      object.has_value() && object->bytes.size() == link.size && hex_encode(sha256(object->bytes)) == link.sha256;
  if (!good) co_return std::optional<std::string>();
  co_return std::move(object->bytes);
}

Task<Result<void>> Swapper::erase(std::string container, std::string name) {
  if (!can_be(container, name)) co_return Result<void>{};
  auto store = objects(std::move(container));
  CO_TRY(co_await fail_points::kOffloadErase.around(store.erase(std::move(name), kOnlyVersion, context_.fence({}))));
  co_return Result<void>{};
}

Task<Result<void>> Swapper::resume(json saved) {
  if (!saved.is_object() || (!walk_.outward && !walk_.erase_blobs)) co_return Result<void>{};
  const auto loose = saved.value("loose", json::array());
  if (!loose.is_array()) co_return Result<void>{};
  for (const auto& end : loose) {
    const bool four = end.is_array() && end.size() == 4 &&
                      std::all_of(end.begin(), end.end(), [](const json& item) { return item.is_string(); });
    if (!four) continue;
    CO_TRY(context_.check());
    auto container = end[2].get<std::string>();
    auto name = end[3].get<std::string>();
    const auto entity =
        CO_TRY(co_await context_.tables.get(walk_.source, end[0].get<std::string>(), end[1].get<std::string>()));
    if (entity && jobs::links_to(*entity, container, name)) continue;
    CO_TRY(co_await erase(std::move(container), std::move(name)));
  }
  co_return Result<void>{};
}

Task<Result<JobOutcome>> run_swap(JobContext& context, Walk walk) {
  if (context.objects.blobs == nullptr) co_return fail(ErrorCode::kJobInvalid, "This worker reaches no blob store.");
  co_return co_await run_as<Swapper>(context, std::move(walk));
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::OffloadSpec spec) {
  auto change = [spec, id = context.job_id()](const Entity& entity) { return change_outward(spec, id, entity); };
  return run_swap(context, {spec, spec.source, std::move(change), true});
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::InlineSpec spec) {
  auto change = [spec](const Entity& entity) { return change_inward(spec, entity); };
  return run_swap(context, {spec, spec.source, std::move(change), false, !spec.keep_blobs});
}

}  // namespace tidemark::workers
