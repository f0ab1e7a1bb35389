// The REST face: finds the route of a request and the form of its answer. Thread safe, with one coroutine for each
// request.
#pragma once
#include "common/service/store_front.h"
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

class TableRoutes final : public service::StoreFront<Call> {
 public:
  /// Service, clock and random must outlive the routes.
  TableRoutes(TableService& service, Clock& clock, Random& random, std::vector<auth::Account> accounts,
              auth::Policy policy);

 private:
  Call begin(http::Request& request) override { return {*this, request, service_, random_}; }
  std::optional<Result<http::Response>> answer_at_once(Call& call) override;
  Answer answer(Call& call) override;
  [[nodiscard]] analytics::Operation operation_of(const service::Call& call) const override;
  [[nodiscard]] std::string_view name_of(const service::Call& call) const override;
  Task<Result<void>> merge_properties(const std::string& account, std::string document) override;
  Result<StoredPolicies> policies_of(const service::Call& call, std::string_view resource) const override;
  [[nodiscard]] http::Response render(const Error& error, const std::string& request_id,
                                      const service::Call* call) const override;
  void add_headers(const service::Call* call, bool failed, http::Response& response) const override;

  TableService& service_;
  Random& random_;
};

}  // namespace tidemark::table_store
