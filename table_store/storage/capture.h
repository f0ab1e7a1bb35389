// The parts of a table's changes that are noted, because it is followed. Immutable, so it may be kept as long as the
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
  std::vector<std::string> properties;          // that any follower asked for; sorted, without repeats
  std::vector<std::string> followers;           // sorted
  bool kept = false;                            // the table has a change feed (model/feed.h)
  bool old_values = false, new_values = false;  // the feed has whole entities

  /// Tells whether a follower of the table made the row. To the table's followers, such a row is no entity of it.
  [[nodiscard]] bool made(const std::optional<OriginView>& origin) const {
    return origin && std::binary_search(followers.begin(), followers.end(), origin->follower);
  }
};

/// Returns the block of the properties that are among `names`, which are sorted, in the order of their names. Nothing
/// if the block is not valid.
std::optional<std::string> chosen_properties(std::string_view block, const std::vector<std::string>& names);

}  // namespace tidemark::table_store
