#include "table_store/storage/key_set.h"

#include <algorithm>
#include <optional>

namespace tidemark::table_store {
namespace {

// Compares upper bounds, of which an empty one is the largest.
bool upper_less(const std::string& a, const std::string& b) { return !a.empty() && (b.empty() || a < b); }
/// Tells whether `at` lies before the end `upper`.
bool below(const std::string& at, const std::string& upper) { return upper.empty() || at < upper; }

Intervals union_of(const Intervals& a, const Intervals& b) {
  Intervals out;
  out.reserve(a.size() + b.size());
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool from_a = j == b.size() || (i < a.size() && a[i].lower <= b[j].lower);
    const auto& next = from_a ? a[i++] : b[j++];
    if (out.empty() || (!out.back().upper.empty() && out.back().upper < next.lower)) {
      out.push_back(next);
    } else if (upper_less(out.back().upper, next.upper)) {
      out.back().upper = next.upper;
    }
  }
  return out;
}

Intervals intersection_of(const Intervals& a, const Intervals& b) {
  Intervals out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const auto& lower = std::max(a[i].lower, b[j].lower);
    const bool a_ends_first = upper_less(a[i].upper, b[j].upper);
    const auto& upper = a_ends_first ? a[i].upper : b[j].upper;
    if (below(lower, upper)) out.push_back({lower, upper});
    ++(a_ends_first ? i : j);
  }
  return out;
}

Intervals hull_of(const Intervals& in) {
  if (in.size() < 2) return in;
  return {{in.front().lower, in.back().upper}};
}

/// Collects the stripes of a result from left to right and keeps them few.
class Collector {
 public:
  explicit Collector(bool exact) { out_.exact = exact; }

  void add(Interval partitions, Intervals rows) {
    if (rows.empty()) return;
    auto* last = out_.stripes.empty() ? nullptr : &out_.stripes.back();
    if (last != nullptr && last->partitions.upper == partitions.lower && last->rows == rows) {
      last->partitions.upper = std::move(partitions.upper);
    } else if (last != nullptr && out_.stripes.size() >= KeySet::kMaxIntervals) {
      out_.exact = false;
      last->partitions.upper = std::move(partitions.upper);
      last->rows = hull_of(union_of(last->rows, rows));
    } else {
      intervals_ += rows.size();
      out_.stripes.push_back({std::move(partitions), std::move(rows)});
    }
  }
  /// Combines the rows of both sides at one place.
  Intervals merge(const Intervals& a, const Intervals& b, SetOp op) {
    const bool room = intervals_ + a.size() + b.size() <= KeySet::kMaxIntervals;
    if (!room && a.size() + b.size() > 2) {
      out_.exact = false;
      return merge(hull_of(a), hull_of(b), op);
    }
    return op == SetOp::kUnion ? union_of(a, b) : intersection_of(a, b);
  }
  KeySet take() { return std::move(out_); }

 private:
  KeySet out_;
  std::size_t intervals_ = 0;
};

/// Walks a set's stripes along the line of PartitionKeys.
class Walker {
 public:
  explicit Walker(const std::vector<Stripe>& stripes) : stripes_(stripes) {}
  /// Returns the rows at this place; places must rise.
  const Intervals& rows_at(const std::string& place) {
    while (at_ < stripes_.size() && !below(place, stripes_[at_].partitions.upper)) ++at_;
    return inside(place) ? stripes_[at_].rows : nothing_;
  }
  /// Returns where the rows change next after the last place asked for; empty: nowhere.
  [[nodiscard]] std::string next_change(const std::string& place) const {
    if (at_ == stripes_.size()) return {};
    return inside(place) ? stripes_[at_].partitions.upper : stripes_[at_].partitions.lower;
  }

 private:
  [[nodiscard]] bool inside(const std::string& place) const {
    return at_ < stripes_.size() && stripes_[at_].partitions.lower <= place;
  }
  const std::vector<Stripe>& stripes_;
  const Intervals nothing_;
  std::size_t at_ = 0;
};

}  // namespace

bool Interval::is_point() const {
  // Encoded text ends with 00 01; the next key after all that begin with it ends with 00 02.
  const auto size = lower.size();
  return size >= 2 && upper.size() == size && lower[size - 2] == '\0' && lower[size - 1] == '\1' &&
         upper[size - 1] == '\2' && lower.compare(0, size - 1, upper, 0, size - 1) == 0;
}

KeySet KeySet::everything(bool exact) { return {{{Interval{}, {Interval{}}}}, exact}; }

KeySet KeySet::of_partitions(const Intervals& partitions) {
  KeySet out;
  for (const auto& interval : partitions) out.stripes.push_back({interval, {Interval{}}});
  return out;
}

KeySet KeySet::of_rows(Intervals rows) {
  KeySet out;
  if (!rows.empty()) out.stripes.push_back({Interval{}, std::move(rows)});
  return out;
}

KeySet combine(const KeySet& a, const KeySet& b, SetOp op) {
  Collector out(a.exact && b.exact);
  Walker in_a(a.stripes);
  Walker in_b(b.stripes);
  for (std::string place;;) {
    const auto& rows_a = in_a.rows_at(place);
    const auto& rows_b = in_b.rows_at(place);
    auto upper = in_a.next_change(place);
    if (auto other = in_b.next_change(place); upper_less(other, upper)) upper = std::move(other);
    out.add({place, upper}, out.merge(rows_a, rows_b, op));
    if (upper.empty()) return out.take();
    place = std::move(upper);
  }
}

KeySet combine_all(std::vector<KeySet> sets, SetOp op) {
  if (sets.empty()) return op == SetOp::kUnion ? KeySet{} : KeySet::everything(true);
  while (sets.size() > 1) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i + 1 < sets.size(); i += 2) sets[kept++] = combine(sets[i], sets[i + 1], op);
    if (sets.size() % 2 == 1) {
      if (kept != sets.size() - 1) sets[kept] = std::move(sets.back());
      ++kept;
    }
    sets.resize(kept);
  }
  return std::move(sets.front());
}

}  // namespace tidemark::table_store
