#include "jobs/kinds/discard/discard.h"

#include "common/base/numbers.h"
#include "jobs/kinds/discard/blob_pointer.h"
#include "jobs/objects/blob_objects.h"
#include "workers/runtime/bulk_job.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using blob_store::Stamp;
using nlohmann::json;
using table_store::WriteOutcome;

constexpr std::string_view kNoPointer = "the property names no blob in the container";
constexpr std::size_t kDiscardedTogether = 50;

/// An entity, and the blob that it points to.
struct Pair {
  Entity entity;
  std::string blob;
  std::optional<Stamp> version;  // of the blob; nothing if it does not exist
};

/// One run of a discarding job.
class Discarder final : public BulkJob {
 public:
  Discarder(JobContext& context, jobs::DiscardSpec spec)
      : BulkJob(context, source_, {.entity = spec.entity, .doing = "discarding", .changed = "discarded"}),
        spec_(std::move(spec)),
        source_(context, {spec_.source, spec_.filter.value_or(""), ""}) {}

 private:
  Task<Result<bool>> open() override { co_return co_await objects().open(context_.fence({})); }
  /// With a misspelt container, every entity would be erased as if it had no blob, and its blob would stay.
  Task<Result<void>> prepare() override { co_return co_await objects().require(); }
  Task<Result<void>> resume(json saved) override;
  Task<Result<void>> work_on(std::vector<Entity> entities) override;
  Task<Result<void>> close() override { co_return co_await objects().close(context_.fence({})); }

  Task<Result<void>> discard_chunk(std::vector<Pair> pairs);
  Task<Result<void>> discard(Pair pair);
  /// Returns nothing if there is no such blob.
  Task<Result<std::optional<Stamp>>> version_of(std::string blob);
  Task<Result<void>> erase_blob(std::string blob, Stamp version);
  [[nodiscard]] jobs::BlobObjects objects() const { return {*context_.objects.blobs, spec_.container}; }

  jobs::DiscardSpec spec_;
  TableSource source_;
};

Task<Result<void>> Discarder::work_on(std::vector<Entity> entities) {
  std::vector<Pair> chunk;
  for (auto& entity : entities) {
    auto blob = jobs::blob_pointed_at(entity, spec_.property, spec_.container);
    if (!blob) {
      skip(kNoPointer, entity);
      continue;
    }
    auto version = CO_TRY(co_await version_of(*blob));
    chunk.push_back({std::move(entity), std::move(*blob), version});
    if (chunk.size() == kDiscardedTogether) CO_TRY(co_await discard_chunk(std::exchange(chunk, {})));
  }
  if (chunk.empty()) co_return Result<void>{};
  co_return co_await discard_chunk(std::move(chunk));
}

Task<Result<void>> Discarder::discard_chunk(std::vector<Pair> pairs) {
  json loose = json::array();
  for (const auto& pair : pairs) {
    if (!pair.version) continue;
    loose.push_back(
        json::array({pair.entity.partition_key, pair.entity.row_key, pair.blob, std::to_string(pair.version->ticks)}));
  }
  CO_TRY(co_await note("loose", std::move(loose), fail_points::kDiscardNote));
  std::vector<ChangeSet> changes;
  for (auto& pair : pairs) {
    changes.push_back({1, {{spec_.source, pair.entity.partition_key}}, [this, pair = std::move(pair)]() mutable {
                         return discard(std::move(pair));
                       }});
  }
  co_return co_await make(std::move(changes));
}

Task<Result<void>> Discarder::discard(Pair pair) {
  auto erasure = jobs::erasure_of(pair.entity.row_key, pair.entity.version);
  const auto outcomes = CO_TRY(co_await fail_points::kDiscardEntity.around(context_.tables.mutate(
      spec_.source, pair.entity.partition_key, {std::move(erasure)}, context_.fence(std::string(kDone)))));
  const auto end = outcomes.front().kind;
  if (end == WriteOutcome::kConflict) look_again();
  if (end != WriteOutcome::kApplied) co_return Result<void>{};
  did(1);
  if (!pair.version) co_return Result<void>{};
  co_return co_await erase_blob(std::move(pair.blob), *pair.version);
}

Task<Result<std::optional<Stamp>>> Discarder::version_of(std::string blob) {
  // Reads beyond the end, so that no bytes are sent.
  auto piece = co_await context_.objects.blobs->read(spec_.container, std::move(blob), UINT64_MAX, {});
  // The container was dropped after the job began. If that was a mistake, the entities are still useful.
  if (piece.failed_with(ErrorCode::kContainerNotFound)) CO_TRY(co_await objects().require());
  const auto found = CO_TRY(std::move(piece));
  co_return found ? std::optional(found->version) : std::nullopt;
}

Task<Result<void>> Discarder::erase_blob(std::string blob, Stamp version) {
  auto erased = co_await fail_points::kDiscardBlob.around(
      context_.objects.blobs->discard(spec_.container, std::move(blob), version, context_.fence({})));
  if (erased.failed_with(ErrorCode::kContainerNotFound)) co_return Result<void>{};
  CO_TRY(std::move(erased));
  co_return Result<void>{};
}

Task<Result<void>> Discarder::resume(json saved) {
  if (!saved.is_object()) co_return Result<void>{};
  const auto loose = saved.value("loose", json::array());
  if (!loose.is_array()) co_return Result<void>{};
  for (const auto& end : loose) {
    const bool four = end.is_array() && end.size() == 4 &&
                      std::all_of(end.begin(), end.end(), [](const json& item) { return item.is_string(); });
    const auto ticks = four ? parse_number<std::uint64_t>(end[3].get<std::string>()) : std::nullopt;
    if (!ticks) continue;
    CO_TRY(context_.check());
    auto blob = end[2].get<std::string>();
    // If the entity is still there, it was not discarded, or it was created anew: the blob may be in use.
    if (CO_TRY(co_await context_.tables.get(spec_.source, end[0].get<std::string>(), end[1].get<std::string>())))
      continue;
    CO_TRY(co_await erase_blob(std::move(blob), Stamp{*ticks}));
  }
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::DiscardSpec spec) {
  if (context.objects.blobs == nullptr) co_return fail(ErrorCode::kJobInvalid, "This worker reaches no blob store.");
  co_return co_await run_as<Discarder>(context, std::move(spec));
}

}  // namespace tidemark::workers
