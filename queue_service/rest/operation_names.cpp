// The names of the queue protocol's operations in storage analytics. The request alone decides, so a refused one has a
// name as well.
#include "common/base/encoding.h"
#include "queue_service/rest/queue_routes.h"

namespace tidemark::queue_service::rest {
namespace {

using analytics::Operation;
using enum analytics::Access;
using enum analytics::Effect;

Operation account_operation(const service::Call& call) {
  const bool reads = call.reads();
  const bool service = call.parameter_is("restype", "service");
  if (reads && call.parameter_is("comp", "list")) return {"ListQueues", kRead};
  if (service && reads && call.parameter_is("comp", "properties")) return {"GetQueueServiceProperties", kRead};
  if (service && reads && call.parameter_is("comp", "stats")) return {"GetQueueServiceStats", kRead};
  if (service && call.parameter_is("comp", "properties")) return {"SetQueueServiceProperties", kWrite};
  return {};
}

Operation queue_operation(const service::Call& call) {
  const auto method = call.http.method;
  if (call.parameter_is("comp", "metadata")) {
    return call.reads() ? Operation{"GetQueueMetadata", kRead} : Operation{"SetQueueMetadata", kWrite};
  }
  if (call.parameter_is("comp", "acl")) {
    return call.reads() ? Operation{"GetQueueACL", kRead} : Operation{"SetQueueACL", kWrite};
  }
  if (method == "PUT") return {"CreateQueue", kWrite};
  if (method == "DELETE") return {"DeleteQueue", kDelete, kRemovesUnit};
  return {};
}

Operation message_operation(const service::Call& call, bool of_one) {
  const auto method = call.http.method;
  if (!of_one) {
    if (method == "POST") return {"PutMessage", kWrite, kAddsBytes};
    if (method == "DELETE") return {"ClearMessages", kDelete};
    if (method != "GET") return {};
    return call.parameter_is("peekonly", "true") ? Operation{"PeekMessages", kRead} : Operation{"GetMessages", kRead};
  }
  if (method == "PUT") return {"UpdateMessage", kWrite};
  if (method == "DELETE") return {"DeleteMessage", kDelete};
  return {};
}

Operation operation_named(const service::Call& call, const Target& target) {
  if (target.queue.empty()) return account_operation(call);
  return target.messages ? message_operation(call, !target.message_id.empty()) : queue_operation(call);
}

}  // namespace

Operation QueueRoutes::operation_of(const service::Call& given) const {
  const auto& call = static_cast<const Call&>(given);
  if (call.http.method == "OPTIONS") return {"QueuePreflightRequest", kRead};
  if (call.read) return operation_named(call, call.target);
  // The request was refused before its target was parsed.
  const auto target = parse_target(call.resource.rest);
  return target ? operation_named(call, *target) : Operation();
}

std::string_view QueueRoutes::name_of(const service::Call& call) const {
  return static_cast<const Call&>(call).target.queue;
}

}  // namespace tidemark::queue_service::rest
