// A stored entity that is read in place: nothing is copied or decoded before it is needed. All views point into bytes
// with another owner, such as a cursor's row or the result of a point read. Pure.
#pragma once
#include <optional>
#include <string_view>

#include "table_store/model/property_block.h"

namespace tidemark::table_store {

struct OriginView {
  std::string_view follower, partition_key, row_key;
  bool operator==(const OriginView&) const = default;
};
inline OriginView view_of(const Origin& origin) { return {origin.follower, origin.partition_key, origin.row_key}; }
inline std::optional<OriginView> view_of(const std::optional<Origin>& origin) {
  return origin ? std::optional(view_of(*origin)) : std::nullopt;
}

struct EntityView {
  std::string_view partition_key, row_key;
  Version version = 0;
  std::optional<Version> source_version;
  std::string_view block;           // of the properties (property_block.h)
  std::string_view operation = {};  // as in Entity
  bool restored = false;            // likewise
  std::optional<OriginView> origin = {};

  [[nodiscard]] bool is_copy() const { return source_version && !restored; }
  [[nodiscard]] Version effective_version() const { return source_version.value_or(version); }
  [[nodiscard]] PropertyReader properties() const { return PropertyReader(block); }
  /// Returns an independent copy. The block must be valid (is_property_block).
  [[nodiscard]] Entity to_entity(const Selection& selection = {}) const;
};

}  // namespace tidemark::table_store
