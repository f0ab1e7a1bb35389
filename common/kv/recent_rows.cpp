#include "common/kv/recent_rows.h"

#include <utility>

namespace tidemark::kv {
namespace {

constexpr std::size_t kRecentRowOverhead = 160;  // the approximate memory of a row beside its bytes
constexpr std::size_t kMaxRowBytes = 4096;       // larger ones cost more to keep than to find

std::size_t byte_of(char c) { return static_cast<unsigned char>(c); }

}  // namespace

std::size_t RecentRows::Row::bytes() const { return kRecentRowOverhead + key.size() + (value ? value->size() : 0); }

const RecentRows::Row* RecentRows::Part::find(const Name& name) {
  if (const auto found = young.rows.find(name); found != young.rows.end()) return &*found;
  const auto found = old.rows.find(name);
  if (found == old.rows.end()) return nullptr;
  const auto bytes = found->bytes();
  old.bytes -= bytes;
  young.bytes += bytes;
  return &*young.rows.insert(old.rows.extract(found)).position;
}

RecentRows::Rows RecentRows::Part::turn_if_full(std::size_t most_bytes) {
  if (2 * young.bytes <= most_bytes) return {};
  auto forgotten = std::exchange(old, std::exchange(young, {}));
  return std::move(forgotten.rows);
}

std::optional<RecentRows::Value> RecentRows::find(std::string_view key, Moment at) {
  const auto name = name_of(key);
  auto& part = part_of(name);
  const MutexLock lock(part.mutex);
  const auto* row = part.find(name);
  const bool known = row != nullptr && row->from <= at;
  ++(known ? part.hits : part.misses);
  return known ? std::optional(row->value) : std::nullopt;
}

void RecentRows::remember(std::string_view key, std::optional<std::string_view> value, Moment at) {
  if (value && value->size() > kMaxRowBytes) return;
  auto kept = value ? std::make_shared<const std::string>(*value) : nullptr;
  const auto name = name_of(key);
  auto& part = part_of(name);
  Rows forgotten;
  const MutexLock lock(part.mutex);
  if (part.erased > at || part.changed[slot_of(name)] > at || part.find(name) != nullptr) return;
  const auto row = part.young.rows.insert({std::string(key), name.hash, std::move(kept), at}).first;
  part.young.bytes += row->bytes();
  part.first_bytes.set(key.empty() ? 0 : byte_of(key[0]));
  forgotten = part.turn_if_full(most_bytes_);
}

void RecentRows::change(std::string_view key, const std::optional<std::string>& value, Moment from) {
  const auto name = name_of(key);
  auto& part = part_of(name);
  const MutexLock lock(part.mutex);
  part.changed[slot_of(name)] = from;
  for (auto* generation : {&part.young, &part.old}) {
    const auto row = generation->rows.find(name);
    if (row == generation->rows.end()) continue;
    generation->bytes -= row->bytes();
    // A writer that inserts a row has looked for it before, so the entry does not show that readers want the row.
    const bool inserted = row->value == nullptr;
    if (inserted || !value || value->size() > kMaxRowBytes) {
      generation->rows.erase(row);
    } else {
      row->value = std::make_shared<const std::string>(*value);
      row->from = from;
      generation->bytes += row->bytes();
    }
    return;
  }
}

void RecentRows::erase(const KeyRange& range, Moment from) {
  const auto first = range.lower.empty() ? 0 : byte_of(range.lower[0]);
  const auto last = range.upper.empty() ? 255 : byte_of(range.upper[0]);
  const auto in_range = [&](const Row& row) {
    return row.key >= range.lower && (range.upper.empty() || row.key < range.upper);
  };
  for (auto& part : parts_) {
    const MutexLock lock(part.mutex);
    part.erased = from;
    bool any = false;
    for (auto byte = first; byte <= last && !any; ++byte) any = part.first_bytes[byte];
    if (!any) continue;
    for (auto* generation : {&part.young, &part.old}) {
      std::erase_if(generation->rows, [&](const Row& row) {
        if (!in_range(row)) return false;
        generation->bytes -= row.bytes();
        return true;
      });
    }
  }
}

RecentRows::Figures RecentRows::figures() const {
  Figures out;
  for (const auto& part : parts_) {
    const MutexLock lock(part.mutex);
    out.bytes += part.young.bytes + part.old.bytes;
    out.found += part.hits;
    out.not_found += part.misses;
  }
  return out;
}

}  // namespace tidemark::kv
