#include "common/kv/write_overlay.h"

#include <iterator>

namespace tidemark::kv {
namespace {

using Rows = WriteOverlay::Rows;

/// The remaining rows of one overlay within a range.
class Side {
 public:
  Side(const Rows& rows, const KeyRange& range, Direction direction)
      : forward_(direction == Direction::kForward),
        first_(rows.lower_bound(range.lower)),
        last_(range.upper.empty() ? rows.end() : rows.lower_bound(range.upper)) {}

  [[nodiscard]] bool valid() const { return first_ != last_; }
  [[nodiscard]] const Rows::value_type& row() const { return forward_ ? *first_ : *std::prev(last_); }
  void next() { forward_ ? ++first_ : --last_; }

 private:
  bool forward_;
  Rows::const_iterator first_, last_;
};

class OverlaidCursor final : public Cursor {
 public:
  OverlaidCursor(std::vector<Side> sides, std::unique_ptr<Cursor> base, Direction direction)
      : sides_(std::move(sides)), base_(std::move(base)), forward_(direction == Direction::kForward) {
    settle();
  }

  bool valid() const override { return current_ != nullptr || base_->valid(); }
  std::string_view key() const override { return current_ != nullptr ? current_->first : base_->key(); }
  std::string_view value() const override { return current_ != nullptr ? *current_->second : base_->value(); }
  Result<void> status() const override { return base_->status(); }

  void next() override {
    if (current_ == nullptr) {
      base_->next();
    } else {
      pass(current_->first);
    }
    settle();
  }

 private:
  /// Moves every source past the key, if it stands there.
  void pass(const std::string& key) {
    if (base_->valid() && base_->key() == key) base_->next();
    for (auto& side : sides_) {
      if (side.valid() && side.row().first == key) side.next();
    }
  }

  [[nodiscard]] bool before(std::string_view a, std::string_view b) const { return forward_ ? a < b : b < a; }

  /// Finds the next existing row. A base that failed ends the walk, because its next row is unknown.
  void settle() {
    for (;;) {
      current_ = nullptr;
      if (!base_->valid() && !base_->status()) return;
      for (const auto& side : sides_) {  // the newest first: it wins a tie
        if (side.valid() && (current_ == nullptr || before(side.row().first, current_->first))) current_ = &side.row();
      }
      if (current_ == nullptr) return;
      if (base_->valid() && before(base_->key(), current_->first)) {
        current_ = nullptr;
        return;
      }
      if (current_->second) return;
      pass(current_->first);
    }
  }

  std::vector<Side> sides_;
  std::unique_ptr<Cursor> base_;
  bool forward_;
  const Rows::value_type* current_ = nullptr;  // null: the base's row is the next
};

}  // namespace

void WriteOverlay::set(std::string_view key, Value value) {
  const auto size = [](const Value& of) { return of ? of->size() : 0; };
  bytes_ += size(value);
  auto at = rows_.lower_bound(key);
  if (at == rows_.end() || at->first != key) {
    bytes_ += key.size();
    at = rows_.emplace_hint(at, key, std::move(value));
    undo_.push_back({at, false, std::nullopt});
    return;
  }
  bytes_ -= size(at->second);
  at->second.swap(value);
  undo_.push_back({at, true, std::move(value)});
}

void WriteOverlay::undo() {
  for (; !undo_.empty(); undo_.pop_back()) {
    auto& [row, existed, value] = undo_.back();
    bytes_ -= row->second ? row->second->size() : 0;
    if (existed) {
      bytes_ += value ? value->size() : 0;
      row->second = std::move(value);
    } else {
      bytes_ -= row->first.size();
      rows_.erase(row);
    }
  }
}

const WriteOverlay::Value* WriteOverlay::find(std::string_view key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

void WriteOverlay::clear() {
  rows_.clear();
  undo_.clear();
  bytes_ = 0;
}

std::unique_ptr<Cursor> overlaid(std::array<const WriteOverlay*, 2> overlays, std::unique_ptr<Cursor> base,
                                 const KeyRange& range, Direction direction) {
  std::vector<Side> sides;
  const bool nothing = !range.upper.empty() && range.upper <= range.lower;
  for (const auto* overlay : overlays) {
    if (nothing || overlay == nullptr) continue;
    if (Side side(overlay->rows(), range, direction); side.valid()) sides.push_back(side);
  }
  if (sides.empty()) return base;
  return std::make_unique<OverlaidCursor>(std::move(sides), std::move(base), direction);
}

}  // namespace tidemark::kv
