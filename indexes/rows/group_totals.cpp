#include "indexes/rows/group_totals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/base/json.h"
#include "jobs/store/rows.h"

namespace tidemark::indexes {
namespace {

using nlohmann::json;
using table_store::Property;

bool is_number(const Number& number) { return !std::holds_alternative<std::monostate>(number); }

/// Returns a number that can hold every std::int64_t and every double.
long double wide(const Number& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return static_cast<long double>(*whole);
  return static_cast<long double>(std::get<double>(number));
}

void widen(Number& min, Number& max, const Number& number) {
  if (!is_number(number) || std::isnan(wide(number))) return;
  if (!is_number(min) || less(number, min)) min = number;
  if (!is_number(max) || less(max, number)) max = number;
}

std::string text_of(__int128 number) {
  const bool negative = number < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(number) : static_cast<unsigned __int128>(number);
  std::string digits;
  do digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  while ((rest /= 10) != 0);
  if (negative) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

std::optional<__int128> whole_in(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  constexpr std::size_t kMostDigits = 38;
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  __int128 number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return negative ? -number : number;
}

std::string text_of(long double number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

std::optional<long double> real_in(const json& part) {
  if (part.is_number()) return part.get<double>();  // as earlier versions wrote it
  if (!part.is_string()) return std::nullopt;
  const auto& text = part.get_ref<const std::string&>();
  long double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

void add_number(std::vector<Property>& out, const char* name, const Number& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) out.push_back({name, *whole});
  if (const auto* real = std::get_if<double>(&number)) out.push_back({name, *real});
}

Number number_in(const table_store::Entity& row, std::string_view name) {
  if (const auto* whole = jobs::property<std::int64_t>(row, name)) return *whole;
  if (const auto* real = jobs::property<double>(row, name)) return *real;
  return {};
}

}  // namespace

bool less(const Number& a, const Number& b) { return is_number(a) && is_number(b) && wide(a) < wide(b); }

void GroupTotals::add(const GroupTotals& other) {
  count += other.count;
  numbers += other.numbers;
  reals += other.reals;
  whole_sum += other.whole_sum;
  real_sum += other.real_sum;
  widen(min, max, other.min);
  widen(min, max, other.max);
}

void GroupTotals::subtract(const GroupTotals& other) {
  count -= other.count;
  numbers -= other.numbers;
  reals -= other.reals;
  whole_sum -= other.whole_sum;
  real_sum = reals == 0 ? 0 : real_sum - other.real_sum;
}

Number GroupTotals::sum() const {
  using Whole = std::numeric_limits<std::int64_t>;
  if (numbers == 0) return {};
  if (reals == 0 && whole_sum >= Whole::min() && whole_sum <= Whole::max()) return static_cast<std::int64_t>(whole_sum);
  return static_cast<double>(static_cast<long double>(whole_sum) + real_sum);
}

GroupTotals totals_of(const std::vector<ListEntry>& entries) {
  GroupTotals totals;
  for (const auto& entry : entries) {
    ++totals.count;
    if (!is_number(entry.value)) continue;
    ++totals.numbers;
    if (const auto* whole = std::get_if<std::int64_t>(&entry.value)) totals.whole_sum += *whole;
    if (const auto* real = std::get_if<double>(&entry.value)) {
      ++totals.reals;
      totals.real_sum += *real;
    }
    widen(totals.min, totals.max, entry.value);
  }
  return totals;
}

namespace {

bool loses_an_extreme(const GroupTotals& group, const GroupTotals& before, const GroupTotals& after) {
  const bool held_min = is_number(before.min) && !less(group.min, before.min);
  const bool held_max = is_number(before.max) && !less(before.max, group.max);
  return (held_min && (!is_number(after.min) || less(before.min, after.min))) ||
         (held_max && (!is_number(after.max) || less(after.max, before.max)));
}

/// Tells whether a change takes most of the sum of Doubles away. The rest would have only the digits for which the
/// whole sum had room.
bool loses_digits(const GroupTotals& group, const GroupTotals& before, const GroupTotals& after) {
  constexpr long double kMostTakenAway = 1024;
  if (before.reals == 0 || group.reals == before.reals) return false;
  const auto left = group.real_sum - before.real_sum + after.real_sum;
  const auto most = std::max({std::abs(group.real_sum), std::abs(before.real_sum), std::abs(after.real_sum)});
  return !std::isfinite(left) || std::abs(left) * kMostTakenAway < most;
}

}  // namespace

bool loses_track(const GroupTotals& group, const GroupTotals& before, const GroupTotals& after) {
  return loses_an_extreme(group, before, after) || loses_digits(group, before, after);
}

std::vector<Property> summary_properties(std::string_view group, const GroupTotals& totals) {
  std::vector<Property> out{{"Group", std::string(group)}, {"Count", totals.count}};
  add_number(out, "Sum", totals.sum());
  add_number(out, "Min", totals.min);
  add_number(out, "Max", totals.max);
  const auto parts = json::array({totals.numbers, totals.reals, text_of(totals.whole_sum), text_of(totals.real_sum)});
  out.push_back({"Parts", parts.dump()});
  return out;
}

Result<GroupTotals> read_summary(const table_store::Entity& row) {
  const auto corrupt = [&] {
    return fail(
        error_for_log(ErrorCode::kCorruption, "row " + row.row_key + " of " + row.partition_key + " is no summary"));
  };
  const auto* text = jobs::property<std::string>(row, "Parts");
  const auto parts = text == nullptr ? json(json::value_t::discarded) : json_or_discarded(*text);
  if (!parts.is_array() || parts.size() != 4 || !parts[0].is_number_integer() || !parts[1].is_number_integer() ||
      !parts[2].is_string()) {
    return corrupt();
  }
  GroupTotals totals;
  totals.count = jobs::property_or<std::int64_t>(row, "Count");
  totals.numbers = parts[0].get<std::int64_t>();
  totals.reals = parts[1].get<std::int64_t>();
  const auto whole = whole_in(parts[2].get_ref<const std::string&>());
  const auto real = real_in(parts[3]);
  if (!whole || !real) return corrupt();
  totals.whole_sum = *whole;
  totals.real_sum = *real;
  totals.min = number_in(row, "Min");
  totals.max = number_in(row, "Max");
  return totals;
}

}  // namespace tidemark::indexes
