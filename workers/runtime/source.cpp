#include "workers/runtime/source.h"

#include "jobs/plan/plan.h"

namespace tidemark::workers {

using nlohmann::json;
using table_store::QueryRequest;

namespace {

// The checkpoint of a job that is still counting: {"counting": {"continuation": ..., "found": ...}}.
constexpr const char* kCounting = "counting";

std::unexpected<Error> too_many_selected(std::uint64_t limit) {
  return fail(ErrorCode::kMaxAffectedExceeded, "More entities are selected than maxAffected allows, which is " +
                                                   std::to_string(limit) + ". Nothing was changed.");
}

}  // namespace

Task<Result<void>> Source::begin(std::string, std::uint64_t) {
  const auto limit = context_.spec().max_affected;
  // A job that has begun is guarded step by step.
  if (!limit || context_.checkpoint().is_object()) co_return Result<void>{};
  std::uint64_t found = 0;
  std::string continuation;
  do {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await read(std::move(continuation)));
    found += page.entities.size();
    if (found > *limit) co_return too_many_selected(*limit);
    continuation = std::move(page.continuation);
  } while (!continuation.empty());
  co_return Result<void>{};
}

std::unexpected<Error> TableSource::missing_table() const {
  const auto where = selected_.account.empty() ? std::string() : " in account " + selected_.account;
  return fail(ErrorCode::kTableNotFound, "The source table '" + selected_.table + "' does not exist" + where + ".");
}

Task<Result<void>> TableSource::require() {
  if (!CO_TRY(co_await tables_->table_exists(selected_.table))) co_return missing_table();
  co_return Result<void>{};
}

QueryRequest TableSource::request(std::string continuation) const {
  QueryRequest request;
  request.table = selected_.table;
  request.filter = selected_.filter;
  request.operation = selected_.operation;
  request.by_lists = true;
  request.continuation = std::move(continuation);
  return request;
}

Task<Result<Page>> TableSource::read(std::string continuation) {
  while (true) {
    auto wanted = request(continuation);
    wanted.top = page_size_;
    auto found = CO_TRY(co_await tables_->query(std::move(wanted)));
    std::size_t key_bytes = 0;
    for (const auto& entity : found.entities) {
      key_bytes += entity.partition_key.size() + entity.row_key.size() + kBesideNotedKey;
      if (selected_.noted_bytes) key_bytes += selected_.noted_bytes(entity);
    }
    if (key_bytes <= kPageKeyBytes || page_size_ == 1) {
      co_return Page{std::move(found.entities), std::move(found.continuation), {}};
    }
    page_size_ = std::max(1U, page_size_ / 2);
  }
}

Task<Result<std::optional<Entity>>> TableSource::get(jobs::EntityKey key) {
  auto entity = co_await tables_->get(selected_.table, std::move(key.partition_key), std::move(key.row_key));
  if (entity.failed_with(ErrorCode::kTableNotFound)) co_return missing_table();
  if (!entity) co_return entity;
  const bool selected =
      selected_.operation.empty() || !entity->has_value() || (*entity)->operation == selected_.operation;
  co_return selected ? std::move(*entity) : std::nullopt;
}

Task<Result<void>> TableSource::begin(std::string continuation, std::uint64_t before) {
  if (context_.spec().max_affected) co_return co_await check_affected(before);
  // The total is known from an earlier delivery; counting the rest now would give less.
  if (const auto known = context_.record().total) {
    count_->found = *known;
    count_->through = true;
    co_return Result<void>{};
  }
  if (context_.refused()) co_return Result<void>{};
  count_->found = before;
  spawn(co_await asio::this_coro::executor, count(tables_, request(std::move(continuation)), count_));
  co_return Result<void>{};
}

Task<void> TableSource::count(std::shared_ptr<table_store::TableClient> tables, QueryRequest request,
                              std::shared_ptr<Count> into) {
  request.count_only = true;
  do {
    auto page = co_await tables->query(request);
    // Without an answer there is no total; the job goes on.
    if (!page || into->stopped) co_return;
    into->found += page->count;
    request.continuation = std::move(page->continuation);
  } while (!request.continuation.empty());
  into->through = true;
}

Task<Result<void>> TableSource::check_affected(std::uint64_t done) {
  const auto limit = *context_.spec().max_affected;
  const auto& saved = context_.checkpoint();
  const bool counted_before = saved.is_object() && saved.contains(kCounting);
  // A job that has begun is guarded step by step.
  if (done > 0 || (saved.is_object() && !counted_before)) co_return Result<void>{};
  // Counting a large table takes longer than a worker may live, so counting goes on where the last worker died.
  const auto from = counted_before ? saved[kCounting] : json::object();
  count_->found = from.value("found", std::uint64_t{0});
  auto counting = request(from.value("continuation", std::string()));
  counting.count_only = true;
  do {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await tables_->query(counting));
    count_->found += page.count;
    if (count_->found > limit) co_return too_many_selected(limit);
    counting.continuation = std::move(page.continuation);
    if (counting.continuation.empty()) break;
    context_.save({{kCounting, {{"continuation", counting.continuation}, {"found", count_->found}}}});
  } while (true);
  count_->through = true;
  jobs::RecordChange counted;
  counted.total = count_->found;
  CO_TRY(co_await context_.jobs.change(context_.job_id(), context_.epoch(), std::move(counted)));
  co_return Result<void>{};
}

std::optional<std::uint64_t> TableSource::total() const {
  return count_->through ? std::optional(count_->found) : std::nullopt;
}

std::vector<std::vector<Entity>> partition_groups(std::vector<Entity> entities) {
  std::vector<std::vector<Entity>> groups;
  std::size_t bytes = 0;
  for (auto& entity : entities) {
    const auto size = jobs::entity_bytes(entity);
    const bool fits = !groups.empty() && groups.back().size() < kGroupEntities && bytes + size <= kGroupBytes &&
                      groups.back().front().partition_key == entity.partition_key;
    if (!fits) {
      groups.emplace_back();
      bytes = 0;
    }
    bytes += size;
    groups.back().push_back(std::move(entity));
  }
  return groups;
}

}  // namespace tidemark::workers
