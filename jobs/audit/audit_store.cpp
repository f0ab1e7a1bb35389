#include "jobs/audit/audit_store.h"

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "jobs/store/job_record.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Mutation;
using table_store::MutationKind;

constexpr std::size_t kMaxTextBytes = 2000;
constexpr std::size_t kErasuresAtOnce = 100;

std::string audit_table() { return std::string(kAuditTable); }

/// Texts from clients may contain any bytes.
void tidy(AuditEntry& entry) {
  for (auto* text : {&entry.actor, &entry.address, &entry.operation, &entry.target, &entry.detail, &entry.reason}) {
    if (!is_valid_utf8(*text)) *text = percent_encode(*text);
    *text = beginning_of(*text, kMaxTextBytes);
  }
}

Mutation mutation_of(const AuditEntry& entry, MutationKind kind) {
  std::vector<table_store::Property> properties;
  add_properties(properties, entry, kAuditFields);
  auto mutation = write_of(entry.id, {}, std::move(properties));
  mutation.kind = kind;
  return mutation;
}

std::string filter_text(const AuditFilter& filter) {
  std::string out;
  const auto add = [&out](const std::string& condition) { out += (out.empty() ? "" : " and ") + condition; };
  if (filter.since) {
    add("PartitionKey le '" + audit_partition(*filter.since) + "'");
    add("At ge datetime'" + to_iso8601(*filter.since) + "'");
  }
  if (!filter.actor.empty()) add("Actor eq " + literal(filter.actor));
  if (!filter.operation.empty()) add("Operation eq " + literal(filter.operation));
  if (!filter.target.empty()) add("Target eq " + literal(filter.target));
  return out;
}

Task<Result<table_store::QueryPage>> query(table_store::TableClient& tables, table_store::QueryRequest request) {
  auto page = co_await tables.query(std::move(request));
  if (page.failed_with(ErrorCode::kTableNotFound)) co_return table_store::QueryPage{};  // there are no entries yet
  co_return page;
}

/// The entities of a page are sorted, so those of a partition are together.
Task<Result<std::uint64_t>> erase_all(table_store::TableClient& tables, std::vector<table_store::Entity> entities) {
  for (std::size_t done = 0; done < entities.size();) {
    const auto partition = entities[done].partition_key;
    std::vector<Mutation> erasures;
    for (; done < entities.size() && entities[done].partition_key == partition; ++done) {
      if (erasures.size() == kErasuresAtOnce) break;
      erasures.push_back(erasure_of(entities[done].row_key, {}));
    }
    CO_TRY(co_await tables.mutate(audit_table(), partition, std::move(erasures), std::nullopt));
  }
  co_return entities.size();
}

}  // namespace

std::string audit_partition(Time at) {
  constexpr std::int64_t kLastDay = 99'999;  // in the year 2243
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const auto number = std::to_string(std::clamp<std::int64_t>(kLastDay - day.time_since_epoch().count(), 0, kLastDay));
  return std::string(5 - number.size(), '0') + number + "-" + to_iso8601(Time(day)).substr(0, 10);
}

Task<Result<AuditEntry>> AuditStore::add(AuditEntry entry) {
  entry.at = clock_.now();
  entry.id = new_job_id(entry.at, random_);
  tidy(entry);
  auto row = mutation_of(entry, MutationKind::kInsert);
  CO_TRY(co_await change_row(tables_, audit_table(), audit_partition(entry.at), std::move(row), std::nullopt));
  co_return entry;
}

Task<Result<void>> AuditStore::complete(AuditEntry entry) {
  tidy(entry);
  auto row = mutation_of(entry, MutationKind::kInsertOrReplace);
  CO_TRY(co_await change_row(tables_, audit_table(), audit_partition(entry.at), std::move(row), std::nullopt));
  co_return Result<void>{};
}

Task<Result<AuditPage>> AuditStore::list(AuditFilter filter, std::uint32_t limit, std::string continuation) {
  table_store::QueryRequest request;
  request.table = audit_table();
  request.filter = filter_text(filter);
  request.top = std::clamp<std::uint32_t>(limit, 1, 1000);
  request.patience = kSearchPatience;
  request.continuation = std::move(continuation);
  auto page = CO_TRY(co_await query(tables_, std::move(request)));
  AuditPage out;
  out.continuation = std::move(page.continuation);
  out.searched = page.searched;
  for (const auto& entity : page.entities) {
    auto& entry = out.entries.emplace_back();
    read_properties(entity, entry, kAuditFields);
    entry.id = entity.row_key;
  }
  co_return out;
}

Task<Result<std::uint64_t>> collect_audit(table_store::TableClient& tables, Time limit) {
  table_store::QueryRequest request;
  request.table = audit_table();
  request.filter = "PartitionKey ge '" + audit_partition(limit).substr(0, 5) + "' and Timestamp lt datetime'" +
                   to_iso8601(limit) + "'";
  std::uint64_t removed = 0;
  do {
    auto page = CO_TRY(co_await query(tables, request));
    removed += CO_TRY(co_await erase_all(tables, std::move(page.entities)));
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return removed;
}

}  // namespace tidemark::jobs
