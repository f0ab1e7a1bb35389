#include "blob_store/rest/blob_store_app.h"

#include <spdlog/spdlog.h>

#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/rest/blob_routes.h"
#include "common/base/encoding.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::blob_store {
namespace {

constexpr std::string_view kNewestVersion = "2026-04-06";

// What every answer carries.
void add_common_headers(http::Response& response, const http::Request& request) {
  response.set("x-ms-request-id", request.request_id);
  const auto version = request.header("x-ms-version").value_or(kNewestVersion);
  response.set("x-ms-version", std::string(auth::is_version(version) ? version : kNewestVersion));
  const auto client_id = request.header("x-ms-client-request-id");
  const auto visible = [](char c) { return c >= 0x20 && c <= 0x7E; };
  if (client_id && client_id->size() <= 1024 && std::all_of(client_id->begin(), client_id->end(), visible)) {
    response.set("x-ms-client-request-id", std::string(*client_id));
  }
}

class BlobStore : public service::Store {
 public:
  explicit BlobStore(service::StoreContext& context)
      : clock_(context.clock),
        accounts_(context.accounts),
        policy_(context.auth_policy),
        service_(context.engine, context.clock, context.random, context.background) {
    service_.collector().start();
    for (const auto& account : accounts_) {
      cors_.refresh(account.name, [&] { return service_.get_service_properties(account.name); });
    }
  }

  Task<http::Response> serve(http::Request& request) override {
    auto answered = co_await answer(request);
    auto response = answered ? std::move(*answered) : render_error(answered.error(), request.request_id);
    const bool failed = !answered && !answered.failed_with(ErrorCode::kNotImplemented);  // that is the client's choice
    if (failed && http_status_of(answered.error().code) >= 500) {
      spdlog::error("request failed request_id={} code={} detail={}", request.request_id,
                    azure_name_of(answered.error().code), answered.error().detail);
    }
    if (request.method == "HEAD" && !answered) response.body.clear();
    add_common_headers(response, request);
    if (request.method != "OPTIONS") decorate(request, response);
    co_return response;
  }

  [[nodiscard]] http::Response render_error(const Error& error, const std::string& request_id) override {
    const bool not_modified = error.code == ErrorCode::kNotModified;
    auto response =
        not_modified ? empty_response(304) : xml_response(blob_store::render_error(error, request_id, clock_.now()));
    response.status = http_status_of(error.code);
    const auto code = not_modified ? ErrorCode::kConditionNotMet : error.code;
    response.set("x-ms-error-code", std::string(azure_name_of(code)));
    if (error.code == ErrorCode::kInvalidRange && !error.fields.empty()) {
      response.set("Content-Range", "bytes */" + error.fields.front().second);
    }
    return response;
  }

  rpc::Dispatch internal_face() override { return make_blob_dispatch(service_); }

 private:
  // OPTIONS: answered before anybody is authenticated.
  Result<http::Response> preflight(const http::Request& request) const {
    auto resource = TRY(auth::parse_resource(request.header("Host").value_or(""), request.path, accounts_));
    return cors_.preflight(resource.account, request);
  }

  // Refusals too tell a browser that it may look at them.
  void decorate(const http::Request& request, http::Response& response) const {
    if (!cors_.any()) return;
    const auto resource = auth::parse_resource(request.header("Host").value_or(""), request.path, accounts_);
    if (resource) cors_.decorate(resource->account, request, response);
  }

  Answer answer(http::Request& request) {
    if (request.method == "OPTIONS") co_return preflight(request);
    auto call = CO_TRY(make_call(request));
    Answer (*serve_depth)(Call&) = serve_account;
    if (!call.container.empty()) serve_depth = call.blob.empty() ? serve_container : serve_blob;
    co_return co_await serve_depth(call);
  }

  // Authenticates before anything else is looked at.
  Result<Call> make_call(http::Request& request) {
    const auto host = request.header("Host").value_or("");
    auto resource = TRY(auth::parse_resource(host, request.path, accounts_));
    const auth::SignedRequest signed_request{request.method,   request.path,           request.query,
                                             &request.headers, request.remote_address, host};
    const auth::PolicyLookup find_policy = [this](std::string_view account, std::string_view name,
                                                  std::string_view id) { return stored_policy(account, name, id); };
    auto identity = TRY(auth::authenticate(auth::Service::kBlob, signed_request, resource, accounts_, clock_.now(),
                                           policy_, find_policy));
    if (resource.secondary && request.method != "GET" && request.method != "HEAD") {
      return fail(ErrorCode::kInsufficientAccountPermissions);
    }
    auto query = http::parse_query(request.query);
    const auto slash = resource.rest.find('/');
    auto container = percent_decode(resource.rest.substr(0, slash), false);
    auto blob = slash == std::string_view::npos ? std::optional<std::string>("")
                                                : percent_decode(resource.rest.substr(slash + 1), false);
    if (!query || !container || !blob) return fail(ErrorCode::kRequestUrlFailedToParse);
    // The URL up to the container, as the client wrote it.
    const auto root = request.path.substr(0, request.path.size() - resource.rest.size());
    const bool https = auth::arrived_by_https(request.headers, policy_);
    auto endpoint = (https ? "https://" : "http://") + std::string(host) + std::string(root);
    if (!endpoint.ends_with('/')) endpoint += '/';
    return Call{request,
                service_,
                cors_,
                resource.account,
                std::move(*container),
                std::move(*blob),
                std::move(endpoint),
                std::move(*query),
                std::move(identity),
                resource.secondary,
                clock_.now()};
  }

  Result<std::optional<StoredPolicy>> stored_policy(std::string_view account, std::string_view name,
                                                    std::string_view id) {
    std::optional<StoredPolicy> none;
    const auto container = service_.get_container({std::string(account), std::string(name.substr(0, name.find('/')))});
    if (container.failed_with(ErrorCode::kContainerNotFound)) return none;
    if (!container) return fail(container.error());
    return protocol::find_policy(container->policies, id);
  }

  Clock& clock_;
  std::vector<auth::Account> accounts_;
  auth::Policy policy_;
  BlobService service_;
  protocol::CorsPolicies cors_;
};

}  // namespace

std::unique_ptr<service::Store> make_blob_store(service::StoreContext& context) {
  return std::make_unique<BlobStore>(context);
}

}  // namespace tidemark::blob_store
