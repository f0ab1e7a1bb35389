// $filter: parsed once, evaluated for each entity. Grammar and coercions follow "Querying tables and entities". If a
// property is missing, every comparison is false. Numbers compare by value across Int32, Int64, Double; other types
// must agree. PartitionKey and RowKey compare ordinally (UTF-16 code units). Immutable; any thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "table_store/model/entity_view.h"

namespace tidemark::table_store {

struct FilterNode;

/// An entity whose parts are kept elsewhere.
struct EntityParts {
  std::string_view partition_key, row_key;
  Version version = 0;
  const std::vector<Property>& properties;
};

class Filter {
 public:
  /// Parses a filter. An empty or blank text matches everything. kInvalidInput (with the position), kNotImplemented
  /// (functions, arithmetic). Depth and length are bounded.
  static Result<Filter> parse(std::string_view text);
  [[nodiscard]] bool matches(const Entity& entity) const;
  [[nodiscard]] bool matches(const EntityParts& entity) const;
  /// Decodes only the properties that the filter names, and only if the keys do not decide. A damaged block is read up
  /// to the damage.
  [[nodiscard]] bool matches(const EntityView& entity) const;
  [[nodiscard]] bool matches_all() const { return root_ == nullptr; }
  [[nodiscard]] const FilterNode* root() const { return root_.get(); }

 private:
  std::shared_ptr<const FilterNode> root_;
  std::shared_ptr<const std::vector<std::string>> names_;  // own properties, sorted; FilterNode::slot points here
};

}  // namespace tidemark::table_store
