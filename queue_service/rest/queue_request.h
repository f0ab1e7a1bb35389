// One request of the queue protocol, taken apart: which resource it names, its parameters, who is asking. Parameter
// ranges give the protocol's errors with the fields that clients print.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/auth/authenticator.h"
#include "common/base/query.h"
#include "common/http/http.h"

namespace tidemark::queue_service::rest {

struct QueueRequest {
  http::Request* http = nullptr;
  std::string account;
  bool secondary = false;
  bool https = false;     // the client came by HTTPS, to a terminator in front
  std::string queue;      // empty: the account
  bool messages = false;  // .../messages[/id]
  std::string message_id;
  QueryParameters parameters;  // views into the request
  std::string version;         // x-ms-version, or the SAS's
  auth::Identity identity;

  /// First parameter of this name, whatever the case.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  [[nodiscard]] bool parameter_is(std::string_view name, std::string_view value) const;
  /// kInvalidQueryParameterValue if it is no number, kOutOfRangeQueryParameterValue.
  [[nodiscard]] Result<std::optional<std::int64_t>> number(std::string_view name, std::int64_t min,
                                                           std::int64_t max) const;
};

Error missing_parameter(std::string_view name);
Error invalid_parameter(std::string_view name, std::string_view value, std::string_view reason);
Error out_of_range_parameter(std::string_view name, std::string_view value, std::int64_t min, std::int64_t max);

/// Splits what follows the account: "", "queue", "queue/messages", "queue/messages/id". kInvalidUri.
Result<void> split_resource(std::string_view rest, QueueRequest& request);

}  // namespace tidemark::queue_service::rest
