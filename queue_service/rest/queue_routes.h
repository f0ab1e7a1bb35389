// The public face of the queue service: finds the operation that a request names, checks that the caller may, calls the
// service once and renders the answer. No rule of the domain lives here. Thread safe.
#pragma once
#include "queue_service/rest/queue_call.h"

namespace tidemark::queue_service::rest {

class QueueRoutes final : public service::Front {
 public:
  /// Service and clock must outlive the routes.
  QueueRoutes(QueueService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy);

  Task<http::Response> serve(http::Request& request) override;

 private:
  Result<StoredPolicies> policies_of(const service::Call& call, std::string_view resource) const override;

  QueueService& service_;
};

}  // namespace tidemark::queue_service::rest
