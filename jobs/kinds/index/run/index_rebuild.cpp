#include "jobs/kinds/index/index.h"

#include <set>

#include "jobs/kinds/index/run/index_pieces.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/skip_log.h"
#include "workers/runtime/source.h"

namespace tidemark::workers {
namespace {

using table_store::Mutation;
using table_store::MutationKind;
using table_store::Version;
using table_store::WriteOutcome;

constexpr std::string_view kNoValue = "the property is missing";
// Eight pieces of a quarter MiB fit well into one transaction of 4 MiB.
constexpr std::size_t kPiecesPerTransaction = 8;
// The keys are held in memory. Beyond this a rebuild fails with kOutOfRangeInput (permanent).
constexpr std::size_t kMaxIndexedEntities = 2'000'000;
constexpr std::size_t kMaxIndexedBytes = 512UL << 20;
// Writes under way at once: each partition is its own transaction, and the store's group commit takes them together.
constexpr std::size_t kIndexLanes = 16;

struct ValueKeys {
  std::string value;
  std::vector<jobs::EntityKey> keys;
};

/// A change of the index, and how many entities it lists.
struct PieceChange {
  Mutation mutation;
  std::uint64_t entities = 0;
};

/// One run of a rebuild.
class Rebuild {
 public:
  Rebuild(JobContext& context, jobs::IndexSpec spec)
      : context_(context), spec_(std::move(spec)), source_(context, {spec_.source, "", ""}) {}
  Task<Result<JobOutcome>> run();

 private:
  using Take = std::function<Result<void>(const Entity&)>;
  Task<Result<void>> rebuild();
  Task<Result<Version>> begin_phase(std::string phase);
  /// The record's version if it was written.
  Task<Result<std::optional<Version>>> report(std::string phase, bool force);
  Task<Result<void>> scan(table_store::QueryRequest request, Take take);
  Result<void> take_original(const Entity& entity);
  Result<void> take_existing(const Entity& entity);
  Task<Result<void>> write_all();
  Task<Result<void>> write_partition(std::string partition_key);
  std::vector<PieceChange> changes_of(const std::string& partition_key);
  Task<Result<void>> apply(std::string partition_key, std::vector<PieceChange> changes);
  void skip_piece(const std::string& partition_key, const std::string& row_key, std::uint64_t entities);

  JobContext& context_;
  jobs::IndexSpec spec_;
  TableSource source_;
  Version version_ = 0;
  std::map<std::string, ValueKeys> wanted_;                         // by index partition key
  std::map<std::string, std::map<std::string, Version>> existing_;  // pieces there: partition -> row -> version
  std::map<std::string, std::set<std::string>> foreign_;            // rows of wanted partitions that are no pieces
  std::uint64_t indexed_ = 0;
  std::size_t bytes_ = 0;
  SkipLog skips_;
  JobOutcome outcome_;  // empty if an earlier delivery has written and reported all
};

Task<Result<JobOutcome>> Rebuild::run() {
  JobContext::Work work = [this](const table_store::OperationLedger&) { return rebuild(); };
  CO_TRY(co_await context_.complete(std::move(work)));
  co_return std::move(outcome_);
}

Task<Result<void>> Rebuild::rebuild() {
  CO_TRY(co_await source_.require());
  CO_TRY(co_await jobs::ensure_table(context_.tables, spec_.destination));
  version_ = CO_TRY(co_await begin_phase("collecting"));
  table_store::QueryRequest originals;
  originals.table = spec_.source;
  CO_TRY(co_await scan(std::move(originals), [this](const Entity& entity) { return take_original(entity); }));
  fail_points::kIndexCollectAfter.reach();
  table_store::QueryRequest pieces;
  pieces.table = spec_.destination;
  pieces.top = 100;  // pieces are large
  CO_TRY(co_await scan(std::move(pieces), [this](const Entity& entity) { return take_existing(entity); }));
  CO_TRY(co_await begin_phase("writing"));
  CO_TRY(co_await write_all());
  // The figures are in the record before the operation closes: nobody could count them again afterwards.
  CO_TRY(co_await begin_phase("written"));
  outcome_.done = indexed_;
  outcome_.skipped = skips_.count();
  outcome_.skips = skips_.text();
  outcome_.total = indexed_ + skips_.count();
  co_return Result<void>{};
}

Task<Result<Version>> Rebuild::begin_phase(std::string phase) {
  CO_TRY(context_.check());
  context_.save({{"phase", phase}});
  co_return CO_TRY(co_await report(std::move(phase), true)).value_or(0);
}

Task<Result<std::optional<Version>>> Rebuild::report(std::string phase, bool force) {
  jobs::RecordChange progress;
  progress.done = indexed_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = std::move(phase);
  return context_.report(std::move(progress), force);
}

Task<Result<void>> Rebuild::scan(table_store::QueryRequest request, Take take) {
  do {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await context_.tables.query(request));
    for (const auto& entity : page.entities) {
      CO_TRY(take(entity));
    }
    request.continuation = std::move(page.continuation);
    CO_TRY(co_await report("collecting", false));
  } while (!request.continuation.empty());
  co_return Result<void>{};
}

Result<void> Rebuild::take_original(const Entity& entity) {
  std::string text;
  if (spec_.property == "PartitionKey") {
    text = entity.partition_key;
  } else if (spec_.property == "RowKey") {
    text = entity.row_key;
  } else if (const auto* value = entity.find(spec_.property)) {
    text = jobs::value_text(*value);
  } else {
    skips_.add(kNoValue, entity.partition_key, entity.row_key);
    return {};
  }
  bytes_ += entity.partition_key.size() + entity.row_key.size() + sizeof(jobs::EntityKey);
  auto [entry, fresh] = wanted_.try_emplace(encode_index_key(text));
  if (fresh) {
    bytes_ += entry->first.size() + text.size() + sizeof(ValueKeys);
    entry->second.value = std::move(text);
  }
  entry->second.keys.push_back({entity.partition_key, entity.row_key});
  if (++indexed_ > kMaxIndexedEntities || bytes_ > kMaxIndexedBytes) {
    return fail(ErrorCode::kOutOfRangeInput,
                "The source table is too large for an index rebuild: at most 2,000,000 entities and 512 MiB of keys.");
  }
  return {};
}

Result<void> Rebuild::take_existing(const Entity& entity) {
  if (is_piece(entity)) {
    existing_[entity.partition_key][entity.row_key] = entity.version;
  } else if (wanted_.contains(entity.partition_key)) {
    foreign_[entity.partition_key].insert(entity.row_key);
  }
  return {};
}

Task<Result<void>> Rebuild::write_all() {
  std::vector<std::string> partitions;
  for (const auto& [partition_key, value] : wanted_) partitions.push_back(partition_key);
  for (const auto& [partition_key, rows] : existing_) {
    if (!wanted_.contains(partition_key)) partitions.push_back(partition_key);
  }
  const auto of_all = "/" + std::to_string(partitions.size());
  const auto write = [&](std::size_t number) -> Task<Result<void>> {
    CO_TRY(co_await write_partition(partitions[number]));
    CO_TRY(co_await report("writing " + std::to_string(number + 1) + of_all, false));
    co_return Result<void>{};
  };
  co_return co_await context_.side_by_side(partitions.size(), write, kIndexLanes);
}

void Rebuild::skip_piece(const std::string& partition_key, const std::string& row_key, std::uint64_t entities) {
  skips_.add(kInTheWay, partition_key, row_key, entities);
  indexed_ -= entities;
}

std::vector<PieceChange> Rebuild::changes_of(const std::string& partition_key) {
  auto stale = std::exchange(existing_[partition_key], {});
  std::vector<PieceChange> changes;
  auto value = wanted_.find(partition_key);
  if (value != wanted_.end()) {
    const auto& foreign = foreign_[partition_key];
    for (auto& piece : make_pieces(value->second.value, value->second.keys, version_)) {
      stale.erase(piece.row_key);
      if (foreign.contains(piece.row_key)) {
        skip_piece(partition_key, piece.row_key, piece.entities);
        continue;
      }
      auto copy = jobs::copy_of(std::move(piece.row_key), version_, std::move(piece.properties));
      changes.push_back({std::move(copy), piece.entities});
    }
    value->second.keys = {};  // written once: its memory is not needed any more
  }
  // What is no longer wanted goes last: a reader meanwhile finds a key twice rather than not at all.
  for (const auto& [row_key, version] : stale) {
    auto& change = changes.emplace_back();
    change.mutation = jobs::erasure_of(row_key, version);
    change.mutation.source_version = version_;
  }
  return changes;
}

Task<Result<void>> Rebuild::write_partition(std::string partition_key) {
  auto changes = changes_of(partition_key);
  for (auto rest = changes.begin(); rest != changes.end();) {
    const auto count = std::min<std::ptrdiff_t>(kPiecesPerTransaction, changes.end() - rest);
    std::vector<PieceChange> group(std::make_move_iterator(rest), std::make_move_iterator(rest + count));
    rest += count;
    const auto permit = CO_TRY(co_await context_.admit(0, group.size(), {{spec_.destination, partition_key}}));
    CO_TRY(co_await apply(partition_key, std::move(group)));
  }
  co_return Result<void>{};
}

Task<Result<void>> Rebuild::apply(std::string partition_key, std::vector<PieceChange> changes) {
  const auto& step =
      changes.back().mutation.kind == MutationKind::kErase ? fail_points::kIndexErase : fail_points::kIndexWrite;
  std::vector<std::string> rows;
  std::vector<Mutation> mutations;
  for (auto& change : changes) {
    rows.push_back(change.mutation.row_key);
    mutations.push_back(std::move(change.mutation));
  }
  const auto outcomes = CO_TRY(co_await step.around(context_.tables.mutate(
      spec_.destination, partition_key, std::move(mutations), context_.fence(std::string(kWritten)))));
  // A superseded piece was written by a rebuild that read the source later than this one: it is the better one.
  for (std::size_t i = 0; i < outcomes.size() && i < changes.size(); ++i) {
    const bool in_the_way = outcomes[i].kind == WriteOutcome::kConflict && changes[i].entities > 0;
    if (in_the_way) skip_piece(partition_key, rows[i], changes[i].entities);
  }
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::IndexSpec spec) {
  return run_as<Rebuild>(context, std::move(spec));
}

}  // namespace tidemark::workers
