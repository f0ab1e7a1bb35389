#include "api/cli/environment_file.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace tidemark::cli {
namespace {

constexpr const char* kDefaultFile = "/etc/tidemark/secrets.env";
constexpr std::string_view kPrefix = "TIDEMARK_";
constexpr int kMostLines = 1000;

}  // namespace

void read_environment_file() {
  const char* named = std::getenv("TIDEMARK_ENV_FILE");
  std::ifstream in(named != nullptr ? named : kDefaultFile);
  std::string line;
  for (int lines = 0; lines < kMostLines && std::getline(in, line); ++lines) {
    const auto equals = line.find('=');
    if (!line.starts_with(kPrefix) || equals == std::string::npos) continue;
    const auto name = line.substr(0, equals);
    const char* known = std::getenv(name.c_str());
    if (known == nullptr || *known == '\0') ::setenv(name.c_str(), line.c_str() + equals + 1, 1);
  }
}

}  // namespace tidemark::cli
