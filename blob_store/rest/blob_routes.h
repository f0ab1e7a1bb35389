// The public face of the blob store: finds the operation that a request names, checks permissions, and runs it.
// Thread safe.
#pragma once
#include "blob_store/rest/blob_call.h"

namespace tidemark::blob_store {

class BlobRoutes final : public service::Front {
 public:
  /// Service and clock must outlive the routes.
  BlobRoutes(BlobService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy);

  Task<http::Response> serve(http::Request& request) override;
  Task<http::Response> serve_here(http::Request& request) override;

 private:
  Task<http::Response> serve_or_forward(http::Request& request);
  /// The answer of the process that has what an admitted request names; nothing: it is answered here.
  Task<Result<std::optional<http::Response>>> serve_elsewhere(Call& call);
  [[nodiscard]] analytics::Operation operation_of(const service::Call& call) const override;
  [[nodiscard]] std::string_view name_of(const service::Call& call) const override;
  Result<StoredPolicies> policies_of(const service::Call& call, std::string_view resource) const override;
  [[nodiscard]] http::Response render(const Error& error, const std::string& request_id,
                                      const service::Call* call) const override;

  BlobService& service_;
};

}  // namespace tidemark::blob_store
