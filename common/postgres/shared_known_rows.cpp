#include "common/postgres/shared_known_rows.h"

#include <utility>

namespace tidemark::kv {
namespace {

constexpr std::size_t kMostSuggested = 1024;
constexpr std::size_t kManySuggested = 64;
constexpr std::size_t kMostSuggestedBytes = 4UL << 20;
constexpr std::size_t kLearntAtOnce = 64;

}  // namespace

std::optional<KnownRows::Value> SharedKnownRows::find(std::string_view key) const {
  const std::shared_lock lock(rows_mutex_);
  if (committing_ != nullptr && committing_->find(key) != nullptr) return std::nullopt;
  const auto* found = rows_.find(key);
  if (found == nullptr) return std::nullopt;
  return std::optional<KnownRows::Value>(std::in_place, *found);
}

bool SharedKnownRows::suggest(std::string_view key, const KnownRows::Value& value, std::uint64_t forgotten) {
  const auto bytes = key.size() + (value ? value->size() : 0);
  const MutexLock lock(suggested_mutex_);
  if (suggested_.size() >= kMostSuggested || suggested_bytes_ + bytes > kMostSuggestedBytes) return false;
  suggested_bytes_ += bytes;
  suggested_.push_back({std::string(key), value, forgotten});
  return suggested_.size() == kManySuggested;
}

bool SharedKnownRows::has_many_suggested() const {
  const MutexLock lock(suggested_mutex_);
  return suggested_.size() >= kManySuggested;
}

/// A known row is newer than a suggested one. If a row is not known, it has not been written since it was read: the
/// writer knows the rows that it wrote, unless it has forgotten everything since.
void SharedKnownRows::take_suggested() {
  std::vector<Suggested> suggested;
  {
    const MutexLock lock(suggested_mutex_);
    suggested = std::exchange(suggested_, {});
    suggested_bytes_ = 0;
  }
  if (suggested.empty()) return;
  change([&](KnownRows& rows) {
    for (auto& [key, value, forgotten] : suggested) {
      if (rows.bytes() >= most_bytes_) return;
      if (forgotten == forgotten_ && rows.find(key) == nullptr) rows.learn(key, std::move(value));
    }
  });
}

void SharedKnownRows::keep_bound() {
  if (rows_.bytes() <= most_bytes_) return;
  change([](KnownRows& rows) { rows.clear(); });
  ++forgotten_;
}

void SharedKnownRows::begin_commit(const WriteOverlay& writes) {
  const std::unique_lock lock(rows_mutex_);
  committing_ = &writes;
}

void SharedKnownRows::end_commit(bool committed) {
  // Readers do not find these rows before the end, so they need not wait until all of them are learnt.
  for (auto row = committing_->rows().begin(); committed && row != committing_->rows().end();) {
    change([&](KnownRows& rows) {
      for (std::size_t n = 0; n < kLearntAtOnce && row != committing_->rows().end(); ++n, ++row) {
        rows.learn(row->first, row->second);
      }
    });
  }
  const std::unique_lock lock(rows_mutex_);
  committing_ = nullptr;
}

}  // namespace tidemark::kv
