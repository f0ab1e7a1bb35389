#include "queue_service/model/message.h"

#include "common/base/encoding.h"

namespace tidemark::queue_service {

std::string etag_of(const Message& message) {
  constexpr std::size_t kBytes = 8;
  const auto digest = sha256(sha256(message.text) + sha256(message.annotation));
  return '"' + hex_encode(digest.substr(0, kBytes)) + '"';
}

Result<void> check_seen(const Message& message, std::string_view seen) {
  if (seen.empty() || etag_of(message) == seen) return {};
  return fail(ErrorCode::kConditionNotMet, "Somebody has changed the message since you looked at it: look again.");
}

}  // namespace tidemark::queue_service
