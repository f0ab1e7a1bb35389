// The front that the three stores share: it authenticates the caller, finds the resource and the parameters, answers
// preflights, adds CORS and common headers, keeps service properties, and renders and logs errors. StoreFront leads a
// request through it, and the routes of a store give its URLs their meaning. Thread safe, with one coroutine for each
// request.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/analytics/recorder.h"
#include "common/auth/authenticator.h"
#include "common/base/mutex.h"
#include "common/http/http.h"
#include "common/kv/account_properties.h"
#include "common/protocol/cors.h"
#include "common/service/page_guard.h"
#include "common/service/quotas.h"
#include "common/service/request_limits.h"
#include "common/service/usage_meter.h"

namespace tidemark::service {

class Front;
/// The accounts whose requests are served. Another list may replace it while requests are in progress.
struct KnownAccounts {
  std::vector<auth::Account> accounts;
  PageGuard guard;
};
using Answer = Task<Result<http::Response>>;

/// The limit of the body of Get User Delegation Key.
inline constexpr std::size_t kMaxKeyInfoBytes = 4096;

/// One request on its way through a store. It lives in the frame of the store's serve(); views point into the request.
struct Call {
  Call(Front& face, http::Request& request) : front(face), http(request) {}

  Front& front;
  http::Request& http;
  std::shared_ptr<const KnownAccounts> known;  // the accounts at the time when the request came
  std::string_view host;
  auth::Resource resource;
  QueryParameters parameters;
  auth::Identity identity;
  bool authenticated = false;
  std::uint64_t retry_after_s = 0;            // set when a limit refuses the request
  Growth admitted;                            // by the account's quotas, until the request ends
  bool adds_bytes = false;                    // the number is known at the end, if the client does not declare it
  std::unique_ptr<UsageMeter::Part> sampled;  // the partition, if this request is in the sample
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();

  [[nodiscard]] const std::string& account() const { return resource.account; }
  /// Tells whether the method is GET or HEAD.
  [[nodiscard]] bool reads() const { return http.method == "GET" || http.method == "HEAD"; }
  /// Returns the first parameter with this name, in any case.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  [[nodiscard]] bool parameter_is(std::string_view name, std::string_view value) const;
  /// Returns "http://host" and, in path style, "/account", as the client wrote it.
  [[nodiscard]] std::string endpoint() const;
  /// Takes items, such as entities, of a part of the account's data from the rate limits, before they are processed.
  /// kServerBusy.
  Result<void> take_items(std::initializer_list<std::string_view> part, std::uint64_t count);
  /// Admits the bytes that are going to be added to the account's data. kInsufficientAccountPermissions.
  Result<void> admit_bytes(std::uint64_t bytes);
  /// Tells whether some account has bounds, so that existing and new data have to be told apart.
  [[nodiscard]] bool is_bounded() const;
  /// Admits a table, queue or container that is going to be made. kInsufficientAccountPermissions.
  Result<void> admit_unit();
  /// Notes the partition that the request concerns, for metrics of the busiest partitions.
  void note_part(std::string_view name, std::string_view partition);
  void sample(std::string_view name, std::string_view partition);
  /// Charges items that turned out to be concerned as well.
  void charge_items(std::initializer_list<std::string_view> part, std::uint64_t count) const;
};

/// The differences between the protocols of the three stores.
struct Dialect {
  auth::Service service;
  protocol::StoreKind kind;
  Error broken_query;  // the error if the query of the URL cannot be decoded
  /// The version in answers to requests that name none, authenticated or not. If empty, only authenticated callers get
  /// a version, the one that they asked for, and their own request id.
  std::string_view newest_version = {};
};

class Front {
 public:
  /// `clock` and `properties` must outlive the front.
  Front(Dialect dialect, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy,
        const kv::AccountProperties& properties);
  virtual ~Front() = default;

  virtual Task<http::Response> serve(http::Request& request) = 0;
  /// Serves a request within another one. The outer request says how the client came; headers of the part do not.
  virtual Task<http::Response> serve_part(http::Request& part) = 0;
  /// Renders an error that occurs outside of serve().
  [[nodiscard]] http::Response render_error(const Error& error, const std::string& request_id) const;
  [[nodiscard]] Time now() const { return clock_.now(); }
  [[nodiscard]] auth::Service service() const { return dialect_.service; }
  /// Authenticates the caller and finds the resource, also for a request within another one.
  Result<void> identify(Call& call) const;
  /// Call before the first request; `limits` must outlive the front.
  void limit_by(RequestLimits& limits) { limits_ = &limits; }
  [[nodiscard]] RequestLimits* limits() const { return limits_; }
  /// Call before the first request; `quotas` must outlive the front.
  void bound_by(Quotas& quotas) { quotas_ = &quotas; }
  /// Returns null if no account has bounds.
  [[nodiscard]] Quotas* quotas() const { return quotas_ != nullptr && quotas_->bounds_any() ? quotas_ : nullptr; }
  /// Call before the first request; `meter` must outlive the front.
  void meter_by(UsageMeter& meter) { meter_ = &meter; }
  [[nodiscard]] UsageMeter* meter() const { return meter_; }
  /// Reads the service properties again, since another process may have changed them. From any thread.
  void read_properties_again() { heed_all_properties(); }
  /// Replaces the accounts. From any thread. `allowed_hosts` is PageGuard's.
  void use_accounts(std::vector<auth::Account> accounts, std::string_view allowed_hosts);
  [[nodiscard]] std::shared_ptr<const KnownAccounts> known_accounts() const;
  /// Call before the first request; `recorder` must outlive the front.
  void record_by(analytics::Recorder& recorder);
  /// Checks the source of a read that changes something; admit() checks writes. kAuthorizationFailure.
  [[nodiscard]] Result<void> check_source(const Call& call) const;

  // Operations on the account; the caller has authorized them.
  [[nodiscard]] Result<http::Response> get_properties(const Call& call) const;
  Answer set_properties(const Call& call, std::string body);
  /// Returns a key to sign SAS with, for a caller with a bearer token. kAuthenticationFailed for other callers.
  [[nodiscard]] Result<http::Response> get_delegation_key(const Call& call, std::string_view body) const;
  /// Only a secondary endpoint has statistics.
  [[nodiscard]] Result<http::Response> get_stats(const Call& call) const;

 protected:
  /// Heeds the headers of a TLS terminator in front, if it is trusted. For a request that has just come.
  void heed_terminator(http::Request& request) const;
  /// Parses the request and authenticates the caller. Returns the answer if it is a preflight or a refusal.
  std::optional<Result<http::Response>> admit(Call& call) const;
  /// Completes the answer: renders and logs an error, and adds the headers.
  http::Response finish(const Call& call, Result<http::Response> answered) const;

  /// Merges the document of a client into the stored service properties.
  virtual Task<Result<void>> merge_properties(const std::string& account, std::string document);
  /// Returns the stored policies of the resource of a SAS; none if it does not exist.
  virtual Result<StoredPolicies> policies_of(const Call& call, std::string_view resource) const = 0;
  /// `call` is null outside of a request.
  [[nodiscard]] virtual http::Response render(const Error& error, const std::string& request_id,
                                              const Call* call) const;
  /// Returns the operation that a request names, whether it was admitted or not; without a name if it names none.
  [[nodiscard]] virtual analytics::Operation operation_of(const Call& call) const = 0;
  /// Returns the table, queue or container that an admitted request names; empty if it names none. If the request
  /// succeeds, it exists.
  [[nodiscard]] virtual std::string_view name_of(const Call& call) const = 0;
  /// Adds the headers that every answer of this store has. `call` may be null.
  virtual void add_headers(const Call* call, bool failed, http::Response& response) const;

 private:
  Result<void> authenticate(Call& call) const;
  Result<void> check_page(const Call& call) const;
  void add_common_headers(const Call& call, http::Response& response) const;
  /// Records the request for storage analytics, if the account wants that.
  void record(const Call& call, const http::Response& response, const analytics::Operation& operation,
              bool timed_out) const;
  void measure(const Call& call, const http::Response& response, const analytics::Operation& operation) const;
  void settle(const Call& call, const http::Response& response, const analytics::Operation& operation) const;
  /// Heeds service properties that have changed or are read for the first time.
  void heed_properties(const std::string& account);
  void heed_all_properties();

  Dialect dialect_;
  Clock& clock_;
  auth::Policy policy_;
  const kv::AccountProperties& properties_;
  protocol::CorsPolicies cors_;
  RequestLimits* limits_ = nullptr;
  Quotas* quotas_ = nullptr;
  analytics::Recorder* recorder_ = nullptr;
  mutable Mutex mutex_;
  std::shared_ptr<const KnownAccounts> known_ GUARDED_BY(mutex_);
  UsageMeter* meter_ = nullptr;
};

}  // namespace tidemark::service
