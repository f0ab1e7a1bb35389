// The public face of the queue service: finds the operation that a request names, checks the caller's permissions,
// calls the service once and renders the answer. It has no rules of the domain. Thread safe.
#pragma once
#include "common/service/store_front.h"
#include "queue_service/rest/queue_call.h"

namespace tidemark::queue_service::rest {

class QueueRoutes final : public service::StoreFront<Call> {
 public:
  /// Service and clock must outlive the routes.
  QueueRoutes(QueueService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy);

 private:
  Call begin(http::Request& request) override { return {*this, request, service_}; }
  Answer answer(Call& call) override;
  [[nodiscard]] analytics::Operation operation_of(const service::Call& call) const override;
  [[nodiscard]] std::string_view name_of(const service::Call& call) const override;
  Task<Result<void>> merge_properties(const std::string& account, std::string document) override;
  Result<StoredPolicies> policies_of(const service::Call& call, std::string_view resource) const override;

  QueueService& service_;
};

}  // namespace tidemark::queue_service::rest
