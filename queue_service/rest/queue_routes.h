// The public face of the queue service: authenticates, finds the operation a request names, checks that the caller may,
// calls the service once and renders the answer. No rule of the domain lives here. Thread safe.
#pragma once
#include "common/http/http.h"
#include "queue_service/rest/queue_request.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

using Answer = Result<http::Response>;

/// What an operation is handed.
struct OperationContext {
  QueueService& service;
  QueueRequest& request;
  Clock& clock;
};

struct Operation {
  auth::Need need;
  Task<Answer> (*run)(OperationContext);
};

/// kUnsupportedHttpVerb, kInvalidQueryParameterValue.
Result<Operation> find_operation(const QueueRequest& request);

class QueueRoutes {
 public:
  /// All arguments but the policy must outlive the routes.
  QueueRoutes(QueueService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy)
      : service_(service), clock_(clock), accounts_(std::move(accounts)), policy_(policy) {}

  Task<http::Response> serve(http::Request& request);
  [[nodiscard]] http::Response render(const Error& error, const std::string& request_id) const;

 private:
  Result<void> admit(QueueRequest& request) const;
  QueueService& service_;
  Clock& clock_;
  std::vector<auth::Account> accounts_;
  auth::Policy policy_;
};

}  // namespace tidemark::queue_service::rest
