// The tokens that give access to the api: the stack's own token, whose bearer is an admin, and those of a file, each
// with the name of its owner and a role. Only SHA-256 digests are kept. The file:
//
//   {"tokens": [{"name": "ann", "role": "operator", "sha256": "9f86d081..."},
//               {"name": "grafana", "role": "viewer", "token": "a-token-in-the-open"}]}
//
// Two tokens may have the same name while one replaces the other.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/access/role.h"
#include "common/base/error.h"
#include "common/base/mutex.h"

namespace tidemark::api {

struct NamedToken {
  std::string name;
  Role role = Role::kNone;
  std::string digest;  // SHA-256, 32 bytes
};

/// Reads the text of a file. kConfigInvalid says which entry is wrong and why, and never repeats a token.
Result<std::vector<NamedToken>> parse_tokens(std::string_view text);

struct TokenSources {
  std::filesystem::path data;  // of the stack; its token is in DATA/run/token unless one is configured
  std::string token;           // from the configuration
  std::string file;            // empty: none
  bool open = false;           // the api requires no token
};

/// Thread safe.
class Tokens {
 public:
  /// kConfigInvalid.
  static Result<std::shared_ptr<Tokens>> load(TokenSources sources);
  /// Reads the files again. If anything is wrong with them, the tokens stay as they are and the log says why.
  void reload();

  [[nodiscard]] bool open() const { return sources_.open; }
  /// Finds the token in a time that depends neither on which token it is, nor on how much of it is right.
  [[nodiscard]] std::optional<NamedToken> find(std::string_view token) const;
  /// Returns the token with this digest, if it is still accepted, with its present role.
  [[nodiscard]] std::optional<NamedToken> with_digest(std::string_view digest) const;

 private:
  explicit Tokens(TokenSources sources) : sources_(std::move(sources)) {}
  [[nodiscard]] Result<std::vector<NamedToken>> read() const;

  const TokenSources sources_;
  mutable Mutex mutex_;
  std::shared_ptr<const std::vector<NamedToken>> tokens_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::api
