// Which rows are rewritten all the time, such as a counter that every group changes. PostgreSQL keeps what an update
// replaces for as long as anybody has a transaction that may see it, and whoever updates the row again passes all of
// that. So such a row is not updated: each group that changes it writes a new row, which has the group's number, and
// removes the one of the group before by its number. Nothing of what was removed stands in the way of either.
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
  /// Rows that have a group's number at most.
  static constexpr std::size_t kMost = 256;

  /// By key: the group whose number the row has. All others have 0.
  using Groups = std::map<std::string, std::int64_t, std::less<>>;

  explicit RewrittenRows(Groups stored = {}) : groups_(std::move(stored)) {}

  /// What a group has to do. The keys are those of its writes, which must stay.
  struct Plan {
    struct Row {
      std::string_view key;
      std::int64_t group = 0;
    };
    struct Put {
      Row row;
      std::string_view value;
    };
    std::vector<Row> removed;  // rows that are there, or are not
    std::vector<Put> put;      // inserted, or updated if they are there
  };
  /// `group`: its number, which is higher than that of any before.
  [[nodiscard]] Plan plan(const WriteOverlay& writes, std::int64_t group);
  /// It is committed.
  void committed(const Plan& plan);

  /// Rows that have not been rewritten for long, once there is no room for others: they are to have 0 again.
  [[nodiscard]] Groups calm(std::int64_t group) const;
  /// They have it.
  void calmed(const Groups& rows);

  [[nodiscard]] const Groups& groups() const { return groups_; }

 private:
  /// Whether it is written often, this time included.
  bool count(std::string_view key);
  Groups groups_;
  // How often keys were written lately, about: by hash, so that others may count with them.
  std::array<std::uint8_t, 1UL << 14> counts_{};
  std::size_t counted_ = 0;
};

}  // namespace tidemark::kv
