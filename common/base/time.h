// Time in 100 ns ticks, the resolution of the table protocol's DateTime.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

using Ticks = std::chrono::duration<std::int64_t, std::ratio<1, 10'000'000>>;
/// UTC, since 1970-01-01. Covers years 1 to 9999 and far beyond.
using Time = std::chrono::sys_time<Ticks>;
using Duration = Ticks;

/// Returns "2021-09-21T01:04:37.9678478Z", without trailing zeros of the fraction and without an empty fraction.
std::string to_iso8601(Time time);
/// The same text without an allocation, for answers that have several of them.
class Iso8601Text {
 public:
  explicit Iso8601Text(Time time);
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 28> text_;
  std::size_t size_;
};
/// Always has seven fraction digits, as in ACLs and error bodies.
std::string to_iso8601_7digits(Time time);
/// "Sat, 21 Nov 2026 11:35:19 GMT"
std::string to_rfc1123(Time time);
/// Accepts YYYY-MM-DD and YYYY-MM-DDThh:mm[:ss[.f]] with Z, an offset, or no zone (then UTC). The fraction may have any
/// number of digits and is rounded to a tick, or to the even one of two that are equally near. Nothing if the result is
/// not in the years 1 to 9999.
std::optional<Time> parse_iso8601(std::string_view text);
std::optional<Time> parse_rfc1123(std::string_view text);

}  // namespace tidemark
