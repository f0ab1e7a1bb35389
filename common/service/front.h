// The front of a store, which the three share: who asks, for which resource and with which parameters; preflights and
// CORS; the headers that every answer carries; service properties; failures as documents of the protocol, and in the
// log. A store derives its routes and adds what its URLs mean. Thread safe; one coroutine a request.
//
//   Call call(...);
//   auto answered = admit(call);                       a preflight or a refusal
//   if (!answered) answered = co_await answer(call);   the store's own part
//   co_return finish(call, std::move(*answered));
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/auth/authenticator.h"
#include "common/http/http.h"
#include "common/protocol/cors.h"

namespace tidemark::service {

class Front;
using Answer = Task<Result<http::Response>>;

/// One request on its way through a store. Lives in the frame of the store's serve(); the views are into the request.
struct Call {
  Call(Front& face, http::Request& request) : front(face), http(request) {}

  Front& front;
  http::Request& http;
  std::string_view host;
  auth::Resource resource;
  QueryParameters parameters;
  bool https = false;  // the client came by HTTPS, to a terminator in front
  auth::Identity identity;
  bool authenticated = false;

  [[nodiscard]] const std::string& account() const { return resource.account; }
  /// GET or HEAD.
  [[nodiscard]] bool reads() const { return http.method == "GET" || http.method == "HEAD"; }
  /// The first parameter of this name, whatever the case.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  [[nodiscard]] bool parameter_is(std::string_view name, std::string_view value) const;
  /// "http://host" and, in path style, "/account", as the client wrote it.
  [[nodiscard]] std::string endpoint() const;
};

/// Where a store keeps its service properties: a document for each account, empty if never set.
struct PropertiesStore {
  using Change = std::function<Result<std::string>(const std::string& stored)>;
  std::function<Result<std::string>(std::string_view account)> read;
  std::function<Task<Result<void>>(std::string account, Change change)> change;
};

/// That of one of the three services.
template <class Service>
PropertiesStore properties_of(Service& service) {
  return {[&service](std::string_view account) { return service.get_service_properties(account); },
          [&service](std::string account, PropertiesStore::Change change) {
            return service.set_service_properties(std::move(account), std::move(change));
          }};
}

/// What the protocols of the three stores do differently.
struct Dialect {
  auth::Service service;
  protocol::StoreKind kind;
  Error broken_query;  // the query of the URL cannot be decoded
  /// Told to whoever asks for no version, strangers included. Empty: only who is known is told the version he asked
  /// for, and gets his own request id back.
  std::string_view newest_version = {};
};

class Front {
 public:
  /// `clock` and what `properties` refers to must outlive the front.
  Front(Dialect dialect, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy,
        PropertiesStore properties);
  virtual ~Front() = default;

  virtual Task<http::Response> serve(http::Request& request) = 0;
  /// For failures outside of a request's handling.
  [[nodiscard]] http::Response render_error(const Error& error, const std::string& request_id) const;
  [[nodiscard]] Time now() const { return clock_.now(); }

  // Operations on the account; the caller has authorized them.
  [[nodiscard]] Result<http::Response> get_properties(const Call& call) const;
  Answer set_properties(const Call& call, std::string body);
  /// Only a secondary endpoint has statistics.
  [[nodiscard]] Result<http::Response> get_stats(const Call& call) const;

 protected:
  /// Takes the request apart and finds out who asks. The answer, if that is all: a preflight or a refusal.
  std::optional<Result<http::Response>> admit(Call& call) const;
  /// The answer as it leaves: a failure rendered and logged, headers added.
  http::Response finish(const Call& call, Result<http::Response> answered) const;

  /// Of the resource that a SAS is for. What does not exist has none.
  virtual Result<StoredPolicies> policies_of(const Call& call, std::string_view resource) const = 0;
  /// `call` is null outside of a request.
  [[nodiscard]] virtual http::Response render(const Error& error, const std::string& request_id,
                                              const Call* call) const;
  /// Headers that every answer of this store carries. `call` may be null.
  virtual void add_headers(const Call* call, bool failed, http::Response& response) const;

 private:
  Result<void> authenticate(Call& call) const;
  void add_common_headers(const Call& call, http::Response& response) const;

  Dialect dialect_;
  Clock& clock_;
  std::vector<auth::Account> accounts_;
  auth::Policy policy_;
  PropertiesStore properties_;
  protocol::CorsPolicies cors_;
};

}  // namespace tidemark::service
