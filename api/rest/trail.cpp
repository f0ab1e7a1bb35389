#include "api/rest/trail.h"

#include "common/base/encoding.h"
#include "common/base/query.h"
#include "common/base/text.h"
#include "common/process/failures.h"

namespace tidemark::api {
namespace {

constexpr std::string_view kVersion = "v1/";
constexpr std::size_t kMaxWhyBytes = 500;

bool is_dry(const http::Request& request) {
  const auto given = QueryParameters::parse(request.query);
  return given && given->find("dryRun") == "true";
}

}  // namespace

std::string operation_of(std::string_view method, std::string_view pattern) {
  if (pattern.starts_with(kVersion)) pattern.remove_prefix(kVersion.size());
  std::string out;
  std::size_t names = 0;
  bool ends_in_name = false;
  while (!pattern.empty()) {
    const auto end = std::min(pattern.find('/'), pattern.size());
    ends_in_name = pattern.substr(0, end) != "*";
    if (ends_in_name) {
      out += (out.empty() ? "" : ".") + std::string(pattern.substr(0, end));
      ++names;
    }
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  const bool says_what = method == "POST" && ends_in_name && names > 1;
  return says_what ? out : out + "." + to_lower_ascii(method);
}

std::string reason_in(const http::Request& request) {
  const auto given = request.header("x-tidemark-reason").value_or("");
  return percent_decode(given, false).value_or(std::string(given));
}

std::string why_refused(const Error& error) { return std::string(beginning_of(error.message, kMaxWhyBytes)); }

bool leaves_entry(const Route& route, const http::Request& request) {
  if (route.method == "GET" || route.trail == Trail::kNone) return false;
  return route.trail != Trail::kEntryUnlessDry || !is_dry(request);
}

jobs::AuditEntry entry_of(const Route& route, const Action& action, const http::Request& request) {
  jobs::AuditEntry entry;
  entry.actor = action.caller.name;
  entry.role = role_name(action.caller.role);
  entry.via = action.caller.via;
  entry.address = request.remote_address;
  entry.operation = operation_of(route.method, route.pattern);
  entry.target = action.target;
  entry.reason = reason_in(request);
  entry.outcome = jobs::outcome::kBegun;
  entry.request_id = request.request_id;
  return entry;
}

void note_answer(const Action& action, const Result<http::Response>& answer, jobs::AuditEntry& entry) {
  const auto status = answer ? answer->status : http_status_of(answer.error().code);
  entry.target = action.target;
  entry.detail = action.detail;
  entry.count = action.count;
  entry.status = static_cast<std::int32_t>(status);
  if (!answer) entry.code = azure_name_of(answer.error().code);
  const bool refused = answer.failed_with(ErrorCode::kAuthorizationPermissionMismatch);
  if (!answer) entry.detail += (entry.detail.empty() ? "" : ": ") + why_refused(answer.error());
  entry.outcome = refused ? jobs::outcome::kRefused : status < 400 ? jobs::outcome::kDone : jobs::outcome::kFailed;
}

Error not_noted(const Error& error) {
  auto out = error;
  if (out.code == ErrorCode::kDeadlineExceeded) out.code = ErrorCode::kUnavailable;
  out.message = "Nothing was done, because the audit trail could not be written: " + error.message;
  return out;
}

void log_lost_outcome(const jobs::AuditEntry& entry, const Error& error) {
  auto told = error;
  told.detail = "the entry " + entry.id + " of the audit trail stays at begun, but it is " + entry.outcome +
                " with status " + std::to_string(entry.status) + ": " +
                (error.detail.empty() ? error.message : error.detail);
  process::log_failed_task("api.audit", told);
}

}  // namespace tidemark::api
