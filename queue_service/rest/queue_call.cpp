#include "queue_service/rest/queue_call.h"

#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::queue_service::rest {

Result<std::optional<std::int64_t>> Call::number(std::string_view name, std::int64_t min, std::int64_t max) const {
  return protocol::number_parameter(name, parameter(name), min, max);
}

Result<Target> parse_target(std::string_view rest) {
  while (rest.ends_with('/')) rest.remove_suffix(1);
  std::vector<std::string> parts;
  while (!rest.empty()) {
    const auto slash = rest.find('/');
    auto part = percent_decode(rest.substr(0, slash), false);
    if (!part) return fail(ErrorCode::kInvalidUri);
    parts.push_back(std::move(*part));
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  }
  if (parts.size() > 3 || (parts.size() > 1 && !iequals_ascii(parts[1], "messages"))) {
    return fail(ErrorCode::kInvalidUri);
  }
  Target target;
  if (!parts.empty()) target.queue = std::move(parts[0]);
  TRY(check_is_whole(target.queue));
  target.messages = parts.size() > 1;
  if (parts.size() > 2) target.message_id = to_lower_ascii(parts[2]);
  return target;
}

http::Response uncached(http::Response response) {
  response.set("Cache-Control", "no-cache");
  return response;
}

}  // namespace tidemark::queue_service::rest
