// Walks over the ready and the timed messages of a queue in the order of their places, beginning at the fronts in the
// figures. It only reads. The reader must outlive it, and nothing may be written meanwhile.
#pragma once
#include <memory>
#include <optional>

#include "common/kv/engine.h"
#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {

class PlacedRows {
 public:
  /// Walks over timed rows up to `until`, and all ready rows, which are visible whatever the clock says; skips rows
  /// before `from`.
  PlacedRows(const kv::Reader& reader, std::uint64_t generation, const FiguresRecord& figures, Time until,
             const Place& from = {});
  [[nodiscard]] bool valid() const { return current_ != nullptr; }
  void next();
  /// Leaves a set out of the rest of the walk; its head stays where it is.
  void leave(Set set);
  [[nodiscard]] Set set() const { return current_->set; }
  [[nodiscard]] const Place& place() const { return *current_->place; }
  [[nodiscard]] std::string_view value() const { return current_->cursor->value(); }
  /// Returns the place of the next row of a set, if there is one.
  [[nodiscard]] std::optional<Place> head(Set set) const;
  [[nodiscard]] Result<void> status() const;

 private:
  struct Side {
    Set set;
    std::unique_ptr<kv::Cursor> cursor;  // null: the set is empty, by the figures
    std::optional<Place> place;
    bool corrupt = false;
    bool left = false;
    void settle();
  };
  void choose();
  Side ready_{Set::kReady, nullptr, {}};
  Side timed_{Set::kTimed, nullptr, {}};
  Side* current_ = nullptr;
};

}  // namespace tidemark::queue_service
