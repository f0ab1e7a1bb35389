#include "workers/runtime/pages.h"

#include "jobs/plan/plan.h"

namespace tidemark::workers {

using nlohmann::json;
using table_store::Entity;

namespace {
// The checkpoint of a job that still counts: {"counting": {"continuation": ..., "found": ...}}.
constexpr const char* kCounting = "counting";
}  // namespace

Task<Result<table_store::QueryPage>> Pages::read(std::string continuation) {
  while (true) {
    table_store::QueryRequest request;
    request.table = selected_.table;
    request.filter = selected_.filter;
    request.operation = selected_.operation;
    request.top = page_size_;
    request.continuation = continuation;
    auto page = CO_TRY(co_await context_.tables.query(std::move(request)));
    std::size_t key_bytes = 0;
    for (const auto& entity : page.entities) key_bytes += entity.partition_key.size() + entity.row_key.size() + 8;
    if (key_bytes <= kPageKeyBytes || page_size_ == 1) co_return page;
    page_size_ = std::max(1U, page_size_ / 2);
  }
}

table_store::QueryRequest Pages::counting(std::string continuation) const {
  table_store::QueryRequest request;
  request.table = selected_.table;
  request.filter = selected_.filter;
  request.operation = selected_.operation;
  request.continuation = std::move(continuation);
  request.count_only = true;
  return request;
}

Task<Result<void>> Pages::begin(std::string continuation, std::uint64_t before) {
  if (context_.limits().max_affected) {
    co_return co_await check_affected(before);
  }
  // Known from an earlier delivery: what is left of it would be less.
  if (const auto known = context_.known_total()) {
    count_->found = *known;
    count_->through = true;
    co_return Result<void>{};
  }
  count_->found = before;
  auto executor = co_await asio::this_coro::executor;
  auto task = count(context_.tables, counting(std::move(continuation)), count_);
  spawn(std::move(executor), std::move(task));
  co_return Result<void>{};
}

Task<void> Pages::count(table_store::TableClient& tables, table_store::QueryRequest request,
                        std::shared_ptr<Count> into) {
  do {
    auto asked = request;
    auto page = co_await tables.query(std::move(asked));
    // Without an answer there is no total; the job goes on.
    if (!page || into->stopped) co_return;
    into->found += page->count;
    request.continuation = std::move(page->continuation);
  } while (!request.continuation.empty());
  into->through = true;
}

Task<Result<void>> Pages::check_affected(std::uint64_t done) {
  const auto limit = *context_.limits().max_affected;
  const auto& saved = context_.checkpoint();
  const bool counted_before = saved.is_object() && saved.contains(kCounting);
  // A job that has begun is guarded step by step.
  if (done > 0 || (saved.is_object() && !counted_before)) co_return Result<void>{};
  // Counting a large table takes longer than a worker may live: it goes on where the last one died.
  const auto from = counted_before ? saved[kCounting] : json::object();
  count_->found = from.value("found", std::uint64_t{0});
  std::string continuation = from.value("continuation", std::string());
  do {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await context_.tables.query(counting(std::move(continuation))));
    count_->found += page.count;
    if (count_->found > limit) {
      co_return fail(too_many_selected(limit));
    }
    continuation = std::move(page.continuation);
    if (!continuation.empty()) context_.save({{kCounting, {{"continuation", continuation}, {"found", count_->found}}}});
  } while (!continuation.empty());
  count_->through = true;
  co_return co_await context_.report_total(count_->found);
}

Task<Result<void>> Pages::report(JobProgress progress, bool force) {
  // Entities that came since are not in the count.
  if (count_->through) progress.total = std::max(count_->found, progress.done + progress.skipped);
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

Error too_many_selected(std::uint64_t limit) {
  return make_error(ErrorCode::kMaxAffectedExceeded, "More entities are selected than maxAffected allows, which is " +
                                                         std::to_string(limit) + ". Nothing was changed.");
}

Cuts partition_groups(const std::vector<Entity>& entities) {
  Cuts groups;
  std::size_t begin = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < entities.size(); ++i) {
    const auto size = jobs::entity_bytes(entities[i]);
    const bool full = i - begin == kGroupEntities || bytes + size > kGroupBytes ||
                      entities[i].partition_key != entities[begin].partition_key;
    if (i > begin && full) {
      groups.emplace_back(begin, i);
      begin = i;
      bytes = 0;
    }
    bytes += size;
  }
  if (begin < entities.size()) groups.emplace_back(begin, entities.size());
  return groups;
}

std::vector<std::vector<Entity>> cut_up(std::vector<Entity> entities, const Cuts& cuts) {
  std::vector<std::vector<Entity>> out;
  for (const auto& [begin, end] : cuts) {
    const auto first = std::make_move_iterator(entities.begin());
    out.emplace_back(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
  }
  return out;
}

Task<Result<void>> require_table(JobContext& context, std::string table, std::string role) {
  auto exists = CO_TRY(co_await context.tables.table_exists(table));
  if (!exists) co_return fail(ErrorCode::kTableNotFound, "The " + role + " table '" + table + "' does not exist.");
  co_return Result<void>{};
}

Task<Result<void>> ensure_table(JobContext& context, std::string table) {
  auto created = co_await context.tables.create_table(std::move(table));
  if (!created && created.error().code != ErrorCode::kTableAlreadyExists) co_return fail(std::move(created.error()));
  co_return Result<void>{};
}

}  // namespace tidemark::workers
