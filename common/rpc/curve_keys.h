// The keys by which processes on different machines know each other: CurveZMQ, that is, Curve25519. Each process has a
// key pair, of which the public half may be known to everyone. Keys are 32 bytes; as text they are 64 hexadecimal
// digits, which survive shells, configuration files and environments unharmed.
//
//   key file    one line "tidemark-secret-key HEX"; the public half follows from it. Mode 0600; others may not read it.
//   key list    public keys that may connect, one a line, each with an optional name: "HEX worker-7"
//
// Both ignore empty lines, and all text after a '#'.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/mutex.h"

namespace tidemark::rpc {

struct KeyPair {
  std::string public_key;  // 32 bytes
  std::string secret_key;  // 32 bytes; never shown
};

/// kConfigInvalid if ZeroMQ was built without CURVE.
Result<KeyPair> make_key_pair();
/// kConfigInvalid if the file exists already or cannot be written.
Result<void> write_key_file(const std::string& path, const KeyPair& keys);
/// kConfigInvalid if the file cannot be read, can be read by others, or is not a key file.
Result<KeyPair> read_key_file(const std::string& path);
/// `what` names the setting or file in the error.
Result<std::string> parse_public_key(std::string_view text, const std::string& what);

/// The clients that a server admits, from a key list. Thread safe.
class AllowedKeys {
 public:
  /// The message of kConfigInvalid has the number of the wrong line.
  static Result<std::shared_ptr<AllowedKeys>> read(std::string path);
  /// Reads the file again. If it is wrong, the earlier keys stay. Returns the number of keys.
  Result<std::size_t> reload();
  [[nodiscard]] bool contains(const std::string& public_key) const;
  [[nodiscard]] std::size_t size() const;

 private:
  using Keys = std::set<std::string>;
  AllowedKeys(std::string path, Keys keys) : path_(std::move(path)), keys_(std::move(keys)) {}
  static Result<Keys> parse(const std::string& path);

  const std::string path_;
  mutable Mutex mutex_;
  Keys keys_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::rpc
