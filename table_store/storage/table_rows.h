// Reads the rows of tables, from a snapshot or within a transaction.
#pragma once
#include "table_store/storage/table_directory.h"
#include "table_store/storage/table_records.h"

namespace tidemark::table_store {

/// kTableNotFound if there is none.
Result<std::uint64_t> find_generation(const kv::Reader& reader, std::string_view account, std::string_view table);
/// Returns the row with the name and the ACL; kTableNotFound likewise.
Result<TableRecord> read_table(const kv::Reader& reader, std::string_view account, std::string_view table);
/// Returns the counter under this key, which begins at zero.
Result<std::uint64_t> read_counter(const kv::Reader& reader, std::string_view key);

}  // namespace tidemark::table_store
