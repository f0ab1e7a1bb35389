// What the rows of a shard say of contents and payloads, for the check of a blob store: how far each is owned, by how
// many, how many owners are counted, and how many bytes a payload has that is a row. However many there are, it takes
// bounded memory: what does not fit is left to a further walk over the rows.
#pragma once
#include <cstdint>
#include <vector>

namespace tidemark::blob_store {

/// A part of the ids, of which each has about the same number.
struct Slice {
  std::uint64_t number = 0, count = 1;  // count: a power of two
  [[nodiscard]] bool has(std::uint64_t id) const {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // ids follow each other
    return ((id * kMix) >> 32 & (count - 1)) == number;
  }
};

/// A content or a payload: so many read it, up to here; or it has so many further owners, or bytes.
struct OfId {
  std::uint64_t id = 0;
  std::uint64_t value = 0;
  std::uint64_t owners = 1;
};
using OfIds = std::vector<OfId>;

/// Null: it is not there. `of` is sorted.
const OfId* find_id(const OfIds& of, std::uint64_t id);

/// Of the ids of a slice.
struct References {
  Slice slice;
  bool divides = false;     // the slice becomes smaller if there is more than that
  std::size_t at_once = 0;  // then entries are merged
  OfIds owned = {};         // up to where
  OfIds counted = {};       // how many further owners
  OfIds row_payloads = {};  // how many bytes

  void add(OfIds& to, std::uint64_t id, std::uint64_t value);
  /// Sorts, with one entry for each id. `counted` and `row_payloads` are so because their rows are.
  void merge();

 private:
  [[nodiscard]] std::size_t size() const { return owned.size() + counted.size() + row_payloads.size(); }
  [[nodiscard]] bool can_divide() const;
  void make_room();
};

}  // namespace tidemark::blob_store
