#include "tests/simulation/trace.h"

#include <cstdio>

namespace tidemark::simulation {

void Trace::mix(std::string_view bytes) {
  for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash_ = (hash_ ^ 0xFFU) * 1099511628211ULL;
}

void Trace::note(Time at, std::string_view what, std::string_view bytes, const std::function<std::string()>& detail) {
  ++notes_;
  auto ticks = static_cast<std::uint64_t>(at.time_since_epoch().count());
  char stamp[8];
  for (auto& c : stamp) {
    c = static_cast<char>(ticks & 0xFF);
    ticks >>= 8;
  }
  mix({stamp, sizeof stamp});
  mix(what);
  mix(bytes);
  if (!print_) return;
  const auto text = detail ? detail() : std::string(bytes);
  std::printf("%s %.*s %s\n", to_iso8601_7digits(at).substr(14).c_str(), static_cast<int>(what.size()), what.data(),
              text.c_str());
}

void Trace::violation(Time at, std::string text) {
  note(at, "VIOLATION", text, [&text] { return text; });
  violations_.push_back(std::move(text));
}

}  // namespace tidemark::simulation
