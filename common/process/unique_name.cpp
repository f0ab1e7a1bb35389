#include "common/process/unique_name.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tidemark::process {
namespace {

/// Returns this machine's name without its domain, shortened and cleaned for the name of a process.
std::string host_label() {
  constexpr std::size_t kMostChars = 40;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  const std::string_view whole(name.data());
  std::string label(whole.substr(0, std::min(whole.find('.'), kMostChars)));
  std::ranges::replace_if(label, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return label.empty() ? "host" : label;
}

}  // namespace

std::string unique_name(const std::string& program) {
  return program + "-" + host_label() + "-" + std::to_string(::getpid());
}

}  // namespace tidemark::process
