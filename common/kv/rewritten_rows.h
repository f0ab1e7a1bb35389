// Finds rows that are rewritten all the time, such as a counter that every group changes. PostgreSQL keeps the old
// version of an updated row as long as there is a transaction that may see it, and the next update of the row passes
// all of these versions. So such a row is not updated: each group that changes it writes a new row, which has the
// group's number, and removes the row of the previous group by its number. Removed rows delay neither statement.
//
// For the only writer of a keyspace. Not thread safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/kv/write_overlay.h"

namespace tidemark::kv {

class RewrittenRows {
 public:
  /// The greatest number of rows that have a group's number.
  static constexpr std::size_t kMost = 256;

  /// By key: the group whose number the row has. All other rows have 0.
  using Groups = std::map<std::string, std::int64_t, std::less<>>;

  explicit RewrittenRows(Groups stored = {}) : groups_(std::move(stored)) {}

  /// The statements of a group. The keys are those of the group's writes, which must stay.
  struct Plan {
    struct Row {
      std::string_view key;
      std::int64_t group = 0;
    };
    struct Put {
      Row row;
      std::string_view value;
    };
    std::vector<Row> removed;  // rows that may exist or not
    std::vector<Put> put;      // inserted, or updated if they exist
  };
  /// `group`: its number, which is higher than all earlier ones.
  [[nodiscard]] Plan plan(const WriteOverlay& writes, std::int64_t group);
  /// The plan's group is committed.
  void committed(const Plan& plan);

  /// Returns rows that have not been rewritten for long, once there is no room for others: they should have 0 again.
  [[nodiscard]] Groups calm(std::int64_t group) const;
  /// The rows have 0 again.
  void calmed(const Groups& rows);

  [[nodiscard]] const Groups& groups() const { return groups_; }

 private:
  /// Counts a write, and tells whether the row is written often.
  bool count(std::string_view key);
  Groups groups_;
  // The approximate number of recent writes of keys, by hash, so that several keys may share a counter.
  std::array<std::uint8_t, 1UL << 14> counts_{};
  std::size_t counted_ = 0;
};

}  // namespace tidemark::kv
