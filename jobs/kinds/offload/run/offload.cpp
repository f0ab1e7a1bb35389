#include "jobs/kinds/offload/offload.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "jobs/kinds/offload/blob_link.h"
#include "jobs/kinds/offload/run/property_swap.h"
#include "jobs/objects/blob_objects.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/pages.h"
#include "workers/runtime/run_as.h"
#include "workers/runtime/side_by_side.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {
namespace {

using jobs::BlobLink;
using nlohmann::json;
using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::OutcomeKind;
using table_store::Property;

constexpr std::string_view kMissing = "not found";
constexpr std::string_view kNothing = "no property to move";
constexpr std::string_view kTooLarge = "the entity would be too large";
constexpr std::string_view kBlobGone = "the blob is missing or not what the link says";
constexpr std::size_t kChunkEntities = 50;
constexpr std::size_t kNoteBytes = 60'000;
constexpr int kPasses = 10;
constexpr std::int64_t kOnlyVersion = 1;  // a blob of an offload job is written once

std::unexpected<Error> kept_changing() {
  return fail(ErrorCode::kUpdateConditionNotSatisfied,
              "Some entities kept changing while their properties were moved.");
}

struct Walk : jobs::Selection {
  std::string source;
  bool erase_blobs = true;  // inward
};

/// One run of either job. Lives in its frame.
class Swapper {
 public:
  Swapper(JobContext& context, Walk walk, std::unique_ptr<const PropertySwap> swap)
      : context_(context),
        walk_(std::move(walk)),
        swap_(std::move(swap)),
        pages_(context, {walk_.source, walk_.filter.value_or(""), ""}) {}
  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> work(std::uint64_t done_before);
  Task<Result<void>> swap_one();
  Task<Result<void>> swap_all();
  Task<Result<void>> swap_page(std::vector<Entity> entities);
  Task<Result<void>> swap_chunk(std::vector<Entity> chunk);
  Task<Result<void>> swap(Entity entity);
  /// Uploads, or reads: false if the value cannot be had, which is noted.
  Task<Result<bool>> carry(const Entity& entity, PropertyChange& change, std::vector<Property>& properties);
  Task<Result<void>> upload(const Property& property, BlobLink& link);
  Task<Result<std::optional<std::string>>> download(BlobLink link);
  Task<Result<void>> erase(std::string container, std::string name);
  Task<Result<void>> note(json loose);
  Task<Result<void>> tie_loose_ends();
  Task<Result<void>> report(bool force);
  /// Opens the blobs' ledger as well. True: it is closed.
  Task<Result<bool>> open_blobs();
  Task<Result<void>> close_blobs();
  [[nodiscard]] jobs::BlobObjects objects(std::string container) const {
    return {*context_.objects.blobs, std::move(container)};
  }

  JobContext& context_;
  Walk walk_;
  std::unique_ptr<const PropertySwap> swap_;
  Pages pages_;
  std::string continuation_;
  std::uint64_t done_ = 0;
  std::uint64_t under_way_ = 0;
  SkipLog skips_;
  SkipLog page_skips_;
  bool page_clean_ = true;  // nothing changed under the page at hand
};

Task<Result<JobOutcome>> Swapper::run() {
  if (context_.objects.blobs == nullptr) co_return fail(ErrorCode::kJobInvalid, "This worker reaches no blob store.");
  JobContext::Work doing = [this](const table_store::OperationLedger& before) { return work(before.counter(kDone)); };
  auto ledger = CO_TRY(co_await context_.complete(std::move(doing)));
  JobOutcome outcome;
  outcome.done = ledger.counter(kDone);
  co_return outcome;
}

Task<Result<void>> Swapper::work(std::uint64_t done_before) {
  done_ = done_before;
  auto over = CO_TRY(co_await open_blobs());
  if (over) co_return Result<void>{};
  if (context_.checkpoint().is_object()) {
    continuation_ = context_.checkpoint().value("continuation", std::string());
    skips_ = SkipLog::from_json(context_.checkpoint().value("skips", json::array()));
  }
  CO_TRY(co_await require_table(context_, walk_.source, "source"));
  CO_TRY(co_await tie_loose_ends());
  CO_TRY(co_await (walk_.entity ? swap_one() : swap_all()));
  CO_TRY(co_await report(true));
  co_return co_await close_blobs();
}

Task<Result<bool>> Swapper::open_blobs() {
  auto store = objects({});
  co_return co_await store.open(context_.fence({}));
}

Task<Result<void>> Swapper::close_blobs() {
  CO_TRY(context_.check());
  auto store = objects({});
  co_return co_await store.close(context_.fence({}));
}

Task<Result<void>> Swapper::swap_one() {
  // Done by an earlier delivery: what is there by now has been written since.
  if (done_ > 0) co_return Result<void>{};
  const auto& key = *walk_.entity;
  for (int pass = 0; pass < kPasses; ++pass) {
    auto entity = CO_TRY(co_await context_.tables.get(walk_.source, key.partition_key, key.row_key));
    const bool nothing = entity.has_value() && swap_->change_of(*entity).places.empty();
    if (nothing || !entity.has_value()) {
      if (done_ == 0) skips_.add(nothing ? kNothing : kMissing, key.partition_key, key.row_key);
      co_return Result<void>{};
    }
    std::vector<Entity> one;
    one.push_back(std::move(*entity));
    page_skips_.clear();
    CO_TRY(co_await swap_page(std::move(one)));
    if (!page_clean_) continue;
    skips_.add(page_skips_);
    co_return Result<void>{};
  }
  co_return kept_changing();
}

Task<Result<void>> Swapper::swap_all() {
  CO_TRY(co_await pages_.begin(continuation_, done_ + skips_.count()));
  int passes = 0;
  while (true) {
    CO_TRY(context_.check());
    page_skips_.clear();
    auto page = CO_TRY(co_await pages_.read(continuation_));
    CO_TRY(co_await swap_page(std::move(page.entities)));
    if (!page_clean_) {
      // The cursor never passes unfinished work: what changed is read again, if it still matches.
      if (++passes >= kPasses) co_return kept_changing();
      continue;
    }
    passes = 0;
    skips_.add(page_skips_);
    continuation_ = std::move(page.continuation);
    if (continuation_.empty()) co_return Result<void>{};
    context_.save({{"continuation", continuation_}, {"loose", json::array()}, {"skips", skips_.to_json()}});
  }
}

Task<Result<void>> Swapper::swap_page(std::vector<Entity> entities) {
  page_clean_ = true;
  std::vector<Entity> chunk;
  json loose = json::array();
  std::size_t noted = 0;
  for (std::size_t i = 0; i <= entities.size(); ++i) {
    const bool last = i == entities.size();
    if (!chunk.empty() && (last || chunk.size() == kChunkEntities || noted > kNoteBytes)) {
      CO_TRY(co_await note(std::move(loose)));
      CO_TRY(co_await swap_chunk(std::move(chunk)));
      chunk.clear();
      loose = json::array();
      noted = 0;
    }
    if (last) break;
    auto& entity = entities[i];
    const auto change = swap_->change_of(entity);
    if (change.places.empty()) continue;
    for (const auto& link : change.links) {
      loose.push_back(json::array({entity.partition_key, entity.row_key, link.container, link.name}));
      noted += entity.partition_key.size() + entity.row_key.size() + link.container.size() + link.name.size();
    }
    chunk.push_back(std::move(entity));
  }
  co_return Result<void>{};
}

Task<Result<void>> Swapper::note(json loose) {
  fail_points::kOffloadNote.before.reach();
  auto task =
      context_.save_now({{"continuation", continuation_}, {"loose", std::move(loose)}, {"skips", skips_.to_json()}});
  auto saved = co_await std::move(task);
  fail_points::kOffloadNote.after.reach();
  co_return saved;
}

Task<Result<void>> Swapper::swap_chunk(std::vector<Entity> chunk) {
  CO_TRY(co_await side_by_side(context_.clock, chunk.size(), [&](std::size_t i) { return swap(std::move(chunk[i])); }));
  co_return co_await report(false);
}

Task<Result<void>> Swapper::swap(Entity entity) {
  std::vector<Place> places{{walk_.source, entity.partition_key}};
  auto admit_task = context_.admit(done_ + under_way_, 1, std::move(places));
  ++under_way_;
  const auto permit = CO_TRY(co_await std::move(admit_task));
  CO_TRY(context_.check());
  auto change = swap_->change_of(entity);
  auto properties = entity.properties;
  auto carried = co_await carry(entity, change, properties);
  --under_way_;
  if (!carried) co_return fail(std::move(carried.error()));
  if (!*carried) co_return Result<void>{};
  CO_TRY(context_.check());
  Mutation mutation;
  mutation.kind = MutationKind::kReplace;
  mutation.row_key = entity.row_key;
  mutation.if_version = entity.version;
  mutation.lenient = true;
  mutation.properties = std::move(properties);
  std::vector<Mutation> mutations{std::move(mutation)};
  fail_points::kOffloadLink.before.reach();
  auto outcomes = co_await context_.tables.mutate(walk_.source, entity.partition_key, std::move(mutations),
                                                  context_.fence(std::string(kDone)));
  fail_points::kOffloadLink.after.reach();
  if (outcomes.failed_with(ErrorCode::kEntityTooLarge) || outcomes.failed_with(ErrorCode::kPropertyValueTooLarge) ||
      outcomes.failed_with(ErrorCode::kTooManyProperties)) {
    page_skips_.add(kTooLarge, entity.partition_key, entity.row_key);
    co_return Result<void>{};
  }
  if (!outcomes) co_return fail(std::move(outcomes.error()));
  const auto end = outcomes->front().kind;
  if (end == OutcomeKind::kApplied) ++done_;
  if (end == OutcomeKind::kConflict) page_clean_ = false;
  // An upload whose entity has changed is nobody's; neither is the blob of a value that is back.
  const bool linked = end == OutcomeKind::kApplied && (swap_->outward() || !walk_.erase_blobs);
  if (linked || (!swap_->outward() && end != OutcomeKind::kApplied)) co_return Result<void>{};
  for (auto& link : change.links) {
    CO_TRY(co_await erase(std::move(link.container), std::move(link.name)));
  }
  co_return Result<void>{};
}

Task<Result<bool>> Swapper::carry(const Entity& entity, PropertyChange& change, std::vector<Property>& properties) {
  for (std::size_t i = 0; i < change.places.size(); ++i) {
    auto& property = properties[change.places[i]];
    auto& link = change.links[i];
    if (swap_->outward()) {
      CO_TRY(co_await upload(property, link));
      property.name += jobs::kLinkSuffix;
      property.value = jobs::link_text(link);
      continue;
    }
    auto bytes = CO_TRY(co_await download(link));
    if (!bytes) {
      page_skips_.add(kBlobGone, entity.partition_key, entity.row_key);
      co_return false;
    }
    property.name.resize(property.name.size() - jobs::kLinkSuffix.size());
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
  fail_points::kOffloadUpload.before.reach();
  auto put = co_await store.put(std::move(write), context_.fence({}));
  fail_points::kOffloadUpload.after.reach();
  if (!put) co_return fail(std::move(put.error()));
  auto piece = CO_TRY(co_await context_.objects.blobs->read(link.container, link.name, link.size, {}));
  // Only somebody who writes over the jobs' own blobs can have changed it.
  if (!piece || piece->blob.size != link.size || piece->blob.source_version != kOnlyVersion) {
    co_return fail(ErrorCode::kConditionNotMet, "The blob '" + link.name + "' was changed while it was written.");
  }
  link.etag = piece->blob.version.etag();
  co_return Result<void>{};
}

Task<Result<std::optional<std::string>>> Swapper::download(BlobLink link) {
  auto store = objects(std::move(link.container));
  auto object = CO_TRY(co_await store.read(std::move(link.name)));
  const bool good =
      object.has_value() && object->bytes.size() == link.size && hex_encode(sha256(object->bytes)) == link.sha256;
  if (!good) co_return std::optional<std::string>();
  co_return std::move(object->bytes);
}

Task<Result<void>> Swapper::erase(std::string container, std::string name) {
  auto store = objects(std::move(container));
  fail_points::kOffloadErase.before.reach();
  auto erased = co_await store.erase(std::move(name), kOnlyVersion, context_.fence({}));
  fail_points::kOffloadErase.after.reach();
  if (!erased) co_return fail(std::move(erased.error()));
  co_return Result<void>{};
}

Task<Result<void>> Swapper::tie_loose_ends() {
  const auto& saved = context_.checkpoint();
  if (!saved.is_object() || (!swap_->outward() && !walk_.erase_blobs)) co_return Result<void>{};
  const auto loose = saved.value("loose", json::array());
  if (!loose.is_array()) co_return Result<void>{};
  for (const auto& end : loose) {
    const bool four = end.is_array() && end.size() == 4 &&
                      std::all_of(end.begin(), end.end(), [](const json& item) { return item.is_string(); });
    if (!four) continue;
    CO_TRY(context_.check());
    auto container = end[2].get<std::string>();
    auto name = end[3].get<std::string>();
    auto entity =
        CO_TRY(co_await context_.tables.get(walk_.source, end[0].get<std::string>(), end[1].get<std::string>()));
    if (entity.has_value() && jobs::links_to(*entity, container, name)) continue;
    CO_TRY(co_await erase(std::move(container), std::move(name)));
  }
  co_return Result<void>{};
}

Task<Result<void>> Swapper::report(bool force) {
  JobProgress progress;
  progress.done = done_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = swap_->outward() ? "offloading" : "inlining";
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::OffloadSpec spec) {
  Walk walk{spec, spec.source};
  auto swap = swap_outward(std::move(spec), context.job_id());
  return run_as<Swapper>(context, std::move(walk), std::move(swap));
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::InlineSpec spec) {
  Walk walk{spec, spec.source, !spec.keep_blobs};
  auto swap = swap_inward(std::move(spec));
  return run_as<Swapper>(context, std::move(walk), std::move(swap));
}

}  // namespace tidemark::workers
