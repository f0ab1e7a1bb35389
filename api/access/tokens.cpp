#include "api/access/tokens.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "common/auth/bearer_token.h"
#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/process/private_file.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

constexpr std::size_t kMostTokens = 1000;
constexpr std::size_t kMostNameBytes = 63;
constexpr std::size_t kDigestBytes = 32;
constexpr const char* kOwnName = "stack";
constexpr const char* kFileForm =
    R"(must be of the form {"tokens":[{"name":"ann","role":"operator","sha256":"64 hex digits"}]})";

std::unexpected<Error> refuse(const std::string& where, const std::string& why) {
  return fail(ErrorCode::kConfigInvalid, "tokens_file: " + where + " " + why);
}

bool is_token_name(std::string_view name) {
  constexpr std::string_view kOthers = "._-@+";
  const auto fits = [&](unsigned char c) { return std::isalnum(c) != 0 || kOthers.contains(static_cast<char>(c)); };
  return !name.empty() && name.size() <= kMostNameBytes && name != kOwnName && std::ranges::all_of(name, fits);
}

std::string text_member(const json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<std::string> digest_of(const json& entry, const std::string& where) {
  if (entry.contains("sha256") == entry.contains("token")) return refuse(where, "needs either sha256 or token");
  if (entry.contains("token")) {
    const auto token = text_member(entry, "token");
    if (auth::is_token(token)) return sha256(token);
    return refuse(where, "has a token that is not 16 to 512 characters without blanks");
  }
  auto digest = hex_decode(text_member(entry, "sha256"));
  if (!digest || digest->size() != kDigestBytes) return refuse(where, "has a sha256 that is not 64 hex digits");
  return std::move(*digest);
}

Result<NamedToken> parse_token(const json& entry, const std::string& where) {
  if (!entry.is_object()) return refuse(where, "is not an object");
  for (const auto& [member, value] : entry.items()) {
    const bool known = member == "name" || member == "role" || member == "sha256" || member == "token";
    if (!known) return refuse(where, "has an unknown member; known: name, role, sha256, token");
  }
  NamedToken token{text_member(entry, "name"), Role::kNone, {}};
  if (!is_token_name(token.name)) {
    return refuse(where, "needs a name: 1 to 63 letters, digits and . _ - @ +, other than \"stack\"");
  }
  const auto role = role_from_name(text_member(entry, "role"));
  if (!role) return refuse(where, "needs a role: viewer, operator, admin or worker");
  token.role = *role;
  token.digest = TRY(digest_of(entry, where));
  return token;
}

const NamedToken* find_in(const std::vector<NamedToken>& tokens, std::string_view digest) {
  const NamedToken* found = nullptr;
  for (const auto& token : tokens) {
    if (constant_time_equal(token.digest, digest)) found = &token;
  }
  return found;
}

}  // namespace

Result<std::vector<NamedToken>> parse_tokens(std::string_view text) {
  const auto parsed = json_or_discarded(text);
  const bool good =
      parsed.is_object() && parsed.size() == 1 && parsed.contains("tokens") && parsed["tokens"].is_array();
  if (!good) return refuse("the file", kFileForm);
  if (parsed["tokens"].size() > kMostTokens) return refuse("the file", "has more than 1000 tokens");
  std::vector<NamedToken> tokens;
  for (const auto& entry : parsed["tokens"]) {
    const auto where = "tokens[" + std::to_string(tokens.size()) + "]";
    auto token = TRY(parse_token(entry, where));
    if (find_in(tokens, token.digest) != nullptr) return refuse(where, "is a token that stands there before");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<std::shared_ptr<Tokens>> Tokens::load(TokenSources sources) {
  if (sources.open && !(sources.token.empty() && sources.file.empty())) {
    return fail(ErrorCode::kConfigInvalid, "open and token or tokens_file exclude each other: remove one of them");
  }
  std::shared_ptr<Tokens> out(new Tokens(std::move(sources)));
  auto read = std::make_shared<const std::vector<NamedToken>>(TRY(out->read()));
  const MutexLock lock(out->mutex_);
  out->tokens_ = std::move(read);
  return out;
}

Result<std::vector<NamedToken>> Tokens::read() const {
  if (sources_.open) return std::vector<NamedToken>();
  std::vector<NamedToken> tokens;
  if (!sources_.file.empty()) {
    tokens = TRY(parse_tokens(TRY(process::read_private_file("tokens_file", sources_.file))));
  }
  auto own = sha256(TRY(auth::bearer_token(sources_.data, sources_.token)));
  if (find_in(tokens, own) != nullptr) return refuse("the file", "repeats the stack's own token");
  tokens.push_back({kOwnName, Role::kAdmin, std::move(own)});
  return tokens;
}

void Tokens::reload() {
  auto tokens = read();
  if (!tokens) {
    log_error("the tokens are kept, because the new ones cannot be used reason=\"{}\"", tokens.error().message);
    return;
  }
  auto fresh = std::make_shared<const std::vector<NamedToken>>(std::move(*tokens));
  const auto count = fresh->size();
  {
    const MutexLock lock(mutex_);
    tokens_ = std::move(fresh);
  }
  log_info("the tokens were read again count={}", count);
}

std::optional<NamedToken> Tokens::find(std::string_view token) const { return with_digest(sha256(token)); }

std::optional<NamedToken> Tokens::with_digest(std::string_view digest) const {
  const auto tokens = [&] {
    const MutexLock lock(mutex_);
    return tokens_;
  }();
  const auto* const found = find_in(*tokens, digest);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace tidemark::api
