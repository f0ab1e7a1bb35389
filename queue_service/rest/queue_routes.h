// The public face of the queue service: authenticates, finds the operation a request names, checks that the caller may,
// calls the service once and renders the answer. No rule of the domain lives here. Thread safe.
#pragma once
#include "common/http/http.h"
#include "common/protocol/cors.h"
#include "queue_service/rest/queue_request.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

using Answer = Result<http::Response>;

/// What an operation is handed.
struct OperationContext {
  QueueService& service;
  QueueRequest& request;
  Clock& clock;
  protocol::CorsPolicies& cors;
};

struct Operation {
  auth::Need need;
  Task<Answer> (*run)(OperationContext);
};

/// kUnsupportedHttpVerb, kInvalidQueryParameterValue, kInsufficientAccountPermissions for a write to the secondary.
Result<Operation> find_operation(const QueueRequest& request);

class QueueRoutes {
 public:
  /// All arguments but the policy must outlive the routes.
  QueueRoutes(QueueService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy);

  Task<http::Response> serve(http::Request& request);
  [[nodiscard]] http::Response render(const Error& error, const std::string& request_id) const;

 private:
  Result<void> admit(QueueRequest& request) const;
  Task<Answer> answer(QueueRequest& request);
  /// Headers that every answer carries.
  void decorate(const QueueRequest& request, http::Response& response) const;
  /// OPTIONS: answered before anybody is authenticated.
  [[nodiscard]] Answer preflight(const http::Request& request) const;
  QueueService& service_;
  Clock& clock_;
  std::vector<auth::Account> accounts_;
  auth::Policy policy_;
  protocol::CorsPolicies cors_;
};

}  // namespace tidemark::queue_service::rest
