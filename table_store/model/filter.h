// $filter: parsed once, evaluated per entity. Grammar and coercions follow "Querying tables and entities".
// Missing property: every comparison is false. Numbers compare by value across Int32, Int64, Double; other types must
// agree. PartitionKey and RowKey compare ordinally (UTF-16 code units).
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

struct FilterNode;

class Filter {
 public:
  /// Empty or blank text matches everything. kInvalidInput (with the position), kNotImplemented (functions,
  /// arithmetic). Depth and length are bounded.
  static Result<Filter> parse(std::string_view text);
  [[nodiscard]] bool matches(const Entity& entity) const;
  [[nodiscard]] bool matches_all() const { return root_ == nullptr; }
  [[nodiscard]] const FilterNode* root() const { return root_.get(); }

 private:
  std::shared_ptr<const FilterNode> root_;
};

}  // namespace tidemark::table_store
