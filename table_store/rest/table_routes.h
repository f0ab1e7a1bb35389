// The REST face: authenticates a request, finds its route, and gives every answer its common headers. Any thread; one
// coroutine a request. Failures become the protocol's error answers here and nowhere else.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

class TableRoutes {
 public:
  /// What is handed in must outlive the routes.
  TableRoutes(TableService& service, Clock& clock, Random& random, std::vector<auth::Account> accounts,
              auth::Policy policy);

  Task<http::Response> serve(http::Request& request);
  /// For failures outside of a request's handling.
  [[nodiscard]] http::Response render_error(const Error& error, const std::string& request_id) const;

 private:
  /// Who asks for what; nothing here waits.
  Result<void> admit(Call& call) const;
  Result<void> authenticate(Call& call) const;
  [[nodiscard]] http::Response refuse(const Call& call, Error error) const;

  TableService& service_;
  Clock& clock_;
  Random& random_;
  std::vector<auth::Account> accounts_;
  auth::Policy policy_;
  protocol::CorsPolicies cors_;
};

}  // namespace tidemark::table_store
