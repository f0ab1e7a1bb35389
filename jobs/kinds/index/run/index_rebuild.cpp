#include "jobs/kinds/index/index.h"

#include "jobs/kinds/index/run/index_pieces.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/run_as.h"

namespace tidemark::workers {
namespace {

using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::Version;

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

/// One run of a rebuild. Lives in run()'s frame, and longer than its lanes.
class Rebuild {
 public:
  Rebuild(JobContext& context, jobs::IndexSpec spec) : context_(context), spec_(std::move(spec)) {}
  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> work();
  Task<Result<void>> prepare_tables();
  Task<Result<Version>> begin_phase(std::string phase);
  Task<Result<void>> collect();
  Result<void> take(const Entity& entity);
  Task<Result<void>> read_existing();
  Task<Result<void>> write_all();
  Task<void> lane();
  Task<Result<void>> write_partition(std::string partition_key);
  Task<Result<void>> apply(std::string partition_key, std::vector<Mutation> mutations);

  JobContext& context_;
  jobs::IndexSpec spec_;
  Version version_ = 0;
  std::map<std::string, ValueKeys> wanted_;                         // by index partition key
  std::map<std::string, std::map<std::string, Version>> existing_;  // pieces there: partition -> row -> version
  std::vector<std::string> partitions_;                             // to write, shared by the lanes
  std::size_t next_ = 0;
  std::size_t lanes_ = 0;
  std::optional<Error> failure_;
  Signal lane_ended_;
  std::uint64_t indexed_ = 0;
  std::uint64_t without_value_ = 0;
  std::size_t bytes_ = 0;
};

Task<Result<JobOutcome>> Rebuild::run() {
  auto ledger = CO_TRY(co_await context_.open());
  // Closed: all was written and reported; only the end was not recorded.
  if (ledger.closed) co_return JobOutcome{};
  CO_TRY(co_await work());
  CO_TRY(co_await context_.close());
  JobOutcome outcome;
  outcome.done = indexed_;
  outcome.skipped = without_value_;
  outcome.total = indexed_ + without_value_;
  co_return outcome;
}

Task<Result<void>> Rebuild::work() {
  CO_TRY(co_await prepare_tables());
  version_ = CO_TRY(co_await begin_phase("collecting"));
  CO_TRY(co_await collect());
  fail_points::kIndexCollectAfter.reach();
  CO_TRY(co_await read_existing());
  CO_TRY(co_await begin_phase("writing"));
  CO_TRY(co_await write_all());
  // The figures are in the record before the operation closes: nobody could count them again afterwards.
  CO_TRY(co_await begin_phase("written"));
  co_return Result<void>{};
}

Task<Result<void>> Rebuild::prepare_tables() {
  auto exists = CO_TRY(co_await context_.tables.table_exists(spec_.source));
  if (!exists) co_return fail(ErrorCode::kTableNotFound, "The source table '" + spec_.source + "' does not exist.");
  auto created = co_await context_.tables.create_table(spec_.destination);
  if (!created && created.error().code != ErrorCode::kTableAlreadyExists) co_return fail(std::move(created.error()));
  co_return Result<void>{};
}

Task<Result<Version>> Rebuild::begin_phase(std::string phase) {
  CO_TRY(context_.check());
  context_.save({{"phase", phase}});
  JobProgress progress;
  progress.done = indexed_;
  progress.skipped = without_value_;
  progress.phase = std::move(phase);
  auto reported = CO_TRY(co_await context_.report(std::move(progress), true));
  co_return reported.value_or(0);
}

Task<Result<void>> Rebuild::collect() {
  std::string continuation;
  do {
    CO_TRY(context_.check());
    table_store::QueryRequest request;
    request.table = spec_.source;
    request.continuation = std::move(continuation);
    auto page = CO_TRY(co_await context_.tables.query(std::move(request)));
    for (const auto& entity : page.entities) {
      CO_TRY(take(entity));
    }
    continuation = std::move(page.continuation);
    JobProgress progress;
    progress.done = indexed_;
    progress.skipped = without_value_;
    progress.phase = "collecting";
    CO_TRY(co_await context_.report(std::move(progress), false));
  } while (!continuation.empty());
  co_return Result<void>{};
}

Result<void> Rebuild::take(const Entity& entity) {
  std::string text;
  if (spec_.property == "PartitionKey") {
    text = entity.partition_key;
  } else if (spec_.property == "RowKey") {
    text = entity.row_key;
  } else if (const auto* value = entity.find(spec_.property)) {
    text = jobs::value_text(*value);
  } else {
    ++without_value_;
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

Task<Result<void>> Rebuild::read_existing() {
  std::string continuation;
  do {
    CO_TRY(context_.check());
    table_store::QueryRequest request;
    request.table = spec_.destination;
    request.continuation = std::move(continuation);
    request.top = 100;  // pieces are large
    auto page = CO_TRY(co_await context_.tables.query(std::move(request)));
    for (const auto& entity : page.entities) {
      if (is_piece(entity)) existing_[entity.partition_key][entity.row_key] = entity.version;
    }
    continuation = std::move(page.continuation);
  } while (!continuation.empty());
  co_return Result<void>{};
}

Task<Result<void>> Rebuild::write_all() {
  for (const auto& [partition_key, value] : wanted_) partitions_.push_back(partition_key);
  for (const auto& [partition_key, rows] : existing_) {
    if (!wanted_.contains(partition_key)) partitions_.push_back(partition_key);
  }
  auto strand = co_await asio::this_coro::executor;
  lanes_ = std::min(kIndexLanes, partitions_.size());
  for (auto i = lanes_; i > 0; --i) {
    auto task = lane();
    spawn(strand, std::move(task));
  }
  while (lanes_ > 0) {
    co_await lane_ended_.wait(context_.clock, std::chrono::hours(1));
  }
  if (failure_) co_return fail(std::move(*failure_));
  co_return Result<void>{};
}

Task<void> Rebuild::lane() {
  while (!failure_ && next_ < partitions_.size()) {
    auto written = co_await write_partition(partitions_[next_++]);
    if (!written && !failure_) failure_ = std::move(written.error());
    if (!written) break;
    JobProgress progress;
    progress.done = indexed_;
    progress.skipped = without_value_;
    progress.phase = "writing " + std::to_string(next_) + "/" + std::to_string(partitions_.size());
    auto reported = co_await context_.report(std::move(progress), false);
    if (!reported && !failure_) failure_ = std::move(reported.error());
  }
  --lanes_;
  lane_ended_.notify_all();
}

Task<Result<void>> Rebuild::write_partition(std::string partition_key) {
  auto stale = std::exchange(existing_[partition_key], {});
  std::vector<Mutation> mutations;
  auto value = wanted_.find(partition_key);
  if (value != wanted_.end()) {
    for (auto& piece : make_pieces(value->second.value, value->second.keys, version_)) {
      stale.erase(piece.row_key);
      Mutation mutation;
      mutation.kind = MutationKind::kInsertOrReplace;
      mutation.row_key = std::move(piece.row_key);
      mutation.properties = std::move(piece.properties);
      mutation.source_version = version_;
      mutations.push_back(std::move(mutation));
    }
    value->second.keys = {};  // written once: its memory is not needed any more
  }
  // What is no longer wanted goes last: a reader meanwhile finds a key twice rather than not at all.
  for (const auto& [row_key, version] : stale) {
    Mutation mutation;
    mutation.kind = MutationKind::kErase;
    mutation.row_key = row_key;
    mutation.if_version = version;
    mutation.source_version = version_;
    mutation.lenient = true;
    mutations.push_back(std::move(mutation));
  }
  for (std::size_t begin = 0; begin < mutations.size(); begin += kPiecesPerTransaction) {
    const auto count = std::min(kPiecesPerTransaction, mutations.size() - begin);
    std::vector<Place> places{{spec_.destination, partition_key}};
    const auto permit = CO_TRY(co_await context_.admit(0, count, std::move(places)));
    const auto first = mutations.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    std::vector<Mutation> group(std::make_move_iterator(first), std::make_move_iterator(last));
    CO_TRY(co_await apply(partition_key, std::move(group)));
  }
  co_return Result<void>{};
}

Task<Result<void>> Rebuild::apply(std::string partition_key, std::vector<Mutation> mutations) {
  const bool erases = mutations.back().kind == MutationKind::kErase;
  (erases ? fail_points::kIndexErase : fail_points::kIndexWrite).before.reach();
  auto outcomes = co_await context_.tables.mutate(spec_.destination, std::move(partition_key), std::move(mutations),
                                                  context_.fence("written"));
  (erases ? fail_points::kIndexErase : fail_points::kIndexWrite).after.reach();
  // A superseded piece was written by a rebuild that read the source later than this one: it is the better one.
  if (!outcomes) co_return fail(std::move(outcomes.error()));
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::IndexSpec spec) {
  return run_as<Rebuild>(context, std::move(spec));
}

}  // namespace tidemark::workers
