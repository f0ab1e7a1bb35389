#include "common/postgres/known_rows.h"

#include <algorithm>
#include <iterator>

namespace tidemark::kv {
namespace {

constexpr std::size_t kKnownRowOverhead = 96;  // the approximate memory of a row beside its bytes

std::size_t size_of(std::string_view key, const KnownRows::Value& value) {
  return kKnownRowOverhead + key.size() + (value ? value->size() : 0);
}

/// Tells whether an end comes before a key; an empty end is behind every key.
bool ends_before(std::string_view end, std::string_view key) { return !end.empty() && end < key; }
std::string later_end(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? std::string() : std::max(a, b);
}
std::string earlier_end(const std::string& a, const std::string& b) {
  if (a.empty()) return b;
  return b.empty() ? a : std::min(a, b);
}
bool is_nothing(const KeyRange& range) { return !range.upper.empty() && range.upper <= range.lower; }
std::string just_after(std::string_view key) { return std::string(key) + '\0'; }

}  // namespace

class KnownCursor final : public Cursor {
 public:
  KnownCursor(const KnownRows& known, const KeyRange& range, Direction direction, std::size_t limit,
              KnownRows::Missing& missing)
      : known_(known),
        left_(range),
        direction_(direction),
        limit_(limit),
        missing_(missing),
        at_(known.rows_.end()),
        done_(is_nothing(range)) {
    settle();
  }

  bool valid() const override { return at_ != known_.rows_.end(); }
  std::string_view key() const override { return at_->first; }
  std::string_view value() const override { return *at_->second; }
  void next() override {
    if (direction_ == Direction::kForward) {
      left_.lower = just_after(at_->first);
    } else {
      left_.upper = at_->first;
      done_ = left_.upper.empty();  // no key is before the empty key
    }
    done_ = done_ || is_nothing(left_);
    at_ = known_.rows_.end();
    settle();
  }
  Result<void> status() const override { return missed_ ? fail(ErrorCode::kServerBusy) : Result<void>(); }

 private:
  void settle() {
    while (!done_) {
      const auto* range =
          direction_ == Direction::kForward ? known_.range_from(left_.lower) : known_.range_before(left_.upper);
      if (range == nullptr) {
        missing_.ranges.push_back({left_, direction_, limit_});
        missed_ = done_ = true;
        return;
      }
      if (direction_ == Direction::kForward ? found_forward(range->second) : found_reverse(range->first)) return;
    }
  }

  bool found_forward(const std::string& known_to) {
    const auto end = earlier_end(known_to, left_.upper);
    const auto& rows = known_.rows_;
    for (auto row = rows.lower_bound(left_.lower); row != rows.end() && (end.empty() || row->first < end); ++row) {
      if (!row->second) continue;
      at_ = row;
      return true;
    }
    done_ = end == left_.upper;
    left_.lower = end;
    return false;
  }

  bool found_reverse(const std::string& known_from) {
    const auto begin = std::max(known_from, left_.lower);
    const auto& rows = known_.rows_;
    for (auto row = left_.upper.empty() ? rows.end() : rows.lower_bound(left_.upper); row != rows.begin();) {
      --row;
      if (row->first < begin) break;
      if (!row->second) continue;
      at_ = row;
      return true;
    }
    done_ = begin == left_.lower;
    left_.upper = begin;
    return false;
  }

  const KnownRows& known_;
  KeyRange left_;  // the rest of the walk
  const Direction direction_;
  const std::size_t limit_;
  KnownRows::Missing& missing_;
  std::map<std::string, KnownRows::Value, std::less<>>::const_iterator at_;
  bool missed_ = false;
  bool done_;
};

void KnownRows::Missing::add(Missing other) {
  for (auto& key : other.keys) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
  }
  for (auto& range : other.ranges) {
    const auto same = [&](const MissingRange& one) {
      return one.range.lower == range.range.lower && one.range.upper == range.range.upper &&
             one.direction == range.direction;
    };
    const auto found = std::ranges::find_if(ranges, same);
    if (found == ranges.end()) {
      ranges.push_back(std::move(range));
    } else {
      found->limit = std::max(found->limit, range.limit);
    }
  }
}

const KnownRows::Value* KnownRows::find(std::string_view key) const {
  static const Value kAbsent;
  if (const auto row = rows_.find(key); row != rows_.end()) return &row->second;
  return range_from(key) == nullptr ? nullptr : &kAbsent;
}

std::unique_ptr<Cursor> KnownRows::scan(const KeyRange& range, Direction direction, std::size_t limit,
                                        Missing& missing) const {
  return std::make_unique<KnownCursor>(*this, range, direction, limit, missing);
}

const KnownRows::Ranges::value_type* KnownRows::range_from(std::string_view key) const {
  auto range = ranges_.upper_bound(key);
  if (range == ranges_.begin()) return nullptr;
  --range;
  return range->second.empty() || key < range->second ? &*range : nullptr;
}

const KnownRows::Ranges::value_type* KnownRows::range_before(std::string_view key) const {
  auto range = key.empty() ? ranges_.end() : ranges_.lower_bound(key);
  if (range == ranges_.begin()) return nullptr;
  --range;
  if (range->second.empty()) return &*range;
  return !key.empty() && key <= range->second ? &*range : nullptr;
}

void KnownRows::learn(std::string_view key, Value value) {
  const auto row = rows_.lower_bound(key);
  const bool noted = row != rows_.end() && row->first == key;
  if (!value && range_from(key) != nullptr) {
    // A known range implies the absence of its other keys. A queue's walk must not pass all keys that were ever
    // deleted.
    if (!noted) return;
    bytes_ -= size_of(key, row->second);
    rows_.erase(row);
    return;
  }
  if (noted) {
    bytes_ += size_of(key, value);
    bytes_ -= size_of(key, row->second);
    row->second = std::move(value);
    return;
  }
  bytes_ += size_of(key, value);
  rows_.emplace_hint(row, key, std::move(value));
}

void KnownRows::learn(const MissingRange& missing, const Rows& rows) {
  for (const auto& [key, value] : rows) learn(key, std::string(value));
  auto range = missing.range;
  if (rows.size() >= missing.limit) {
    if (missing.direction == Direction::kForward) {
      range.upper = just_after(rows.back().first);
    } else {
      range.lower = rows.back().first;
    }
  }
  if (is_nothing(range)) return;
  erase_rows(range, [](const Value& value) { return !value; });
  add(std::move(range));
}

void KnownRows::add(KeyRange range) {
  auto at = ranges_.upper_bound(range.lower);
  if (at != ranges_.begin() && !ends_before(std::prev(at)->second, range.lower)) --at;
  while (at != ranges_.end() && (range.upper.empty() || at->first <= range.upper)) {
    range.lower = std::min(range.lower, at->first);
    range.upper = later_end(range.upper, at->second);
    bytes_ -= kKnownRowOverhead + at->first.size() + at->second.size();
    at = ranges_.erase(at);
  }
  bytes_ += kKnownRowOverhead + range.lower.size() + range.upper.size();
  ranges_.emplace(std::move(range.lower), std::move(range.upper));
}

void KnownRows::learn_erased(const KeyRange& range) {
  if (is_nothing(range)) return;
  erase_rows(range, [](const Value&) { return true; });
  add(range);
}

template <class Which>
void KnownRows::erase_rows(const KeyRange& range, Which which) {
  const auto last = range.upper.empty() ? rows_.end() : rows_.lower_bound(range.upper);
  for (auto row = rows_.lower_bound(range.lower); row != last;) {
    if (!which(row->second)) {
      ++row;
      continue;
    }
    bytes_ -= size_of(row->first, row->second);
    row = rows_.erase(row);
  }
}

void KnownRows::clear() {
  rows_.clear();
  ranges_.clear();
  bytes_ = 0;
}

}  // namespace tidemark::kv
