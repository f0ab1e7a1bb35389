#include "indexes/rows/list_piece.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "indexes/rows/group_text.h"
#include "jobs/store/rows.h"

namespace tidemark::indexes {
namespace {

using nlohmann::json;

constexpr std::size_t kBoundDigits = 16;

json json_of(const ListEntry& entry) {
  auto out = json::array({entry.partition_key, entry.row_key});
  if (const auto* whole = std::get_if<std::int64_t>(&entry.value)) out.push_back(*whole);
  if (const auto* real = std::get_if<double>(&entry.value); real != nullptr && std::isfinite(*real)) {
    out.push_back(*real);
  }
  return out;
}

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::optional<ListEntry> entry_of(const json& item) {
  if (!item.is_array() || item.size() < 2 || !item[0].is_string() || !item[1].is_string()) return std::nullopt;
  ListEntry entry{item[0].get<std::string>(), item[1].get<std::string>()};
  if (item.size() > 2 && item[2].is_number_integer()) entry.value = item[2].get<std::int64_t>();
  if (item.size() > 2 && item[2].is_number_float()) entry.value = item[2].get<double>();
  entry.hash = entry_hash(entry.partition_key, entry.row_key);
  return entry;
}

std::optional<std::uint64_t> bound_in(std::string_view row_key) {
  if (row_key.size() < kBoundDigits) return std::nullopt;
  const auto bytes = hex_decode(row_key.substr(row_key.size() - kBoundDigits));
  if (!bytes) return std::nullopt;
  std::uint64_t bound = 0;
  for (const char byte : *bytes) bound = bound << 8 | static_cast<std::uint8_t>(byte);
  return bound;
}

/// The first entry of the upper half of [first, last), so that equal hashes stay together; `first` if they are all one.
std::size_t middle_of(const std::vector<ListEntry>& entries, std::size_t first, std::size_t last) {
  const auto hash = entries[first + (last - first) / 2].hash;
  const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(last);
  auto split = std::ranges::lower_bound(begin, end, hash, {}, &ListEntry::hash);
  if (split == begin) split = std::ranges::upper_bound(begin, end, hash, {}, &ListEntry::hash);
  return split == end ? first : static_cast<std::size_t>(split - entries.begin());
}

}  // namespace

std::uint64_t entry_hash(std::string_view partition_key, std::string_view row_key) {
  std::string text(partition_key);
  text += '\0';
  text += row_key;
  const auto digest = sha256(text);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < sizeof hash; ++i) hash = hash << 8 | static_cast<std::uint8_t>(digest[i]);
  return hash;
}

std::string GroupPlace::row_key(std::uint64_t bound) const {
  char digits[kBoundDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(bound));
  return row_prefix + digits;
}

std::string GroupPlace::end() const { return row_prefix + "g"; }

GroupPlace group_across(std::string_view group) { return {std::string(group), "keys_"}; }

GroupPlace group_in_partition(std::string_view index_name, std::string_view partition_key, std::string_view group) {
  return {std::string(partition_key), std::string(index_name) + "_" + std::string(group) + "_"};
}

Result<ListPiece> read_piece(const table_store::Entity& row) {
  ListPiece piece;
  const auto bound = bound_in(row.row_key);
  const auto* keys = jobs::property<std::string>(row, "Keys");
  const auto list = keys == nullptr ? json(json::value_t::discarded) : json_or_discarded(*keys);
  if (!bound || !list.is_array())
    return fail(error_for_log(ErrorCode::kCorruption, "row " + row.row_key + " is no piece"));
  piece.bound = *bound;
  piece.group = jobs::property_or<std::string>(row, "Group");
  for (const auto& item : list) {
    auto entry = entry_of(item);
    if (!entry) return fail(error_for_log(ErrorCode::kCorruption, "row " + row.row_key + " has what is no key"));
    piece.entries.push_back(std::move(*entry));
  }
  std::ranges::sort(piece.entries, {}, &ListEntry::hash);
  return piece;
}

std::vector<table_store::Property> piece_properties(const ListPiece& piece) {
  auto keys = json::array();
  for (const auto& entry : piece.entries) keys.push_back(json_of(entry));
  return {{"Group", piece.group}, {"Count", static_cast<std::int32_t>(piece.entries.size())}, {"Keys", text_of(keys)}};
}

std::vector<ListPiece> divided(ListPiece piece) {
  constexpr std::size_t kBrackets = 2;
  auto& entries = piece.entries;
  std::vector<std::size_t> units_before{0};
  for (const auto& entry : entries)
    units_before.push_back(units_before.back() + utf16_length(text_of(json_of(entry))) + 1);
  std::vector<ListPiece> out;
  const auto cut = [&](const auto& self, std::size_t first, std::size_t last, std::uint64_t bound) -> void {
    const auto units = units_before[last] - units_before[first] + kBrackets;
    const auto middle = units > kPieceUnits ? middle_of(entries, first, last) : first;
    if (middle == first) {
      ListPiece part{bound, piece.group, {}};
      const auto begin = std::make_move_iterator(entries.begin());
      part.entries.assign(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last));
      out.push_back(std::move(part));
      return;
    }
    self(self, first, middle, entries[middle - 1].hash);
    self(self, middle, last, bound);
  };
  cut(cut, 0, entries.size(), piece.bound);
  return out;
}

}  // namespace tidemark::indexes
