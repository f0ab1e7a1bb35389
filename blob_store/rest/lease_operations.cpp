// Leases of blobs and containers: the headers carry the whole request.
#include "blob_store/rest/blob_operations.h"
#include "blob_store/storage/served_calls.h"
#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::int64_t kForEver = -1;
constexpr std::int64_t kShortestLease = 15;
constexpr std::int64_t kLongestLease = 60;

Result<LeaseAction> read_action(const Call& call) {
  using enum LeaseAction;
  const auto text = to_lower_ascii(call.header("x-ms-lease-action"));
  if (text.empty()) return fail(protocol::missing_header("x-ms-lease-action"));
  for (const auto& [name, action] : {std::pair{"acquire", kAcquire},
                                     {"renew", kRenew},
                                     {"change", kChange},
                                     {"release", kRelease},
                                     {"break", kBreak}}) {
    if (text == name) return action;
  }
  return fail(protocol::invalid_header("x-ms-lease-action", text));
}

/// Returns an empty id if the header is absent.
Result<std::string> read_id(const Call& call, std::string_view header) {
  const auto text = call.header(header);
  if (text.empty()) return std::string();
  auto id = parse_lease_id(text);
  return id ? Result<std::string>(std::move(*id)) : fail(protocol::invalid_header(header, text));
}

Result<std::optional<std::int64_t>> read_seconds(const Call& call, std::string_view header) {
  const auto text = call.header(header);
  if (text.empty()) return std::optional<std::int64_t>();
  const auto number = parse_number<std::int64_t>(text);
  if (!number) return fail(protocol::invalid_header(header, text));
  return number;
}

Result<void> read_duration(const Call& call, LeaseRequest& request) {
  constexpr std::string_view kHeader = "x-ms-lease-duration";
  const auto seconds = TRY(read_seconds(call, kHeader));
  if (!seconds) return fail(protocol::missing_header(kHeader));
  if (*seconds != kForEver && (*seconds < kShortestLease || *seconds > kLongestLease)) {
    return fail(protocol::invalid_header(kHeader, std::to_string(*seconds)));
  }
  request.duration_s = *seconds;
  return {};
}

/// `need`: the permission for every action but a break, which callers that may delete are allowed as well.
Result<LeaseRequest> read_lease_request(Call& call, const auth::Need& need) {
  constexpr std::string_view kPeriod = "x-ms-lease-break-period";
  LeaseRequest request;
  request.action = TRY(read_action(call));
  if (request.action != LeaseAction::kBreak) TRY(call.authorize(need));
  request.id = TRY(read_id(call, "x-ms-lease-id"));
  request.proposed = TRY(read_id(call, "x-ms-proposed-lease-id"));
  request.break_period_s = TRY(read_seconds(call, kPeriod));
  if (request.break_period_s && (*request.break_period_s < 0 || *request.break_period_s > kLongestLease)) {
    return fail(protocol::invalid_header(kPeriod, std::to_string(*request.break_period_s)));
  }
  using enum LeaseAction;
  if (request.action == kAcquire) {
    TRY(read_duration(call, request));
    if (request.proposed.empty()) request.proposed = call.service.new_guid();
  } else if (request.action != kBreak && request.id.empty()) {
    return fail(protocol::missing_header("x-ms-lease-id"));
  }
  if (request.action == kChange && request.proposed.empty()) {
    return fail(protocol::missing_header("x-ms-proposed-lease-id"));
  }
  return request;
}

http::Response lease_response(LeaseAction action, const LeaseOutcome& outcome) {
  using enum LeaseAction;
  auto response = empty_response(action == kAcquire ? 201 : action == kBreak ? 202 : 200);
  add_version(response, outcome.version);
  if (action == kBreak) response.set("x-ms-lease-time", std::to_string(outcome.lease.seconds_left));
  if (action != kBreak && action != kRelease) response.set("x-ms-lease-id", outcome.lease.id);
  return response;
}

}  // namespace

Answer lease_blob(Call& call) {
  const auto request = CO_TRY(read_lease_request(call, {auth::ResourceType::kObject, "w"}));
  co_return lease_response(
      request.action,
      CO_TRY(co_await call.service.call(calls::LeaseBlob{call.blob_ref(), request, read_conditions(call)})));
}

Answer lease_container(Call& call) {
  const auto request = CO_TRY(read_lease_request(call, {auth::ResourceType::kContainer, "w", {}, false}));
  co_return lease_response(
      request.action,
      CO_TRY(co_await call.service.call(calls::LeaseContainer{call.container_ref(), request, read_conditions(call)})));
}

}  // namespace tidemark::blob_store::operations
