#include "common/base/time.h"

#include <array>
#include <charconv>

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
  auto rest = (time - day).count();
  Civil c{};
  c.year = static_cast<int>(date.year());
  c.month = static_cast<unsigned>(date.month());
  c.day = static_cast<unsigned>(date.day());
  c.fraction = static_cast<unsigned>(rest % 10'000'000);
  rest /= 10'000'000;
  c.second = static_cast<unsigned>(rest % 60);
  c.minute = static_cast<unsigned>(rest / 60 % 60);
  c.hour = static_cast<unsigned>(rest / 3600);
  return c;
}

std::optional<Time> from_civil(const Civil& c) {
  const std::chrono::year_month_day date{std::chrono::year{c.year}, std::chrono::month{c.month},
                                         std::chrono::day{c.day}};
  if (!date.ok() || c.year < 1 || c.year > 9999 || c.hour > 23 || c.minute > 59 || c.second > 59) return std::nullopt;
  const std::int64_t seconds = c.hour * 3600LL + c.minute * 60LL + c.second;
  return Time(std::chrono::sys_days{date}) + std::chrono::seconds(seconds) + Ticks(c.fraction);
}

char* put_padded(char* at, unsigned value, int width) {
  for (int i = width - 1; i >= 0; --i) {
    at[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  return at + width;
}

void append_padded(std::string& out, unsigned value, int width) {
  std::array<char, 10> digits{};
  out.append(digits.data(), put_padded(digits.data(), value, width));
}

// "2021-09-21T01:04:37.9678478" at the front of `text`; its end.
char* put_iso_with_fraction(std::array<char, 28>& text, const Civil& c) {
  char* at = put_padded(text.data(), static_cast<unsigned>(c.year), 4);
  const std::array<std::pair<char, unsigned>, 5> parts{
      {{'-', c.month}, {'-', c.day}, {'T', c.hour}, {':', c.minute}, {':', c.second}}};
  for (const auto& [separator, value] : parts) {
    *at++ = separator;
    at = put_padded(at, value, 2);
  }
  *at++ = '.';
  return put_padded(at, c.fraction, 7);
}

// Takes exactly `width` digits off the front.
bool take_digits(std::string_view& text, std::size_t width, unsigned& value) {
  if (text.size() < width) return false;
  value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + static_cast<unsigned>(text[i] - '0');
  }
  text.remove_prefix(width);
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool take_fraction(std::string_view& text, unsigned& fraction) {
  unsigned digits = 0;
  fraction = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (++digits > 7) return false;
    fraction = fraction * 10 + static_cast<unsigned>(text.front() - '0');
    text.remove_prefix(1);
  }
  if (digits == 0) return false;
  for (; digits < 7; ++digits) fraction *= 10;
  return true;
}

// "Z", "+hh:mm", "-hh:mm" or nothing: minutes east of UTC.
std::optional<int> take_zone(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const int sign = text.front() == '-' ? -1 : 1;
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  unsigned hours = 0, minutes = 0;
  if (!take_digits(text, 2, hours)) return std::nullopt;
  take(text, ':');
  if (!take_digits(text, 2, minutes) || !text.empty() || hours > 14 || minutes > 59) return std::nullopt;
  return sign * static_cast<int>(hours * 60 + minutes);
}

constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

}  // namespace

Iso8601Text::Iso8601Text(Time time) {
  char* end = put_iso_with_fraction(text_, to_civil(time));
  while (end[-1] == '0') --end;
  if (end[-1] == '.') --end;
  *end++ = 'Z';
  size_ = static_cast<std::size_t>(end - text_.data());
}

std::string to_iso8601(Time time) { return std::string(Iso8601Text(time).view()); }

std::string to_iso8601_7digits(Time time) {
  std::array<char, 28> text;
  char* end = put_iso_with_fraction(text, to_civil(time));
  *end++ = 'Z';
  return {text.data(), end};
}

std::string to_rfc1123(Time time) {
  const auto c = to_civil(time);
  const std::chrono::weekday weekday{floor<days>(time)};
  std::string out(kDays[weekday.c_encoding()]);
  out += ", ";
  append_padded(out, c.day, 2);
  out.push_back(' ');
  out += kMonths[c.month - 1];
  out.push_back(' ');
  append_padded(out, static_cast<unsigned>(c.year), 4);
  out.push_back(' ');
  append_padded(out, c.hour, 2);
  out.push_back(':');
  append_padded(out, c.minute, 2);
  out.push_back(':');
  append_padded(out, c.second, 2);
  out += " GMT";
  return out;
}

std::optional<Time> parse_iso8601(std::string_view text) {
  Civil c{};
  unsigned year = 0;
  if (!take_digits(text, 4, year) || !take(text, '-') || !take_digits(text, 2, c.month) || !take(text, '-') ||
      !take_digits(text, 2, c.day)) {
    return std::nullopt;
  }
  c.year = static_cast<int>(year);
  if (text.empty()) return from_civil(c);
  if (!take(text, 'T') || !take_digits(text, 2, c.hour) || !take(text, ':') || !take_digits(text, 2, c.minute)) {
    return std::nullopt;
  }
  if (take(text, ':')) {
    if (!take_digits(text, 2, c.second)) return std::nullopt;
    if (take(text, '.') && !take_fraction(text, c.fraction)) return std::nullopt;
  }
  const auto zone = take_zone(text);
  const auto time = from_civil(c);
  if (!zone || !time) return std::nullopt;
  return *time - std::chrono::minutes(*zone);
}

std::optional<Time> parse_rfc1123(std::string_view text) {
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return std::nullopt;
  Civil c{};
  unsigned year = 0;
  text.remove_prefix(5);
  if (!take_digits(text, 2, c.day) || !take(text, ' ')) return std::nullopt;
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (text.substr(0, 3) == kMonths[i]) c.month = static_cast<unsigned>(i + 1);
  }
  text.remove_prefix(3);
  if (!take(text, ' ') || !take_digits(text, 4, year) || !take(text, ' ') || !take_digits(text, 2, c.hour) ||
      !take(text, ':') || !take_digits(text, 2, c.minute) || !take(text, ':') || !take_digits(text, 2, c.second)) {
    return std::nullopt;
  }
  c.year = static_cast<int>(year);
  return from_civil(c);
}

}  // namespace tidemark
