#include "common/auth/bearer_token.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/base/descriptor.h"
#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::auth {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kLeastChars = 16;
constexpr std::size_t kMostChars = 512;

fs::path path_of(const fs::path& data) { return data / "run" / "token"; }

std::unexpected<Error> refuse(const fs::path& path, const std::string& why) {
  return fail(ErrorCode::kConfigInvalid, "The token file " + path.string() + " " + why);
}

/// Makes the file as a whole or not at all, and never replaces that of another process.
Result<void> make(const fs::path& path) {
  const auto line = TRY(random_token()) + "\n";
  auto draft = path.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(draft.data(), O_CLOEXEC));  // mode 0600
  if (!file) return refuse(path, std::string("cannot be made: ") + std::strerror(errno) + ".");
  const bool whole =
      ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(file.get()) == 0;
  const bool named = whole && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  ::unlink(draft.c_str());
  if (!named) return refuse(path, std::string("cannot be made: ") + std::strerror(why) + ".");
  return {};
}

}  // namespace

bool is_token(std::string_view text) {
  return text.size() >= kLeastChars && text.size() <= kMostChars &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isgraph(c) != 0; });
}

Result<std::string> random_token() {
  std::array<unsigned char, kRandomBytes> bytes{};
  if (::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return fail(ErrorCode::kInternalError, "The system has no random numbers for a token.");
  }
  return hex_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::optional<std::string> stored_bearer_token(const fs::path& data) {
  std::ifstream in(path_of(data));
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  const std::string token(trimmed(line));
  return is_token(token) ? std::optional(token) : std::nullopt;
}

Result<std::string> bearer_token(const fs::path& data, const std::string& configured) {
  if (!configured.empty()) return configured;
  const auto path = path_of(data);
  std::error_code unknown;
  if (!fs::exists(path, unknown)) TRY(make(path));
  auto token = stored_bearer_token(data);
  if (!token) return refuse(path, "cannot be read, or holds no token: remove it, so that another one is made.");
  return std::move(*token);
}

std::optional<std::string_view> token_in(std::optional<std::string_view> header) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!header || header->size() < kScheme.size()) return std::nullopt;
  if (!iequals_ascii(header->substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return header->substr(kScheme.size());
}

bool bears(std::optional<std::string_view> header, std::string_view token) {
  const auto given = token_in(header);
  return given && constant_time_equal(*given, token);
}

}  // namespace tidemark::auth
