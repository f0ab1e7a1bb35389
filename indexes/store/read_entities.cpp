#include "indexes/store/read_entities.h"

#include "jobs/store/rows.h"

namespace tidemark::indexes {
namespace {

constexpr std::size_t kSearchesInACall = 1000;

}  // namespace

Task<Result<std::vector<std::optional<table_store::Entity>>>> read_entities(table_store::TableClient& tables,
                                                                            std::string table,
                                                                            std::vector<jobs::EntityKey> keys,
                                                                            table_store::Selection selection) {
  std::vector<std::optional<table_store::Entity>> out;
  while (out.size() < keys.size()) {
    std::vector<table_store::RowSearch> searches;
    for (std::size_t i = out.size(); i < keys.size() && searches.size() < kSearchesInACall; ++i) {
      searches.push_back({keys[i].partition_key, keys[i].row_key, keys[i].row_key + jobs::kJustBehind});
    }
    auto found = co_await tables.find_rows(table, std::move(searches), selection);
    if (found.failed_with(ErrorCode::kTableNotFound)) {
      out.resize(keys.size());
      break;
    }
    auto rows = CO_TRY(std::move(found));
    if (rows.rows.empty()) co_return fail(error_for_log(ErrorCode::kInternalError, "a search without an answer"));
    for (auto& row : rows.rows) out.push_back(std::move(row));
  }
  co_return out;
}

}  // namespace tidemark::indexes
