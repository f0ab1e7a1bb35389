#include "indexes/rows/list_piece.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "common/base/encoding.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "table_store/model/group_text.h"
#include "table_store/model/limits.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::indexes {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kBoundDigits = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The names that OData has for doubles that are not numbers of JSON.
constexpr std::array<std::pair<std::string_view, double>, 3> kNoJsonNumbers{
    {{"Infinity", kInfinity}, {"-Infinity", -kInfinity}, {"NaN", std::numeric_limits<double>::quiet_NaN()}}};

void append_double(std::string& out, double value) {
  if (std::isfinite(value)) return table_store::append_json_double(out, value);
  for (const auto& [text, number] : kNoJsonNumbers) {
    if (same(number, value)) return table_store::append_json_string(out, text);
  }
}

Number number_from(std::string_view text) {
  for (const auto& [known, number] : kNoJsonNumbers) {
    if (known == text) return number;
  }
  return {};
}

void append_entry(std::string& out, const ListEntry& entry) {
  out += '[';
  table_store::append_json_string(out, entry.partition_key);
  out += ',';
  table_store::append_json_string(out, entry.row_key);
  if (const auto* whole = std::get_if<std::int64_t>(&entry.value)) out += ',' + std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&entry.value)) {
    out += ',';
    append_double(out, *real);
  }
  out += ']';
}

std::optional<std::string> text_at(const dom::array& item, std::size_t place) {
  std::string_view text;
  if (item.at(place).get(text) != simdjson::SUCCESS) return std::nullopt;
  return std::string(text);
}

std::optional<ListEntry> entry_of(dom::element element) {
  dom::array item;
  if (element.get(item) != simdjson::SUCCESS) return std::nullopt;
  auto partition_key = text_at(item, 0);
  auto row_key = text_at(item, 1);
  if (!partition_key || !row_key) return std::nullopt;
  ListEntry entry{std::move(*partition_key), std::move(*row_key)};
  dom::element value;
  if (item.at(2).get(value) != simdjson::SUCCESS) return entry;
  // A whole number may be read as a double, too.
  if (value.is_int64()) {
    entry.value = std::int64_t{value};
  } else if (value.is_double()) {
    entry.value = double{value};
  } else if (value.is_string()) {
    entry.value = number_from(std::string_view{value});
  }
  return entry;
}

std::optional<std::vector<ListEntry>> entries_in(const std::string& text) {
  thread_local dom::parser parser;
  dom::array list;
  if (parser.parse(text).get(list) != simdjson::SUCCESS) return std::nullopt;
  std::vector<ListEntry> entries;
  entries.reserve(list.size());
  for (const auto item : list) {
    auto entry = entry_of(item);
    if (!entry) return std::nullopt;
    entries.push_back(std::move(*entry));
  }
  return entries;
}

/// Returns the first entry of the upper half of [first, last), such that equal hashes stay together; `first` if all are
/// equal.
std::size_t middle_of(const std::vector<ListEntry>& entries, std::size_t first, std::size_t last) {
  const auto hash = entries[first + (last - first) / 2].hash();
  const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(last);
  auto split = std::ranges::lower_bound(begin, end, hash, {}, &ListEntry::hash);
  if (split == begin) split = std::ranges::upper_bound(begin, end, hash, {}, &ListEntry::hash);
  return split == end ? first : static_cast<std::size_t>(split - entries.begin());
}

std::size_t limit_of(const PieceForm& form) { return form.most_bytes > 0 ? form.most_bytes : piece_units().load(); }

std::size_t size_of(std::string_view keys, const PieceForm& form) {
  return form.most_bytes > 0 ? keys.size() : utf16_length(keys);
}

/// Makes the rows of a piece: writes the text of its entries once, and cuts it where it is too long.
class Cutter {
 public:
  Cutter(const ListPiece& piece, const PieceForm& form) : piece_(piece), form_(form) {
    fits_property_ = utf16_length(piece.group) <= table_store::kMaxStringUnits;
    for (const auto& entry : piece.entries) {
      begins_.push_back(text_.size());
      append_entry(text_, entry);
      text_ += ',';
    }
    begins_.push_back(text_.size());
  }

  std::vector<PieceRow> cut() {
    if (!piece_.entries.empty()) cut(0, piece_.entries.size(), piece_.bound);
    return std::move(rows_);
  }

 private:
  [[nodiscard]] std::string_view text_of(std::size_t first, std::size_t last) const {
    return std::string_view(text_).substr(begins_[first], begins_[last] - begins_[first] - 1);
  }

  [[nodiscard]] bool fits(std::string_view text) const {
    constexpr std::size_t kBrackets = 2;
    return text.size() + kBrackets <= limit_of(form_) || size_of(text, form_) + kBrackets <= limit_of(form_);
  }

  void cut(std::size_t first, std::size_t last, std::uint64_t bound) {
    const auto text = text_of(first, last);
    const auto middle = fits(text) ? first : middle_of(piece_.entries, first, last);
    if (middle == first) {
      auto& properties = rows_.emplace_back(PieceRow{bound, {}}).properties;
      if (fits_property_) properties.push_back({std::string(form_.group), piece_.group});
      properties.push_back({"Count", static_cast<std::int32_t>(last - first)});
      properties.push_back({std::string(form_.keys), "[" + std::string(text) + "]"});
      return;
    }
    cut(first, middle, piece_.entries[middle - 1].hash());
    cut(middle, last, bound);
  }

  const ListPiece& piece_;
  const PieceForm& form_;
  bool fits_property_ = true;
  std::string text_;
  std::vector<std::size_t> begins_;  // where the entries begin in the text, and the text's end
  std::vector<PieceRow> rows_;
};

}  // namespace

bool same(const Number& a, const Number& b) {
  const auto is_nan = [](const Number& number) {
    const auto* real = std::get_if<double>(&number);
    return real != nullptr && std::isnan(*real);
  };
  return a == b || (is_nan(a) && is_nan(b));
}

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
  if (!last_row.empty() && bound == ListPiece{}.bound) return std::string(last_row);
  char digits[kBoundDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(bound));
  return row_prefix + digits;
}

bool GroupPlace::has(std::string_view key) const {
  if (!last_row.empty() && key == last_row) return true;
  const auto bound = bound_of(key);
  return bound && row_key(*bound) == key;
}

std::uint32_t GroupPlace::row_key_bytes() const {
  return last_row.empty() ? static_cast<std::uint32_t>(row_prefix.size() + kBoundDigits) : 0;
}

std::string GroupPlace::end() const {
  return last_row.empty() ? row_prefix + "g" : std::string(last_row) + jobs::kJustBehind;
}

std::string GroupPlace::filter_from(std::uint64_t bound) const {
  return "PartitionKey eq " + jobs::literal(partition_key) + " and RowKey ge " + jobs::literal(row_key(bound)) +
         " and RowKey lt " + jobs::literal(end());
}

GroupPlace group_across(std::string_view group) { return {std::string(group), "keys_"}; }

std::string references_of(std::string_view index_id) { return "references " + std::string(index_id); }

GroupPlace references_to(std::string_view index_id, std::string_view group) {
  return {references_of(index_id) + " " + std::string(group), "keys_"};
}

std::string lists_of(std::string_view index_id) { return "lists " + std::string(index_id); }

GroupPlace group_in_blobs(std::string_view index_id, std::string_view group) {
  return {lists_of(index_id) + " " + std::string(group), "keys_"};
}

std::string rows_in_partition(std::string_view index_name) { return std::string(index_name) + "_"; }

GroupPlace group_in_partition(std::string_view index_name, std::string_view partition_key, std::string_view group) {
  return {std::string(partition_key), rows_in_partition(index_name) + std::string(group) + "_"};
}

GroupPlace group_of_value(std::string_view value) {
  auto text = table_store::escape_key_text(value);
  if (utf16_length(text) > table_store::kMaxKeyUnits) text = "%sha256:" + hex_encode(sha256(value));
  return {std::move(text), "-", kIndexJobForm.last_row};
}

std::optional<std::uint64_t> bound_of(std::string_view row_key, const PieceForm& form) {
  if (!form.last_row.empty() && row_key == form.last_row) return ListPiece{}.bound;
  if (row_key.size() < kBoundDigits) return std::nullopt;
  const auto bytes = hex_decode(row_key.substr(row_key.size() - kBoundDigits));
  if (!bytes) return std::nullopt;
  std::uint64_t bound = 0;
  for (const char byte : *bytes) bound = bound << 8 | static_cast<std::uint8_t>(byte);
  return bound;
}

Result<ListPiece> read_piece(const table_store::Entity& row, const PieceForm& form) {
  ListPiece piece;
  const auto bound = bound_of(row.row_key, form);
  const auto* keys = jobs::property<std::string>(row, form.keys);
  auto entries = keys == nullptr ? std::nullopt : entries_in(*keys);
  if (!bound || !entries) {
    return fail(error_for_log(ErrorCode::kCorruption, "row " + row.row_key + " is no piece of a list"));
  }
  piece.bound = *bound;
  piece.group = jobs::property_or<std::string>(row, form.group);
  piece.entries = std::move(*entries);
  return piece;
}

std::atomic<std::size_t>& piece_units() {
  static std::atomic<std::size_t> units = kPieceUnits;
  return units;
}

std::size_t piece_size(const ListPiece& piece, const PieceForm& form) {
  std::string text;
  for (const auto& entry : piece.entries) {
    append_entry(text, entry);
    text += ',';
  }
  return size_of(text, form);
}

std::size_t piece_size(const table_store::Entity& row, const PieceForm& form) {
  if (const auto* keys = jobs::property<std::string>(row, form.keys)) return size_of(*keys, form);
  const auto* bytes = form.most_bytes > 0 ? jobs::property<std::int64_t>(row, kBytesProperty) : nullptr;
  return bytes != nullptr && *bytes >= 0 ? static_cast<std::size_t>(*bytes) : limit_of(form) + 1;
}

bool is_small(std::size_t size, const PieceForm& form) { return size <= limit_of(form) / 2; }

std::vector<PieceRow> piece_rows(const ListPiece& piece, const PieceForm& form) { return Cutter(piece, form).cut(); }

}  // namespace tidemark::indexes
