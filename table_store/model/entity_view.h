// A stored entity read in place: nothing is copied or decoded before someone asks. Everything points into bytes that
// somebody else owns: a cursor's row, or what a point read returned. Pure; any thread.
#pragma once
#include <optional>
#include <string_view>

#include "table_store/model/property_block.h"

namespace tidemark::table_store {

struct EntityView {
  std::string_view partition_key, row_key;
  Version version = 0;
  std::optional<Version> source_version;
  std::string_view block;           // of the properties (property_block.h)
  std::string_view operation = {};  // as in Entity
  bool restored = false;            // likewise

  [[nodiscard]] PropertyReader properties() const { return PropertyReader(block); }
  /// A copy that stands by itself. The block must be one (is_property_block).
  [[nodiscard]] Entity to_entity() const;
};

}  // namespace tidemark::table_store
