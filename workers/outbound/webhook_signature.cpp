#include "workers/outbound/webhook_signature.h"

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "jobs/spec/on_end.h"

namespace tidemark::workers {
namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr std::size_t kLeastKeyBytes = 24;
constexpr std::size_t kMostKeyBytes = 64;

std::unexpected<Error> bad(std::size_t place, const char* why) {
  return fail(ErrorCode::kConfigInvalid, "callback_secrets: entry " + std::to_string(place) + " " + why);
}

}  // namespace

Result<SigningSecrets> SigningSecrets::parse(std::string_view text) {
  SigningSecrets out;
  for (std::size_t place = 1; !text.empty(); ++place) {
    auto piece = trimmed_spaces(take_item(text));
    if (piece.empty()) continue;
    std::string name(jobs::kDefaultSecret);
    if (!piece.starts_with(kPrefix)) {
      const auto equals = piece.find('=');
      if (equals == std::string_view::npos || equals == 0) return bad(place, "must be NAME=whsec_... or whsec_...");
      name = piece.substr(0, equals);
      piece.remove_prefix(equals + 1);
    }
    if (!piece.starts_with(kPrefix)) return bad(place, "must be a secret that begins with whsec_");
    auto key = base64_decode(piece.substr(kPrefix.size()));
    if (!key || key->size() < kLeastKeyBytes || key->size() > kMostKeyBytes) {
      return bad(place, "must have 24 to 64 bytes in Base64 after whsec_");
    }
    out.keys_[std::move(name)].push_back(std::move(*key));
  }
  return out;
}

const std::vector<std::string>* SigningSecrets::find(const std::string& name) const {
  const auto found = keys_.find(name);
  return found == keys_.end() ? nullptr : &found->second;
}

std::string webhook_timestamp(Time now) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
}

std::string webhook_signature(const std::vector<std::string>& keys, std::string_view id, std::string_view timestamp,
                              std::string_view body) {
  std::string content(id);
  content.append(".").append(timestamp).append(".").append(body);
  std::string out;
  for (const auto& key : keys) {
    if (!out.empty()) out += ' ';
    out += "v1," + base64_encode(hmac_sha256(key, content));
  }
  return out;
}

}  // namespace tidemark::workers
