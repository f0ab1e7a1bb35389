#include "common/kv/rewritten_rows.h"

#include <algorithm>

namespace tidemark::kv {
namespace {

constexpr std::uint8_t kOften = 16;
/// Two for each counter, so that a row that is not rewritten does not reach kOften by chance.
constexpr std::size_t kCountedTogether = 1UL << 15;
constexpr std::int64_t kLong = 10'000;  // groups

}  // namespace

bool RewrittenRows::count(std::string_view key) {
  if (++counted_ > kCountedTogether) {
    counts_.fill(0);
    counted_ = 1;
  }
  auto& times = counts_[std::hash<std::string_view>()(key) % counts_.size()];
  if (times < kOften) ++times;
  return times == kOften;
}

RewrittenRows::Plan RewrittenRows::plan(const WriteOverlay& writes, std::int64_t group) {
  Plan plan;
  auto room = kMost - std::min(kMost, groups_.size());
  for (const auto& [key, value] : writes.rows()) {
    const auto before = groups_.find(key);
    const bool numbered = before != groups_.end();
    const bool begins = value && !numbered && count(key) && room > 0;
    if (begins) --room;
    if (!value || numbered || begins) plan.removed.push_back({key, numbered ? before->second : 0});
    if (value) plan.put.push_back({{key, numbered || begins ? group : 0}, *value});
  }
  return plan;
}

void RewrittenRows::committed(const Plan& plan) {
  for (const auto& [key, group] : plan.removed) {
    if (group != 0) groups_.erase(groups_.find(key));
  }
  for (const auto& [row, value] : plan.put) {
    if (row.group != 0) groups_.emplace(row.key, row.group);
  }
}

RewrittenRows::Groups RewrittenRows::calm(std::int64_t group) const {
  Groups calm;
  if (groups_.size() < kMost) return calm;
  for (const auto& row : groups_) {
    if (row.second < group - kLong) calm.insert(row);
  }
  return calm;
}

void RewrittenRows::calmed(const Groups& rows) {
  for (const auto& row : rows) groups_.erase(row.first);
}

}  // namespace tidemark::kv
