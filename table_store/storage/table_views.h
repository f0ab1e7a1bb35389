// The views of the shards that a request reads: a snapshot of each shard that it needs. A partition is seen at one
// moment; a table with rows on several shards, at a moment of each shard. Private to storage/. One request.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table_store/storage/table_shards.h"

namespace tidemark::table_store {

class TableViews {
 public:
  explicit TableViews(const TableShards& shards);
  TableViews(const TableViews&) = delete;
  TableViews& operator=(const TableViews&) = delete;

  [[nodiscard]] std::size_t size() const { return taken_.size(); }
  [[nodiscard]] const kv::Reader& catalogue() const { return of(0); }
  [[nodiscard]] const kv::Reader& of(std::size_t shard) const;
  /// The table's entities, on all shards, in key order; kTableNotFound. Must not outlive the views.
  struct Entities {
    std::uint64_t generation = 0;
    std::shared_ptr<const kv::Reader> rows;
  };
  [[nodiscard]] Result<Entities> entities(std::string_view account, std::string_view table) const;
  /// Checks that the table still exists: rows read from several shards while it was dropped may be incomplete.
  [[nodiscard]] Result<void> check_still_there(std::string_view account, std::string_view table,
                                               std::uint64_t generation) const;
  /// Returns the version at which a shard is read.
  [[nodiscard]] Result<Version> as_of(std::size_t shard) const;

 private:
  const TableShards& shards_;
  mutable std::vector<std::shared_ptr<const kv::Reader>> taken_;  // null: not needed so far
  mutable std::vector<std::optional<Version>> versions_;          // likewise
};

}  // namespace tidemark::table_store
