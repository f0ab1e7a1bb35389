#include "common/service/front.h"

#include <algorithm>

#include "common/auth/token_check.h"
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/process/failures.h"
#include "common/protocol/protocol_errors.h"
#include "common/protocol/responses.h"
#include "common/protocol/stored_policies.h"
#include "common/service/request_record.h"

namespace tidemark::service {
namespace {

constexpr std::size_t kMaxClientRequestId = 1024;

/// Ids that are longer, or have other than visible characters, are not echoed.
bool is_client_request_id(std::string_view id) {
  return id.size() <= kMaxClientRequestId &&
         std::all_of(id.begin(), id.end(), [](char c) { return c >= 0x20 && c <= 0x7E; });
}

std::string_view service_of(protocol::StoreKind kind) {
  switch (kind) {
    case protocol::StoreKind::kBlob:
      return "blob";
    case protocol::StoreKind::kQueue:
      return "queue";
    case protocol::StoreKind::kTable:
      return "table";
  }
  return {};
}

/// Tells whether the TLS terminator says that the client used https. A second header of this name was not written by
/// the terminator, or not by it alone.
bool is_said_to_be_https(const http::Request& request) {
  std::optional<std::string_view> found;
  for (const auto& [name, value] : request.headers) {
    if (!iequals_ascii(name, "x-forwarded-proto")) continue;
    if (found) return false;
    found = value;
  }
  return found && iequals_ascii(*found, "https");
}

void leave_out(std::string_view name, http::Response& response) {
  http::HeaderLines kept;
  for (const auto [each, value] : response.headers) {
    if (!iequals_ascii(each, name)) kept.add(each, value);
  }
  response.headers = std::move(kept);
}

}  // namespace

std::optional<std::string_view> Call::parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (iequals_ascii(key, name)) return value;
  }
  return std::nullopt;
}

bool Call::parameter_is(std::string_view name, std::string_view value) const {
  const auto given = parameter(name);
  return given && iequals_ascii(*given, value);
}

std::string Call::endpoint() const {
  auto prefix = http.path.substr(0, http.path.size() - resource.rest.size());
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  const std::string_view scheme = http.tls ? "https://" : "http://";
  std::string out;
  out.reserve(scheme.size() + host.size() + prefix.size());
  return out.append(scheme).append(host).append(prefix);
}

Result<void> Call::take_items(std::initializer_list<std::string_view> part, std::uint64_t count) {
  auto* limits = front.limits();
  auto refusal = limits != nullptr ? limits->admit_items(account(), part, count) : std::nullopt;
  if (!refusal) return {};
  retry_after_s = refusal->retry_after_s;
  return fail(std::move(refusal->error));
}

Result<void> Call::admit_bytes(std::uint64_t bytes) {
  auto* const quotas = front.quotas();
  if (quotas == nullptr) return {};
  TRY(quotas->admit(account(), {.units = 0, .bytes = bytes}, true));
  admitted.bytes += bytes;
  adds_bytes = true;
  return {};
}

bool Call::is_bounded() const { return front.quotas() != nullptr; }

Result<void> Call::admit_unit() {
  auto* const quotas = front.quotas();
  if (quotas == nullptr) return {};
  TRY(quotas->admit(account(), {.units = 1, .bytes = 0}, false));
  ++admitted.units;
  return {};
}

void Call::note_part(std::string_view name, std::string_view partition) {
  if (const auto* meter = front.meter(); meter != nullptr && meter->samples()) sample(name, partition);
}

void Call::sample(std::string_view name, std::string_view partition) {
  sampled = std::make_unique<UsageMeter::Part>(account(), std::string(name), std::string(partition));
}

void Call::charge_items(std::initializer_list<std::string_view> part, std::uint64_t count) const {
  if (auto* limits = front.limits(); limits != nullptr) limits->charge_items(account(), part, count);
}

Front::Front(Dialect dialect, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy,
             const kv::AccountProperties& properties)
    : dialect_(std::move(dialect)),
      clock_(clock),
      policy_(policy),
      properties_(properties),
      known_(std::make_shared<const KnownAccounts>(std::move(accounts), PageGuard())) {
  heed_all_properties();
}

std::shared_ptr<const KnownAccounts> Front::known_accounts() const {
  const MutexLock lock(mutex_);
  return known_;
}

void Front::use_accounts(std::vector<auth::Account> accounts, std::string_view allowed_hosts) {
  PageGuard guard(accounts, allowed_hosts);
  auto known = std::make_shared<const KnownAccounts>(std::move(accounts), std::move(guard));
  {
    const MutexLock lock(mutex_);
    known_ = std::move(known);
  }
  heed_all_properties();
}

void Front::heed_all_properties() {
  for (const auto& account : known_accounts()->accounts) heed_properties(account.name);
}

void Front::heed_properties(const std::string& account) {
  const auto read = [&] { return properties_.get_service_properties(account); };
  cors_.refresh(account, read);
  if (recorder_ == nullptr) return;
  const auto document = read();
  if (document) recorder_->want(account, analytics::wanted_by(dialect_.kind, *document));
}

void Front::record_by(analytics::Recorder& recorder) {
  recorder_ = &recorder;
  heed_all_properties();
}

void Front::heed_terminator(http::Request& request) const {
  if (policy_.trust_forwarded_proto) request.tls = request.tls || is_said_to_be_https(request);
}

std::optional<Result<http::Response>> Front::admit(Call& call) const {
  const auto& request = call.http;
  call.host = request.header("host").value_or("");
  call.known = known_accounts();
  auto resource = auth::parse_resource(call.host, request.path, call.known->accounts);
  if (!resource) return fail(std::move(resource.error()));
  call.resource = std::move(*resource);
  auto parameters = QueryParameters::parse(request.query);
  if (parameters) call.parameters = std::move(*parameters);
  // A preflight is answered before authentication: browsers send no credentials with it.
  if (request.method == "OPTIONS") return cors_.preflight(call.account(), request);
  if (!parameters) return fail(dialect_.broken_query);
  if (auto known = authenticate(call); !known) return fail(std::move(known.error()));
  if (auto harmless = check_page(call); !harmless) return fail(std::move(harmless.error()));
  if (auto refusal = limits_ != nullptr ? limits_->admit_account(call.account(), request) : std::nullopt) {
    call.retry_after_s = refusal->retry_after_s;
    return fail(std::move(refusal->error));
  }
  if (quotas() == nullptr || operation_of(call).effect != analytics::Effect::kAddsBytes) return std::nullopt;
  if (auto room = call.admit_bytes(request.body->content_length().value_or(0)); !room) return fail(room.error());
  return std::nullopt;
}

Result<void> Front::identify(Call& call) const {
  call.known = known_accounts();
  call.resource = TRY(auth::parse_resource(call.host, call.http.path, call.known->accounts));
  auto parameters = QueryParameters::parse(call.http.query);
  if (!parameters) return fail(dialect_.broken_query);
  call.parameters = std::move(*parameters);
  return authenticate(call);
}

Result<void> Front::authenticate(Call& call) const {
  const auto& request = call.http;
  const auth::PolicyLookup find_policy = [this, &call](std::string_view, std::string_view resource,
                                                       std::string_view id) -> Result<std::optional<StoredPolicy>> {
    const auto policies = policies_of(call, resource);
    if (policies) return protocol::find_policy(*policies, id);
    if (http_status_of(policies.error().code) < 500) return std::nullopt;  // the resource does not exist
    return fail(policies.error());
  };
  const auth::SignedRequest signed_request{request.method,         request.path, request.query,    &request.headers,
                                           request.remote_address, call.host,    &call.parameters, request.tls};
  call.identity = TRY(auth::authenticate(dialect_.service, signed_request, call.resource, call.known->accounts,
                                         clock_.now(), policy_, find_policy));
  call.authenticated = true;
  return {};
}

Result<void> Front::check_page(const Call& call) const {
  TRY(call.known->guard.check_host(call.account(), call.host));
  // Before any other write of a browser, check that a rule of the account admits its origin.
  return call.http.method == "POST" ? check_source(call) : Result<void>();
}

Result<void> Front::check_source(const Call& call) const {
  return call.known->guard.check_source(call.account(), call.http, cors_);
}

http::Response Front::finish(const Call& call, Result<http::Response> answered) const {
  const auto& request = call.http;
  const bool failed = !answered;
  auto response = failed ? render(answered.error(), request.request_id, &call) : std::move(*answered);
  if (failed && response.status >= 500) {
    // The query may hold a signature, so it is never logged.
    const auto operation = std::string(request.method) + " " + std::string(request.path);
    process::log_failed_request(request.request_id, operation, answered.error(), request.trace);
  }
  if (limits_ != nullptr && call.authenticated) limits_->answered_account(call.account(), request, response);
  if (failed && call.retry_after_s > 0) tell_when(call.retry_after_s, response);
  add_common_headers(call, response);
  add_headers(&call, failed, response);
  if (failed && response.status == 401 && policy_.tokens) {
    response.set("WWW-Authenticate", policy_.tokens->challenge());
  }
  if (request.method == "HEAD") {
    if (!response.head_content_length) response.head_content_length = response.body.size();
    response.body.clear();
    if (failed) leave_out("Content-Type", response);
  }
  // The headers go on refusals too: they tell a browser that its page may read them.
  if (request.method != "OPTIONS") cors_.decorate(call.account(), request, response);
  const auto operation = operation_of(call);
  call.http.operation = operation.name;
  measure(call, response, operation);
  settle(call, response, operation);
  if (recorder_ != nullptr && recorder_->wants(call.account())) {
    record(call, response, operation, failed && answered.error().code == ErrorCode::kOperationTimedOut);
  }
  return response;
}

/// Requests that are not authenticated make no series.
void Front::measure(const Call& call, const http::Response& response, const analytics::Operation& operation) const {
  if (meter_ == nullptr || !call.authenticated || operation.name.empty()) return;
  const auto name = name_of(call);
  if (name.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  meter_->record(call.account(), name, operation.access, response.status, now - call.begun);
  if (call.sampled && response.status < 400) meter_->sample(*call.sampled, now);
}

void Front::settle(const Call& call, const http::Response& response, const analytics::Operation& operation) const {
  if (quotas_ == nullptr || !call.authenticated) return;
  const bool removes = operation.effect == analytics::Effect::kRemovesUnit;
  if (!removes && !call.adds_bytes && call.admitted.units == 0) return;
  Growth added;
  const bool succeeded = response.status < 400;
  if (succeeded) added = call.admitted;
  if (succeeded && call.adds_bytes) added.bytes = std::max(added.bytes, call.http.body->bytes_read());
  quotas_->settle(call.account(), call.admitted, added, removes && succeeded ? 1 : 0);
}

void Front::record(const Call& call, const http::Response& response, const analytics::Operation& operation,
                   bool timed_out) const {
  if (operation.name.empty()) return;
  recorder_->record(call.account(), record_of(call, response, operation, service_of(dialect_.kind), timed_out), now());
}

void Front::add_common_headers(const Call& call, http::Response& response) const {
  const auto& request = call.http;
  response.set("x-ms-request-id", request.request_id);
  if (!dialect_.newest_version.empty()) {
    const auto version = request.header("x-ms-version").value_or("");
    response.set("x-ms-version", is_version(version) ? version : dialect_.newest_version);
  } else if (!call.identity.version.empty()) {
    response.set("x-ms-version", call.identity.version);
  }
  // Headers that echo the request are only for authenticated callers.
  if (!call.authenticated && dialect_.newest_version.empty()) return;
  const auto id = request.header("x-ms-client-request-id");
  if (id && is_client_request_id(*id)) response.set("x-ms-client-request-id", *id);
}

void Front::add_headers(const Call*, bool, http::Response&) const {}

http::Response Front::render(const Error& error, const std::string& request_id, const Call*) const {
  const auto status = http_status_of(error.code);
  auto response = status == 304 ? protocol::empty_response(status)
                                : protocol::xml_response(status, protocol::render_error(error, request_id, now()));
  response.set("x-ms-error-code", azure_name_of(error.code));
  return response;
}

http::Response Front::render_error(const Error& error, const std::string& request_id) const {
  auto response = render(error, request_id, nullptr);
  response.set("x-ms-request-id", request_id);
  add_headers(nullptr, true, response);
  return response;
}

Result<http::Response> Front::get_properties(const Call& call) const {
  const auto stored = TRY(properties_.get_service_properties(call.account()));
  return protocol::xml_response(200, protocol::service_properties_document(dialect_.kind, stored));
}

Answer Front::set_properties(const Call& call, std::string body) {
  CO_TRY(co_await merge_properties(call.account(), std::move(body)));
  heed_properties(call.account());
  co_return protocol::empty_response(202);
}

Task<Result<void>> Front::merge_properties(const std::string& account, std::string document) {
  co_return co_await properties_.set_service_properties(account, [&](const std::string& stored) {
    return protocol::merge_service_properties(dialect_.kind, stored, document);
  });
}

Result<http::Response> Front::get_stats(const Call& call) const {
  if (!call.resource.secondary) return fail(protocol::stats_need_secondary());
  return protocol::xml_response(200, protocol::service_stats_document(clock_.now()));
}

}  // namespace tidemark::service
