// The public face of the queue service: finds the operation that a request names, checks the caller's permissions,
// calls the service once and renders the answer. It has no rules of the domain. Thread safe.
#pragma once
#include "queue_service/rest/queue_call.h"

namespace tidemark::queue_service::rest {

class QueueRoutes final : public service::Front {
 public:
  /// Service and clock must outlive the routes.
  QueueRoutes(QueueService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy);

  Task<http::Response> serve(http::Request& request) override;
  Task<http::Response> serve_here(http::Request& request) override;

 private:
  /// On another process, if that serves what the request is about.
  Task<Result<std::optional<http::Response>>> serve_elsewhere(const Call& call);
  Task<http::Response> serve_or_forward(http::Request& request);
  [[nodiscard]] analytics::Operation operation_of(const service::Call& call) const override;
  [[nodiscard]] std::string_view name_of(const service::Call& call) const override;
  Result<StoredPolicies> policies_of(const service::Call& call, std::string_view resource) const override;

  QueueService& service_;
};

}  // namespace tidemark::queue_service::rest
