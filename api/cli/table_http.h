// The table service as any client uses it: signed HTTP, JSON entities. For import and query from the command line.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

#include "api/cli/http_client.h"
#include "api/cli/options.h"

namespace tidemark::cli {

/// An entity as it is sent: its keys, and its JSON.
struct WrittenEntity {
  std::string partition_key, row_key, text;
};

class TableHttp {
 public:
  static Result<TableHttp> create(const GlobalOptions& options);
  static Result<void> check_name(const std::string& table);
  /// Returns whether it was made; false: it existed already.
  Result<bool> ensure_table(const std::string& table);
  /// Inserts or replaces 1..100 entities of one partition, in one transaction.
  Result<void> upsert(const std::string& table, const std::vector<WrittenEntity>& entities);
  /// Selects the entities and the properties to return. With `types`, types that JSON cannot express are given beside
  /// the value ("Size@odata.type":"Edm.Int64"), so that upsert() creates the same entity again.
  struct Query {
    std::string table, filter = {}, select = {};
    bool types = false;
  };
  /// Reads all pages; `each` returns false to stop. The table "Tables" has the names of all: {"TableName":...}.
  Result<void> query(const Query& query, const std::function<bool(const nlohmann::json&)>& each);

 private:
  TableHttp(HttpClient http, std::string account, std::string key)
      : http_(std::move(http)), account_(std::move(account)), key_(std::move(key)) {}
  Result<HttpReply> signed_call(const std::string& method, const std::string& path, const std::string& query,
                                HttpHeaders headers, std::string_view body);
  HttpClient http_;
  std::string account_, key_;
};

}  // namespace tidemark::cli
