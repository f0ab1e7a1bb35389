// The REST face: finds the route of a request and the form of its answer. Thread safe, with one coroutine for each
// request.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

class TableRoutes final : public service::Front {
 public:
  /// Service, clock and random must outlive the routes.
  TableRoutes(TableService& service, Clock& clock, Random& random, std::vector<auth::Account> accounts,
              auth::Policy policy);

  Task<http::Response> serve(http::Request& request) override;
  Task<http::Response> serve_here(http::Request& request) override;

 private:
  /// Where processes share the shards.
  Task<http::Response> serve_or_forward(http::Request& request);
  struct Answered {
    Result<http::Response> response;
    bool elsewhere = false;  // by another process, which has completed it
  };
  Task<Answered> answer_or_forward(Call& call);
  [[nodiscard]] analytics::Operation operation_of(const service::Call& call) const override;
  [[nodiscard]] std::string_view name_of(const service::Call& call) const override;
  Result<StoredPolicies> policies_of(const service::Call& call, std::string_view resource) const override;
  [[nodiscard]] http::Response render(const Error& error, const std::string& request_id,
                                      const service::Call* call) const override;
  void add_headers(const service::Call* call, bool failed, http::Response& response) const override;

  TableService& service_;
  Random& random_;
};

}  // namespace tidemark::table_store
