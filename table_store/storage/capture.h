// What is noted of a table's changes, because it is followed. Immutable, so whoever has it may keep it as long as the
// transaction lasts. Pure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/entity_view.h"

namespace tidemark::table_store {

struct Capture {
  std::string feed_key;
  std::uint64_t feed = 0;
  std::vector<std::string> properties;          // that anybody follows; sorted, without repeats
  std::vector<std::string> followers;           // sorted
  bool kept = false;                            // the table has a change feed (model/feed.h)
  bool old_values = false, new_values = false;  // which has whole entities

  /// A row that a follower of the table made is no entity of the table to its followers.
  [[nodiscard]] bool made(const std::optional<OriginView>& origin) const {
    return origin && std::binary_search(followers.begin(), followers.end(), origin->follower);
  }
};

/// The block of those properties that are among `names`, which are sorted, in the order of their names. Nothing if the
/// block is not valid.
std::optional<std::string> chosen_properties(std::string_view block, const std::vector<std::string>& names);

}  // namespace tidemark::table_store
