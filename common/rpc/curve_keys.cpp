#include "common/rpc/curve_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sstream>

#include "common/base/descriptor.h"
#include "common/base/encoding.h"
#include "common/base/small_file.h"
#include "common/base/text.h"

namespace tidemark::rpc {
namespace {

constexpr std::string_view kSecretWord = "tidemark-secret-key";
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kMaxKeys = 10'000;
using Z85 = std::array<char, 41>;

std::unexpected<Error> wrong(const std::string& path, const std::string& why) {
  return fail(ErrorCode::kConfigInvalid, "The file " + path + " " + why + ".");
}

std::string bytes_of(const Z85& text) {
  std::array<std::uint8_t, kKeyBytes> raw{};
  ::zmq_z85_decode(raw.data(), text.data());
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

std::optional<std::string> key_from_hex(std::string_view text) {
  auto key = hex_decode(text);
  if (!key || key->size() != kKeyBytes) return std::nullopt;
  return key;
}

Result<KeyPair> pair_of(std::string secret) {
  Z85 secret_text{};
  Z85 public_text{};
  ::zmq_z85_encode(secret_text.data(), reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size());
  if (::zmq_curve_public(public_text.data(), secret_text.data()) != 0) {
    return fail(ErrorCode::kConfigInvalid, "This system's ZeroMQ was built without CURVE, which keys need.");
  }
  return KeyPair{bytes_of(public_text), std::move(secret)};
}

Result<std::string> read_text(const std::string& path) {
  auto text = read_small_file(path);
  if (!text) return wrong(path, text.error().message);
  return text;
}

/// Returns the line without its comment and the blanks around it, split at its first blank.
std::pair<std::string_view, std::string_view> words_of(std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  const auto blank = line.find_first_of(" \t");
  if (blank == std::string_view::npos) return {line, {}};
  return {line.substr(0, blank), trimmed(line.substr(blank))};
}

}  // namespace

Result<KeyPair> make_key_pair() {
  Z85 public_text{};
  Z85 secret_text{};
  if (::zmq_curve_keypair(public_text.data(), secret_text.data()) != 0) {
    return fail(ErrorCode::kConfigInvalid, "This system's ZeroMQ was built without CURVE, which keys need.");
  }
  return KeyPair{bytes_of(public_text), bytes_of(secret_text)};
}

Result<void> write_key_file(const std::string& path, const KeyPair& keys) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) {
    if (errno == EEXIST) return wrong(path, "exists already; a key is never overwritten: remove it, or name another");
    return wrong(path, std::string("cannot be written: ") + std::strerror(errno));
  }
  const auto text = "# A secret of this process. Its public half: tidemark keys show FILE\n" +
                    std::string(kSecretWord) + " " + hex_encode(keys.secret_key) + "\n";
  const bool written =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file.get()) == 0;
  if (written) return {};
  const std::string why = std::strerror(errno);
  ::unlink(path.c_str());
  return wrong(path, "cannot be written: " + why);
}

Result<KeyPair> read_key_file(const std::string& path) {
  const auto text = TRY(read_text(path));
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0 && (found.st_mode & S_IRWXO) != 0) {
    return wrong(path, "holds a secret key and is open to every user of this machine: chmod 600 it");
  }
  std::optional<std::string> secret;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto [word, rest] = words_of(line);
    if (word.empty()) continue;
    if (word != kSecretWord || secret) return wrong(path, "is not a key file of `tidemark keys make`");
    secret = key_from_hex(rest);
    if (!secret) return wrong(path, "is not a key file of `tidemark keys make`");
  }
  if (!secret) return wrong(path, "has no key in it; make one with `tidemark keys make`");
  return pair_of(std::move(*secret));
}

Result<std::string> parse_public_key(std::string_view text, const std::string& what) {
  auto key = key_from_hex(text);
  if (key) return std::move(*key);
  return fail(ErrorCode::kConfigInvalid,
              what + " is not a public key, which has 64 hexadecimal digits; `tidemark keys show FILE` prints it.");
}

Result<AllowedKeys::Keys> AllowedKeys::parse(const std::string& path) {
  const auto text = TRY(read_text(path));
  Keys keys;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto word = words_of(line).first;
    if (word.empty()) continue;
    keys.insert(TRY(parse_public_key(word, path + ", line " + std::to_string(number) + ",")));
    if (keys.size() > kMaxKeys) return wrong(path, "has more than " + std::to_string(kMaxKeys) + " keys");
  }
  return keys;
}

Result<std::shared_ptr<AllowedKeys>> AllowedKeys::read(std::string path) {
  auto keys = TRY(parse(path));
  return std::shared_ptr<AllowedKeys>(new AllowedKeys(std::move(path), std::move(keys)));
}

Result<std::size_t> AllowedKeys::reload() {
  auto keys = TRY(parse(path_));
  const MutexLock lock(mutex_);
  keys_ = std::move(keys);
  return keys_.size();
}

bool AllowedKeys::contains(const std::string& public_key) const {
  const MutexLock lock(mutex_);
  return keys_.contains(public_key);
}

std::size_t AllowedKeys::size() const {
  const MutexLock lock(mutex_);
  return keys_.size();
}

}  // namespace tidemark::rpc
