// One line of a storage analytics log, in the delimited format of versions 1.0 and 2.0, and the names of logs. Pure.
// The order of the fields, their quotes and the names follow the service's "Storage Analytics log format" and "Storage
// Analytics logging".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/time.h"

namespace tidemark::analytics {

/// Which setting of Logging an operation falls under. A log's LogType is a set of them.
enum class Access : std::uint8_t { kRead = 1, kWrite = 2, kDelete = 4 };

/// How an operation changes the amount of data in the account.
enum class Effect : std::uint8_t { kNone, kAddsBytes, kRemovesUnit };  // the unit is a table, queue or container

struct Operation {
  std::string_view name;  // a literal such as "GetBlob". Empty: the request names no operation, and is not recorded
  Access access = Access::kRead;
  Effect effect = Effect::kNone;
};

/// How the caller identified itself, whether the credentials were right or not.
enum class Login : std::uint8_t { kKey, kSas, kAnonymous, kBearer };
inline constexpr std::size_t kLogins = 4;

enum class Outcome : std::uint8_t {
  kSuccess,
  kThrottlingError,
  kClientTimeoutError,
  kServerTimeoutError,
  kClientOtherError,
  kServerOtherError,
  kAuthorizationError,
  kNetworkError,
};
inline constexpr std::size_t kOutcomes = 8;

/// `timed_out`: the server gave up.
Outcome outcome_of(unsigned http_status, bool timed_out);
/// "SASSuccess": a request status, and the name of a column of the metrics tables.
std::string status_name(Outcome outcome, Login login);
/// Anonymous requests are logged only if they succeeded, if the server failed, or if the answer is 304.
bool is_logged(unsigned http_status, Login login);

/// The views must live until the record is written. Empty fields stay empty.
struct LogRecord {
  Time started;
  Operation operation;
  Outcome outcome = Outcome::kSuccess;
  Login login = Login::kKey;
  unsigned http_status = 200;
  std::uint64_t end_to_end_ms = 0, server_ms = 0;
  std::string_view requester, owner, service;  // accounts; "blob", "queue" or "table"
  std::string url, object_key;
  std::string_view request_id, address, version;
  std::uint64_t request_head_bytes = 0, request_body_bytes = 0, response_head_bytes = 0, response_body_bytes = 0;
  std::uint64_t content_length = 0;  // as declared by the request
  std::string_view request_md5, server_md5, etag, last_modified;
  std::string conditions;  // "If-Match=...;If-None-Match=..."
  std::string_view user_agent, referrer, client_request_id;
  std::string_view user_id, tenant_id;  // of a bearer token
};

enum class LogVersion : std::uint8_t { k1 = 1, k2 = 2 };

/// Appends the line and a line feed.
void append_log_line(std::string& out, const LogRecord& record, LogVersion version);

inline constexpr std::string_view kLogContainer = "$logs";
/// Returns the beginning of the hour.
Time hour_of(Time time);
/// "blob/2026/11/23/0100/000000.log"
std::string log_name(std::string_view service, Time hour, std::uint64_t number);
/// Returns the hour in the name of a log of this service; nothing if the name is not that of a log.
std::optional<Time> hour_in_log_name(std::string_view service, std::string_view name);
/// Returns a text such as "read,write" for a set of Access.
std::string log_type(std::uint8_t accesses);

}  // namespace tidemark::analytics
