// Functions that the operations of append blobs and page blobs share.
#pragma once
#include "blob_store/rest/blob_call.h"
#include "common/base/numbers.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store::operations {

/// Returns nothing if the header is absent. kInvalidHeaderValue if it is no number from 0 to 2^63-1.
inline Result<std::optional<std::uint64_t>> number_header(const Call& call, std::string_view name) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto text = call.header(name);
  if (text.empty()) return std::optional<std::uint64_t>();
  const auto number = parse_number<std::uint64_t>(text, 0, kMost);
  return number ? Result<std::optional<std::uint64_t>>(number) : fail(protocol::invalid_header(name, text));
}

inline Result<void> require_no_body(const Call& call) {
  const auto length = call.http.body->content_length().value_or(0);
  if (length == 0) return {};
  return fail(protocol::invalid_header("Content-Length", std::to_string(length), "This operation has no body."));
}

inline http::Response written(unsigned status, const Stamp& version) {
  auto response = empty_response(status);
  add_version(response, version);
  response.set("x-ms-request-server-encrypted", "true");
  return response;
}

}  // namespace tidemark::blob_store::operations
