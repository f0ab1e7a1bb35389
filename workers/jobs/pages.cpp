#include "workers/jobs/pages.h"

#include "jobs/plan.h"

namespace tidemark::workers {

using nlohmann::json;
using table_store::Entity;

Task<Result<table_store::QueryPage>> Pages::read(std::string continuation) {
  while (true) {
    table_store::QueryRequest request;
    request.table = selected_.table;
    request.filter = selected_.filter;
    request.operation = selected_.operation;
    request.top = page_size_;
    request.continuation = continuation;
    auto task = context_.tables.query(std::move(request));
    auto page = co_await std::move(task);
    if (!page) co_return page;
    std::size_t key_bytes = 0;
    for (const auto& entity : page->entities) key_bytes += entity.partition_key.size() + entity.row_key.size() + 8;
    if (key_bytes <= kPageKeyBytes || page_size_ == 1) co_return page;
    page_size_ = std::max(1U, page_size_ / 2);
  }
}

Task<Result<void>> Pages::check_affected() {
  const auto limit = context_.limits().max_affected;
  // A job that has begun is guarded step by step.
  if (!limit || context_.checkpoint().is_object()) co_return Result<void>{};
  std::uint64_t found = 0;
  std::string continuation;
  do {
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    table_store::QueryRequest request;
    request.table = selected_.table;
    request.filter = selected_.filter;
    request.operation = selected_.operation;
    request.continuation = std::move(continuation);
    auto task = context_.tables.query(std::move(request));
    auto page = co_await std::move(task);
    if (!page) co_return fail(std::move(page.error()));
    found += page->entities.size();
    if (found > *limit) {
      co_return fail(too_many_selected(*limit));
    }
    continuation = std::move(page->continuation);
  } while (!continuation.empty());
  context_.set_total(found);
  co_return Result<void>{};
}

Error too_many_selected(std::uint64_t limit) {
  return make_error(ErrorCode::kMaxAffectedExceeded, "More entities are selected than maxAffected allows, which is " +
                                                         std::to_string(limit) + ". Nothing was changed.");
}

std::vector<std::pair<std::size_t, std::size_t>> partition_groups(const std::vector<Entity>& entities) {
  std::vector<std::pair<std::size_t, std::size_t>> groups;
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

Task<Result<void>> require_table(JobContext& context, std::string table, std::string role) {
  auto task = context.tables.table_exists(table);
  auto exists = co_await std::move(task);
  if (!exists) co_return fail(std::move(exists.error()));
  if (!*exists) co_return fail(ErrorCode::kTableNotFound, "The " + role + " table '" + table + "' does not exist.");
  co_return Result<void>{};
}

Task<Result<void>> ensure_table(JobContext& context, std::string table) {
  auto task = context.tables.create_table(std::move(table));
  auto created = co_await std::move(task);
  if (!created && created.error().code != ErrorCode::kTableAlreadyExists) co_return fail(std::move(created.error()));
  co_return Result<void>{};
}

}  // namespace tidemark::workers
