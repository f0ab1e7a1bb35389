// Reads the entities of an index's source in the order of their keys, for walks. Used from one strand.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>

#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

/// The bytes that a fast walk takes at once. The more it takes, the more entities share a piece of a list.
inline constexpr std::size_t kWalkBytes = 16UL << 20;

/// Fast walks that run at the same time share the memory that a single one would have. Thread safe.
class WalkRoom {
 public:
  explicit WalkRoom(std::size_t bytes) : bytes_(bytes) {}

  /// Counts a walk as running as long as it exists.
  class Place {
   public:
    explicit Place(WalkRoom& room) : room_(room) { ++room_.walks_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { --room_.walks_; }

   private:
    WalkRoom& room_;
  };
  [[nodiscard]] std::size_t share() const { return bytes_ / std::max<std::size_t>(walks_.load(), 1); }

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> walks_ = 0;
};

/// Limits after which reading ends, though never before the end of the first page.
struct ReadingEnd {
  std::size_t entities, bytes;
};
/// Reads page after page, beginning at the request's continuation. `keep` takes each entity, and returns how many bytes
/// the entity occupies then. Returns the next continuation, which is empty at the end. kTableNotFound.
Task<Result<std::string>> read_source(table_store::TableClient& tables, table_store::QueryRequest request,
                                      ReadingEnd end, std::function<std::size_t(Entity)> keep);

/// Returns about how much memory an entity occupies.
std::size_t bytes_in_memory(const Entity& entity);

}  // namespace tidemark::workers
