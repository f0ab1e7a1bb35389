#include "tests/histories/history.h"

#include <algorithm>
#include <cstdio>

namespace tidemark::histories {
namespace {

/// The mixing function of splitmix64.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::string milliseconds(Moment moment) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(moment) / 1000);
  return text;
}

}  // namespace

const char* name_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "done";
    case Refusal::kExists:
      return "refused: exists";
    case Refusal::kAbsent:
      return "refused: not there";
    case Refusal::kMismatch:
      return "refused: not what was expected";
  }
  return "";
}

Fingerprint fingerprint_of(std::initializer_list<std::uint64_t> words) {
  Fingerprint out{0x6a09e667f3bcc908, 0xbb67ae8584caa73b};
  for (const auto word : words) {
    out.one = mixed(out.one ^ word);
    out.two = mixed(out.two + word);
  }
  return out;
}

std::string told(std::vector<Line> lines) {
  std::ranges::stable_sort(lines, {}, &Line::invoked);
  const auto begun = lines.empty() ? 0 : lines.front().invoked;
  std::string out;
  for (const auto& line : lines) {
    const auto end = line.returned == kForever ? "?" : milliseconds(line.returned - begun);
    char head[80];
    std::snprintf(head, sizeof head, "  %10s .. %-10s ms  client %-3d ", milliseconds(line.invoked - begun).c_str(),
                  end.c_str(), line.client);
    out += head + line.text + "\n";
  }
  return out;
}

}  // namespace tidemark::histories
