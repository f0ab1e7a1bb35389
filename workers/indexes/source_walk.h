// Reads the entities of an index's source in the order of their keys, for walks. Used from one strand.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>

#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

/// For what a walk in a hurry takes at once. The more that is, the more of it shares a piece of a list.
inline constexpr std::size_t kWalkBytes = 16UL << 20;

/// Walks that are in a hurry at the same time share the memory that one would have. Thread safe.
class WalkRoom {
 public:
  explicit WalkRoom(std::size_t bytes) : bytes_(bytes) {}

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
  [[nodiscard]] std::size_t share() const { return bytes_ / std::max<std::size_t>(walks_.load(), 1); }

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> walks_ = 0;
};

/// Where a reading ends, after the first page at the earliest.
struct ReadingEnd {
  std::size_t entities, bytes;
};
/// From the request's continuation on, one page after the other. `keep` takes each entity, and says how many bytes it
/// takes up then. Returns the continuation, which is empty at the end. kTableNotFound.
Task<Result<std::string>> read_source(table_store::TableClient& tables, table_store::QueryRequest request,
                                      ReadingEnd end, std::function<std::size_t(Entity)> keep);

/// About what an entity takes up in memory.
std::size_t bytes_in_memory(const Entity& entity);

}  // namespace tidemark::workers
