#include "queue_service/rest/queue_routes.h"

#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"
#include "queue_service/rest/queue_operations.h"

namespace tidemark::queue_service::rest {
namespace {

using auth::ResourceType;

struct Route {
  auth::Need need;
  Answer (*run)(Call&);
};

constexpr auth::Need kAclNeed{ResourceType::kContainer, "", "", false, false};

auth::Need account_need(ResourceType type, std::string_view any_of) { return {type, any_of, "", false, true}; }
auth::Need queue_need(ResourceType type, std::string_view any_of) { return {type, any_of, "", true, true}; }

Result<Route> find_account_operation(const Call& call, std::string_view method) {
  using namespace operations;
  const bool reads = method == "GET" || method == "HEAD";
  if (call.parameter_is("comp", "list") && reads) {
    return Route{account_need(ResourceType::kService, "l"), list_queues};
  }
  if (call.parameter_is("restype", "service")) {
    if (call.parameter_is("comp", "properties") && reads) {
      return Route{account_need(ResourceType::kService, "r"), get_service_properties};
    }
    if (call.parameter_is("comp", "properties") && method == "PUT") {
      return Route{account_need(ResourceType::kService, "w"), set_service_properties};
    }
    if (call.parameter_is("comp", "stats") && reads) {
      return Route{account_need(ResourceType::kService, "r"), get_stats};
    }
    if (call.parameter_is("comp", "userdelegationkey") && method == "POST") {
      return Route{account_need(ResourceType::kService, "k"), get_delegation_key};
    }
  }
  if (!reads && method != "PUT") return fail(ErrorCode::kUnsupportedHttpVerb);
  return fail(
      protocol::invalid_parameter("comp", call.parameter("comp").value_or(""), "No such operation on an account."));
}

Result<Route> find_queue_operation(const Call& call, std::string_view method) {
  using namespace operations;
  const bool reads = method == "GET" || method == "HEAD";
  const auto comp = call.parameter("comp").value_or("");
  if (comp.empty() && method == "PUT") return Route{account_need(ResourceType::kContainer, "cw"), create_queue};
  if (comp.empty() && method == "DELETE") return Route{account_need(ResourceType::kContainer, "d"), delete_queue};
  if (iequals_ascii(comp, "metadata") && reads) return Route{queue_need(ResourceType::kContainer, "r"), get_metadata};
  if (iequals_ascii(comp, "metadata") && method == "PUT") {
    return Route{account_need(ResourceType::kContainer, "w"), set_metadata};
  }
  if (iequals_ascii(comp, "acl") && reads) return Route{kAclNeed, get_acl};
  if (iequals_ascii(comp, "acl") && method == "PUT") return Route{kAclNeed, set_acl};
  if (!comp.empty() && !iequals_ascii(comp, "metadata") && !iequals_ascii(comp, "acl")) {
    return fail(protocol::invalid_parameter("comp", comp, "No such operation on a queue."));
  }
  return fail(ErrorCode::kUnsupportedHttpVerb);
}

Result<Route> find_message_operation(const Call& call, std::string_view method) {
  using namespace operations;
  constexpr auto kObject = ResourceType::kObject;
  if (call.target.message_id.empty()) {
    if (method == "POST") return Route{queue_need(kObject, "a"), put_message};
    if (method == "DELETE") return Route{account_need(kObject, "d"), clear_messages};
    if (method != "GET") return fail(ErrorCode::kUnsupportedHttpVerb);
    if (call.parameter_is("peekonly", "true")) return Route{queue_need(kObject, "r"), peek_messages};
    const auto peek = call.parameter("peekonly").value_or("");
    // Other values are not treated as a Get, which would hide messages from a client that did not ask for it.
    if (!peek.empty() && !iequals_ascii(peek, "false")) {
      return fail(protocol::invalid_parameter("peekonly", peek, "Either true or false."));
    }
    return Route{queue_need(kObject, "p"), get_messages};
  }
  if (method == "PUT") {
    // An update that takes the message away needs the right to do so.
    const bool finishes = !iequals_ascii(call.http.header("x-ms-tidemark-finish").value_or("false"), "false");
    const bool takes = finishes || call.http.header("x-ms-tidemark-move-to");
    return Route{queue_need(kObject, takes ? "p" : "u"), update_message};
  }
  if (method == "DELETE") return Route{queue_need(kObject, "p"), delete_message};
  return fail(ErrorCode::kUnsupportedHttpVerb);
}

/// kUnsupportedHttpVerb, kInvalidQueryParameterValue, kInsufficientAccountPermissions for a write to the secondary.
Result<Route> find_operation(const Call& call) {
  const auto method = call.http.method;
  auto operation = TRY(call.target.queue.empty() ? find_account_operation(call, method)
                       : call.target.messages    ? find_message_operation(call, method)
                                                 : find_queue_operation(call, method));
  const bool writes = !call.reads() || operation.run == operations::get_messages;
  if (call.resource.secondary && writes) return fail(ErrorCode::kInsufficientAccountPermissions);
  return operation;
}

}  // namespace

QueueRoutes::QueueRoutes(QueueService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy)
    : StoreFront({auth::Service::kQueue, protocol::StoreKind::kQueue, make_error(ErrorCode::kInvalidUri)}, clock,
                 std::move(accounts), policy, service),
      service_(service) {}

Answer QueueRoutes::answer(Call& call) {
  call.target = CO_TRY(parse_target(call.resource.rest));
  call.read = true;
  const auto operation = CO_TRY(find_operation(call));
  CO_TRY(auth::authorize(call.identity, operation.need, call.target.queue));
  if (operation.run == operations::get_messages) CO_TRY(call.front.check_source(call));
  if (call.target.messages) CO_TRY(call.take_items({call.target.queue}, 1));
  co_return co_await operation.run(call);
}

Task<Result<void>> QueueRoutes::merge_properties(const std::string& account, std::string document) {
  return service_.call(calls::SetServiceProperties{account, std::move(document)});
}

Result<StoredPolicies> QueueRoutes::policies_of(const service::Call& call, std::string_view resource) const {
  return service_.get_acl(call.account(), resource);
}

}  // namespace tidemark::queue_service::rest
