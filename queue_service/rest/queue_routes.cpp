#include "queue_service/rest/queue_routes.h"

#include "common/base/encoding.h"
#include "common/protocol/stored_policies.h"
#include "queue_service/rest/queue_operations.h"
#include "queue_service/rest/queue_xml.h"

namespace tidemark::queue_service::rest {
namespace {

using auth::ResourceType;

constexpr auth::Need kAclNeed{ResourceType::kContainer, "", "", false, false};

auth::Need account_need(ResourceType type, std::string_view any_of) { return {type, any_of, "", false, true}; }
auth::Need queue_need(ResourceType type, std::string_view any_of) { return {type, any_of, "", true, true}; }

Result<Operation> find_account_operation(const QueueRequest& request, std::string_view method) {
  using namespace operations;
  const bool reads = method == "GET" || method == "HEAD";
  if (request.parameter_is("comp", "list") && reads) {
    return Operation{account_need(ResourceType::kService, "l"), list_queues};
  }
  if (request.parameter_is("restype", "service")) {
    if (request.parameter_is("comp", "properties") && reads) {
      return Operation{account_need(ResourceType::kService, "r"), get_service_properties};
    }
    if (request.parameter_is("comp", "properties") && method == "PUT") {
      return Operation{account_need(ResourceType::kService, "w"), set_service_properties};
    }
    if (request.parameter_is("comp", "stats") && reads) {
      return Operation{account_need(ResourceType::kService, "r"), get_stats};
    }
  }
  if (!reads && method != "PUT") return fail(ErrorCode::kUnsupportedHttpVerb);
  return fail(invalid_parameter("comp", request.parameter("comp").value_or(""), "No such operation on an account."));
}

Result<Operation> find_queue_operation(const QueueRequest& request, std::string_view method) {
  using namespace operations;
  const bool reads = method == "GET" || method == "HEAD";
  const auto comp = request.parameter("comp").value_or("");
  if (comp.empty() && method == "PUT") return Operation{account_need(ResourceType::kContainer, "cw"), create_queue};
  if (comp.empty() && method == "DELETE") return Operation{account_need(ResourceType::kContainer, "d"), delete_queue};
  if (iequals_ascii(comp, "metadata") && reads)
    return Operation{queue_need(ResourceType::kContainer, "r"), get_metadata};
  if (iequals_ascii(comp, "metadata") && method == "PUT") {
    return Operation{account_need(ResourceType::kContainer, "w"), set_metadata};
  }
  if (iequals_ascii(comp, "acl") && reads) return Operation{kAclNeed, get_acl};
  if (iequals_ascii(comp, "acl") && method == "PUT") return Operation{kAclNeed, set_acl};
  if (!comp.empty() && !iequals_ascii(comp, "metadata") && !iequals_ascii(comp, "acl")) {
    return fail(invalid_parameter("comp", comp, "No such operation on a queue."));
  }
  return fail(ErrorCode::kUnsupportedHttpVerb);
}

Result<Operation> find_message_operation(const QueueRequest& request, std::string_view method) {
  using namespace operations;
  constexpr auto kObject = ResourceType::kObject;
  if (request.message_id.empty()) {
    if (method == "POST") return Operation{queue_need(kObject, "a"), put_message};
    if (method == "DELETE") return Operation{account_need(kObject, "d"), clear_messages};
    if (method != "GET") return fail(ErrorCode::kUnsupportedHttpVerb);
    if (request.parameter_is("peekonly", "true")) return Operation{queue_need(kObject, "r"), peek_messages};
    const auto peek = request.parameter("peekonly").value_or("");
    // Not taken for a Get, which would hide messages from a client that did not ask for it.
    if (!peek.empty() && !iequals_ascii(peek, "false")) {
      return fail(invalid_parameter("peekonly", peek, "Either true or false."));
    }
    return Operation{queue_need(kObject, "p"), get_messages};
  }
  if (method == "PUT") {
    // What takes the message away needs the right to take it away.
    const bool finishes = !iequals_ascii(request.http->header("x-ms-tidemark-finish").value_or("false"), "false");
    const bool takes = finishes || request.http->header("x-ms-tidemark-move-to");
    return Operation{queue_need(kObject, takes ? "p" : "u"), update_message};
  }
  if (method == "DELETE") return Operation{queue_need(kObject, "p"), delete_message};
  return fail(ErrorCode::kUnsupportedHttpVerb);
}

}  // namespace

namespace {
Result<Operation> find_any_operation(const QueueRequest& request) {
  const auto method = request.http->method;
  if (request.queue.empty()) return find_account_operation(request, method);
  TRY(check_queue_name(request.queue));
  if (!request.messages) return find_queue_operation(request, method);
  return find_message_operation(request, method);
}
}  // namespace

Result<Operation> find_operation(const QueueRequest& request) {
  auto operation = find_any_operation(request);
  if (!operation || !request.secondary) return operation;
  const auto method = request.http->method;
  const bool reads = (method == "GET" || method == "HEAD") && operation->run != operations::get_messages;
  if (!reads) return fail(ErrorCode::kInsufficientAccountPermissions);
  return operation;
}

QueueRoutes::QueueRoutes(QueueService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy)
    : service_(service), clock_(clock), accounts_(std::move(accounts)), policy_(policy) {
  for (const auto& account : accounts_) {
    cors_.refresh(account.name, [&] { return service_.get_service_properties(account.name); });
  }
}

Answer QueueRoutes::preflight(const http::Request& request) const {
  auto resource = TRY(auth::parse_resource(request.header("host").value_or(""), request.path, accounts_));
  return cors_.preflight(resource.account, request);
}

Result<void> QueueRoutes::admit(QueueRequest& request) const {
  const auto& http = *request.http;
  const auto host = http.header("host").value_or("");
  auto resource = TRY(auth::parse_resource(host, http.path, accounts_));
  auto parameters = QueryParameters::parse(http.query);
  if (!parameters) return fail(ErrorCode::kInvalidUri);
  const auth::SignedRequest signed_request{http.method,         http.path, http.query,  &http.headers,
                                           http.remote_address, host,      &*parameters};
  const auth::PolicyLookup find_policy = [this](std::string_view account, std::string_view queue,
                                                std::string_view id) -> Result<std::optional<StoredPolicy>> {
    auto acl = service_.get_acl(account, queue);
    if (acl.failed_with(ErrorCode::kQueueNotFound)) return std::optional<StoredPolicy>();
    if (!acl) return fail(std::move(acl.error()));
    return protocol::find_policy(*acl, id);
  };
  request.identity = TRY(auth::authenticate(auth::Service::kQueue, signed_request, resource, accounts_, clock_.now(),
                                            policy_, find_policy));
  request.account = resource.account;
  request.secondary = resource.secondary;
  request.https = auth::arrived_by_https(http.headers, policy_);
  request.version = request.identity.version;
  request.parameters = std::move(*parameters);
  return split_resource(resource.rest, request);
}

http::Response QueueRoutes::render(const Error& error, const std::string& request_id) const {
  http::Response response;
  response.status = http_status_of(error.code);
  response.set("Content-Type", "application/xml");
  response.set("x-ms-request-id", request_id);
  response.set("x-ms-error-code", std::string(azure_name_of(error.code)));
  response.body = render_error(error, request_id, clock_.now());
  return response;
}

Task<Answer> QueueRoutes::answer(QueueRequest& request) {
  if (request.http->method == "OPTIONS") co_return preflight(*request.http);
  CO_TRY(admit(request));
  auto operation = CO_TRY(find_operation(request));
  CO_TRY(auth::authorize(request.identity, operation.need, request.queue));
  OperationContext context{service_, request, clock_, cors_};
  auto answered = co_await operation.run(context);
  if (answered) answered->set("x-ms-request-id", request.http->request_id);
  co_return std::move(answered);
}

void QueueRoutes::decorate(const QueueRequest& request, http::Response& response) const {
  const auto& http = *request.http;
  const bool known = request.account.size() > 0;  // authentication passed
  if (known && !request.version.empty()) response.set("x-ms-version", request.version);
  const auto id = http.header("x-ms-client-request-id");
  if (known && id) response.set("x-ms-client-request-id", std::string(*id));
  if (!cors_.any() || http.method == "OPTIONS") return;
  // Refusals too tell a browser that it may look at them.
  const auto resource = auth::parse_resource(http.header("host").value_or(""), http.path, accounts_);
  if (resource) cors_.decorate(resource->account, http, response);
}

Task<http::Response> QueueRoutes::serve(http::Request& http) {
  QueueRequest request;
  request.http = &http;
  auto answered = co_await answer(request);
  auto response = answered ? std::move(*answered) : render(answered.error(), http.request_id);
  decorate(request, response);
  if (http.method == "HEAD") {
    response.head_content_length = response.body.size();
    response.body.clear();
  }
  co_return std::move(response);
}

}  // namespace tidemark::queue_service::rest
