// Parses table URLs. Only the syntax is checked here; the service checks the limits. Thread safe, no state. Errors:
// kInvalidInput for a predicate that cannot be read, kInvalidResourceName for a table name with foreign characters,
// kInvalidUri for anything else.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::table_store {

enum class UrlKind {
  kAccount,   // "" (service properties, statistics)
  kTables,    // Tables
  kTable,     // Tables('t')
  kEntities,  // t or t()
  kEntity,    // t(PartitionKey='p',RowKey='r')
  kBatch,     // $batch
  kOperation  // $operation: the ledger of a fenced operation (fencing.h)
};

struct TableUrl {
  UrlKind kind = UrlKind::kAccount;
  std::string table;
  std::string partition_key, row_key;  // kEntity, decoded
};

/// `raw` is the percent-encoded path after the account, without the leading '/'.
Result<TableUrl> parse_table_url(std::string_view raw);

/// The path of an absolute or relative URI in a part of a batch, without scheme and host, and its query.
struct SplitUri {
  std::string_view path;   // without the leading '/'
  std::string_view query;  // without '?'
};
SplitUri split_uri(std::string_view uri);

/// Appends "t(PartitionKey='p',RowKey='r')" with quotes doubled and then percent-encoded.
void append_entity_path(std::string& out, std::string_view table, std::string_view partition_key,
                        std::string_view row_key);

}  // namespace tidemark::table_store
