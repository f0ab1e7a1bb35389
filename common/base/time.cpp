#include "common/base/time.h"

#include <algorithm>
#include <array>

namespace tidemark {
namespace {

using std::chrono::days;
using std::chrono::floor;

struct Civil {
  int year;
  unsigned month, day, hour, minute, second, fraction;  // fraction: 100 ns
};

Civil to_civil(Time time) {
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  const auto count = [](auto duration) { return static_cast<unsigned>(duration.count()); };
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          count(clock.hours()),
          count(clock.minutes()),
          count(clock.seconds()),
          count(clock.subseconds())};
}

std::optional<Time> from_civil(const Civil& c) {
  const std::chrono::year_month_day date{std::chrono::year{c.year}, std::chrono::month{c.month},
                                         std::chrono::day{c.day}};
  if (!date.ok() || c.year < 1 || c.year > 9999 || c.hour > 23 || c.minute > 59 || c.second > 59) return std::nullopt;
  const std::int64_t seconds = c.hour * 3600LL + c.minute * 60LL + c.second;
  return Time(std::chrono::sys_days{date}) + std::chrono::seconds(seconds) + Ticks(c.fraction);
}

void put_padded(char* at, unsigned value, int width) {
  for (int i = width - 1; i >= 0; --i) {
    at[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

constexpr std::string_view kIso8601 = "0000-00-00T00:00:00.0000000Z";
constexpr std::string_view kRfc1123 = "___, 00 ___ 0000 00:00:00 GMT";

void put_iso8601(char* text, const Civil& c) {
  kIso8601.copy(text, kIso8601.size());
  put_padded(text, static_cast<unsigned>(c.year), 4);
  put_padded(text + 5, c.month, 2);
  put_padded(text + 8, c.day, 2);
  put_padded(text + 11, c.hour, 2);
  put_padded(text + 14, c.minute, 2);
  put_padded(text + 17, c.second, 2);
  put_padded(text + 20, c.fraction, 7);
}

/// Compares a text with a form, in which 0 stands for any digit and _ for any character.
bool has_form(std::string_view text, std::string_view form) {
  return std::ranges::equal(text, form, [](char c, char wanted) {
    return wanted == '_' || (wanted == '0' ? c >= '0' && c <= '9' : c == wanted);
  });
}

unsigned number(std::string_view digits) {
  unsigned value = 0;
  for (const char c : digits) value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
}

/// Rounds the fraction to seven digits, and an exact half to even. The result may be a whole second.
bool take_fraction(std::string_view& text, unsigned& fraction) {
  constexpr std::size_t kDigits = 7;
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  if (digits.empty()) return false;
  text.remove_prefix(digits.size());
  fraction = number(digits.substr(0, kDigits));
  for (auto count = digits.size(); count < kDigits; ++count) fraction *= 10;
  if (digits.size() <= kDigits || digits[kDigits] < '5') return true;
  const bool half = digits[kDigits] == '5' && digits.find_first_not_of('0', kDigits + 1) == std::string_view::npos;
  if (!half || fraction % 2 == 1) ++fraction;
  return true;
}

bool is_in_calendar(Time time) {
  using std::chrono::sys_days, std::chrono::year;
  return time >= sys_days{year{1} / 1 / 1} && time < sys_days{year{10000} / 1 / 1};
}

// Returns the minutes east of UTC of "Z", "+hh:mm", "-hh:mm" or an empty text.
std::optional<int> zone_of(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const bool west = text.front() == '-';
  if ((!west && text.front() != '+') || !(has_form(text, "_00:00") || has_form(text, "_0000"))) return std::nullopt;
  const auto hours = number(text.substr(1, 2)), minutes = number(text.substr(text.size() - 2));
  if (hours > 14 || minutes > 59) return std::nullopt;
  const auto offset = static_cast<int>(hours * 60 + minutes);
  return west ? -offset : offset;
}

constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

Iso8601Text::Iso8601Text(Time time) {
  put_iso8601(text_.data(), to_civil(time));
  char* end = text_.data() + kIso8601.size() - 1;
  while (end[-1] == '0') --end;
  if (end[-1] == '.') --end;
  *end++ = 'Z';
  size_ = static_cast<std::size_t>(end - text_.data());
}

std::string to_iso8601(Time time) { return std::string(Iso8601Text(time).view()); }

std::string to_iso8601_7digits(Time time) {
  std::string text(kIso8601);
  put_iso8601(text.data(), to_civil(time));
  return text;
}

std::string to_rfc1123(Time time) {
  const auto c = to_civil(time);
  std::string text(kRfc1123);
  kDays[std::chrono::weekday{floor<days>(time)}.c_encoding()].copy(text.data(), 3);
  put_padded(text.data() + 5, c.day, 2);
  kMonths[c.month - 1].copy(text.data() + 8, 3);
  put_padded(text.data() + 12, static_cast<unsigned>(c.year), 4);
  put_padded(text.data() + 17, c.hour, 2);
  put_padded(text.data() + 20, c.minute, 2);
  put_padded(text.data() + 23, c.second, 2);
  return text;
}

std::optional<Time> parse_iso8601(std::string_view text) {
  if (!has_form(text.substr(0, 10), "0000-00-00")) return std::nullopt;
  Civil c{
      static_cast<int>(number(text.substr(0, 4))), number(text.substr(5, 2)), number(text.substr(8, 2)), 0, 0, 0, 0};
  text.remove_prefix(10);
  if (text.empty()) return from_civil(c);
  if (!has_form(text.substr(0, 6), "T00:00")) return std::nullopt;
  c.hour = number(text.substr(1, 2));
  c.minute = number(text.substr(4, 2));
  text.remove_prefix(6);
  if (has_form(text.substr(0, 3), ":00")) {
    c.second = number(text.substr(1, 2));
    text.remove_prefix(3);
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      if (!take_fraction(text, c.fraction)) return std::nullopt;
    }
  }
  const auto zone = zone_of(text);
  const auto local = from_civil(c);
  if (!zone || !local) return std::nullopt;
  const auto time = *local - std::chrono::minutes(*zone);
  return is_in_calendar(time) ? std::optional(time) : std::nullopt;
}

std::optional<Time> parse_rfc1123(std::string_view text) {
  if (!has_form(text, kRfc1123)) return std::nullopt;
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  return from_civil({static_cast<int>(number(text.substr(12, 4))), static_cast<unsigned>(month - kMonths.begin() + 1),
                     number(text.substr(5, 2)), number(text.substr(17, 2)), number(text.substr(20, 2)),
                     number(text.substr(23, 2)), 0});
}

}  // namespace tidemark
