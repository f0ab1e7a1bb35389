// The references to contents and payloads in the rows of a shard, for the check of a blob store: for each one, up to
// which place and by how many it is owned, how many owners are counted, and, if it is a row, how many bytes it has. The
// memory is bounded for any number of references: ids without room are left to a further walk.
#pragma once
#include <cstdint>
#include <vector>

namespace tidemark::blob_store {

/// A part of the ids. All parts have about the same number of ids.
struct Slice {
  std::uint64_t number = 0, count = 1;  // count: a power of two
  [[nodiscard]] bool has(std::uint64_t id) const {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // ids are consecutive
    return ((id * kMix) >> 32 & (count - 1)) == number;
  }
};

/// A content or a payload. The value is the end of the range that its owners have, or its further owners, or its bytes.
struct OfId {
  std::uint64_t id = 0;
  std::uint64_t value = 0;
  std::uint64_t owners = 1;
};
using OfIds = std::vector<OfId>;

/// Returns null if the id is missing. `of` is sorted.
const OfId* find_id(const OfIds& of, std::uint64_t id);

/// The references to the ids of a slice.
struct References {
  Slice slice;
  bool divides = false;     // whether the slice becomes smaller if there is no room
  std::size_t at_once = 0;  // the number of entries from which on they are merged
  OfIds owned = {};         // the end of the range that is owned
  OfIds counted = {};       // the number of further owners
  OfIds row_payloads = {};  // the number of bytes

  void add(OfIds& to, std::uint64_t id, std::uint64_t value);
  /// Sorts, and leaves one entry for each id. `counted` and `row_payloads` are sorted already because their rows are.
  void merge();

 private:
  [[nodiscard]] std::size_t size() const { return owned.size() + counted.size() + row_payloads.size(); }
  [[nodiscard]] bool can_divide() const;
  void make_room();
};

}  // namespace tidemark::blob_store
