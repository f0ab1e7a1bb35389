// The public endpoint of the blob store: finds the operation that a request names, checks permissions, and runs it.
// Thread safe.
#pragma once
#include "blob_store/rest/blob_call.h"
#include "common/service/store_front.h"

namespace tidemark::blob_store {

class BlobRoutes final : public service::StoreFront<Call> {
 public:
  /// Service and clock must outlive the routes.
  BlobRoutes(BlobService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy);

 private:
  Call begin(http::Request& request) override { return {*this, request, service_}; }
  Answer answer(Call& call) override;
  Task<Result<void>> merge_properties(const std::string& account, std::string document) override;
  [[nodiscard]] analytics::Operation operation_of(const service::Call& call) const override;
  [[nodiscard]] std::string_view name_of(const service::Call& call) const override;
  Result<StoredPolicies> policies_of(const service::Call& call, std::string_view resource) const override;
  [[nodiscard]] http::Response render(const Error& error, const std::string& request_id,
                                      const service::Call* call) const override;

  BlobService& service_;
};

}  // namespace tidemark::blob_store
