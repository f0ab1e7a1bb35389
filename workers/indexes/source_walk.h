// A page of a walk over the entities of an index's source. Used from one strand.
#pragma once
#include <algorithm>
#include <atomic>

#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

struct SourcePage {
  std::vector<ChangedEntity> entities;  // as they are; they came with no change
  std::string continuation;             // empty at the end
};

/// How many entities a walk in a hurry takes at once. The more there are, the more of them share a piece of a list.
inline constexpr std::size_t kHurriedEntities = 20'000;

/// Those that are in a hurry at the same time share the memory that one would have. Thread safe.
class WalkRoom {
 public:
  explicit WalkRoom(std::size_t entities) : entities_(entities) {}

  /// A walk is under way as long as it has one.
  class Place {
   public:
    explicit Place(WalkRoom& room) : room_(room) { ++room_.walks_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { --room_.walks_; }

   private:
    WalkRoom& room_;
  };
  [[nodiscard]] std::size_t share() const {
    return std::max<std::size_t>(entities_ / std::max<std::size_t>(walks_.load(), 1), 1);
  }

 private:
  const std::size_t entities_;
  std::atomic<std::size_t> walks_ = 0;
};

/// From the request's continuation on: a page, and further ones as long as there are fewer than `wanted` entities and
/// they fit into memory well. kTableNotFound.
Task<Result<SourcePage>> read_source_page(table_store::TableClient& tables, table_store::QueryRequest request,
                                          std::size_t wanted);

}  // namespace tidemark::workers
