// What a query asks for and what it answers, page by page. Plain values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// Where a scan goes on: the first entity not yet returned.
struct Continuation {
  std::string partition_key, row_key;
};

struct QueryRequest {
  std::string table;
  std::string filter;        // OData text; empty for all
  std::uint32_t top = 1000;  // 1..1000
  std::string continuation;  // from the page before; empty at first. May be kept in a checkpoint.
  std::string operation;     // if given: only copies that this operation wrote
  bool count_only = false;   // the page has `count` and no entities
};

struct QueryPage {
  std::uint64_t count = 0;       // of the entities that match
  std::vector<Entity> entities;  // in (PartitionKey, RowKey) order
  std::string continuation;      // empty at the end; a page may be empty and still have one
};

/// Names of tables, in order whatever their case.
struct TablePage {
  std::vector<std::string> names;
  std::optional<std::string> next;  // the first name of the next page
};

}  // namespace tidemark::table_store
