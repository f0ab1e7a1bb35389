#include "queue_service/rest/queue_routes.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"
#include "queue_service/rest/queue_operations.h"

namespace tidemark::queue_service::rest {
namespace {

enum class On { kAccount, kQueue, kMessages, kMessage };

struct Route {
  On level;
  std::string_view method;     // GET includes HEAD, except for messages
  std::string_view restype;    // empty: any
  std::string_view comp;       // or "peek"
  analytics::Operation named;  // in logs and metrics; empty: not at all
  auth::Need need;
  Answer (*run)(Call&);
};

/// Only an account key or an account SAS grants these permissions.
constexpr auth::Need owner(auth::ResourceType type, std::string_view any_of) { return {type, any_of, "", false, true}; }
constexpr auth::Need anyone(auth::ResourceType type, std::string_view any_of) { return {type, any_of, "", true, true}; }
constexpr auth::Need kAclNeed{auth::ResourceType::kContainer, "", "", false, false};

using namespace operations;
using enum auth::ResourceType;
using enum analytics::Access;
using enum analytics::Effect;
// clang-format off
constexpr Route kRoutes[] = {
    {On::kAccount, "GET", "", "list", {"ListQueues", kRead}, owner(kService, "l"), list_queues},
    {On::kAccount, "GET", "service", "properties", {"GetQueueServiceProperties", kRead}, owner(kService, "r"), get_service_properties},
    {On::kAccount, "PUT", "service", "properties", {"SetQueueServiceProperties", kWrite}, owner(kService, "w"), set_service_properties},
    {On::kAccount, "GET", "service", "stats", {"GetQueueServiceStats", kRead}, owner(kService, "r"), get_stats},
    {On::kAccount, "POST", "service", "userdelegationkey", {}, owner(kService, "k"), get_delegation_key},
    {On::kQueue, "PUT", "", "", {"CreateQueue", kWrite}, owner(kContainer, "cw"), create_queue},
    {On::kQueue, "DELETE", "", "", {"DeleteQueue", kDelete, kRemovesUnit}, owner(kContainer, "d"), delete_queue},
    {On::kQueue, "GET", "", "metadata", {"GetQueueMetadata", kRead}, anyone(kContainer, "r"), get_metadata},
    {On::kQueue, "PUT", "", "metadata", {"SetQueueMetadata", kWrite}, owner(kContainer, "w"), set_metadata},
    {On::kQueue, "GET", "", "acl", {"GetQueueACL", kRead}, kAclNeed, get_acl},
    {On::kQueue, "PUT", "", "acl", {"SetQueueACL", kWrite}, kAclNeed, set_acl},
    {On::kMessages, "POST", "", "", {"PutMessage", kWrite, kAddsBytes}, anyone(kObject, "a"), put_message},
    {On::kMessages, "GET", "", "", {"GetMessages", kRead}, anyone(kObject, "p"), get_messages},
    {On::kMessages, "GET", "", "peek", {"PeekMessages", kRead}, anyone(kObject, "r"), peek_messages},
    {On::kMessages, "DELETE", "", "", {"ClearMessages", kDelete}, owner(kObject, "d"), clear_messages},
    {On::kMessage, "PUT", "", "", {"UpdateMessage", kWrite}, anyone(kObject, "u"), update_message},
    {On::kMessage, "DELETE", "", "", {"DeleteMessage", kDelete}, anyone(kObject, "p"), delete_message},
};
// clang-format on

On level_of(const Target& target) {
  if (target.queue.empty()) return On::kAccount;
  if (!target.messages) return On::kQueue;
  return target.message_id.empty() ? On::kMessages : On::kMessage;
}

/// Returns null if there is no such operation.
const Route* find_route(On level, const service::Call& call) {
  const bool of_messages = level == On::kMessages || level == On::kMessage;
  const auto method = call.reads() && !of_messages ? "GET" : call.http.method;
  const bool peeks = level == On::kMessages && call.parameter_is("peekonly", "true");
  const auto comp = peeks ? "peek" : of_messages ? "" : call.parameter("comp").value_or("");
  const auto* found = std::ranges::find_if(kRoutes, [&](const Route& each) {
    return each.level == level && each.method == method && iequals_ascii(each.comp, comp) &&
           (each.restype.empty() || call.parameter_is("restype", each.restype));
  });
  return found == std::end(kRoutes) ? nullptr : found;
}

Error unknown_operation(const Call& call, On level) {
  const auto comp = call.parameter("comp").value_or("");
  const bool has_method = call.reads() || call.http.method == "PUT";
  if (level == On::kAccount && has_method) {
    return protocol::invalid_parameter("comp", comp, "No such operation on an account.");
  }
  const bool known = comp.empty() || iequals_ascii(comp, "metadata") || iequals_ascii(comp, "acl");
  if (level == On::kQueue && !known) return protocol::invalid_parameter("comp", comp, "No such operation on a queue.");
  return make_error(ErrorCode::kUnsupportedHttpVerb);
}

/// Values of "peekonly" other than these are not treated as a Get, which would hide messages from a client that did not
/// ask for it.
Result<void> check_peek(const Call& call) {
  const auto peek = call.parameter("peekonly").value_or("");
  if (peek.empty() || iequals_ascii(peek, "true") || iequals_ascii(peek, "false")) return {};
  return fail(protocol::invalid_parameter("peekonly", peek, "Either true or false."));
}

/// kUnsupportedHttpVerb, kInvalidQueryParameterValue, kInsufficientAccountPermissions for a write to the secondary.
Result<Route> find_operation(const Call& call) {
  const auto level = level_of(call.target);
  const auto* const found = find_route(level, call);
  if (found == nullptr) return fail(unknown_operation(call, level));
  auto route = *found;
  if (route.run == get_messages) TRY(check_peek(call));
  if (route.run == update_message) {
    // An update that takes the message away needs the right to do so.
    const bool finishes = !iequals_ascii(call.http.header("x-ms-tidemark-finish").value_or("false"), "false");
    if (finishes || call.http.header("x-ms-tidemark-move-to")) route.need = anyone(kObject, "p");
  }
  const bool writes = !call.reads() || route.run == get_messages;
  if (call.resource.secondary && writes) return fail(ErrorCode::kInsufficientAccountPermissions);
  return route;
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
  if (operation.run == get_messages) CO_TRY(call.front.check_source(call));
  if (call.target.messages) CO_TRY(call.take_items({call.target.queue}, 1));
  co_return co_await operation.run(call);
}

Task<Result<void>> QueueRoutes::merge_properties(const std::string& account, std::string document) {
  return service_.call(calls::SetServiceProperties{account, std::move(document)});
}

/// The request alone decides, so a refused one has a name as well.
analytics::Operation QueueRoutes::operation_of(const service::Call& given) const {
  const auto& call = static_cast<const Call&>(given);
  if (call.http.method == "OPTIONS") return {"QueuePreflightRequest", kRead};
  // The target of a request that was refused early has not been parsed.
  const auto target = call.read ? Result<Target>(call.target) : parse_target(call.resource.rest);
  const auto* const route = target ? find_route(level_of(*target), call) : nullptr;
  return route == nullptr ? analytics::Operation() : route->named;
}

std::string_view QueueRoutes::name_of(const service::Call& call) const {
  return static_cast<const Call&>(call).target.queue;
}

Result<StoredPolicies> QueueRoutes::policies_of(const service::Call& call, std::string_view resource) const {
  return service_.get_acl(call.account(), resource);
}

}  // namespace tidemark::queue_service::rest
