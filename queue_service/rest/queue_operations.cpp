// Operations on the account and on queues.
#include "queue_service/rest/queue_operations.h"

#include "common/base/encoding.h"
#include "common/base/xml_text.h"
#include "common/protocol/protocol_errors.h"
#include "common/protocol/stored_policies.h"
#include "common/protocol/xml.h"
#include "queue_service/rest/message_extensions.h"

namespace tidemark::queue_service::rest::operations {
namespace {

constexpr std::string_view kQueuePermissions = "raup";

std::string render_list(const Call& call, const QueuePage& page, const std::string& marker_prefix) {
  const bool with_metadata = call.parameter_is("include", "metadata");
  protocol::XmlWriter out;
  out.begin("EnumerationResults").attribute("ServiceEndpoint", call.endpoint() + "/");
  for (const auto& [name, element] :
       {std::pair{"prefix", "Prefix"}, std::pair{"marker", "Marker"}, std::pair{"maxresults", "MaxResults"}}) {
    if (const auto value = call.parameter(name)) out.element(element, *value);
  }
  out.begin("Queues");
  for (const auto& queue : page.queues) {
    out.begin("Queue").element("Name", queue.name);
    if (with_metadata) {
      out.begin("Metadata");
      for (const auto& [name, value] : queue.metadata) out.element(name, value);
      out.end();
    }
    out.end();
  }
  out.end().element("NextMarker", page.next ? marker_prefix + *page.next : "");
  return out.take();
}

}  // namespace

Answer list_queues(Call& call) {
  const auto include = call.parameter("include").value_or("");
  if (!include.empty() && !call.parameter_is("include", "metadata")) {
    co_return fail(protocol::invalid_parameter("include", include, "Either metadata or nothing."));
  }
  auto limit = CO_TRY(call.number("maxresults", INT64_MIN, INT64_MAX));
  // A limit beyond the largest page is served as that; a limit below one is refused.
  if (limit.value_or(1) < 1) {
    co_return fail(protocol::out_of_range_parameter("maxresults", *call.parameter("maxresults"), 1, kMaxQueuesPerPage));
  }
  const auto prefix = call.parameter("prefix").value_or("");
  auto from = call.parameter("marker").value_or("");
  const std::string marker_prefix = "/" + call.account() + "/";
  if (!from.empty() && !from.starts_with(marker_prefix)) co_return fail(ErrorCode::kInvalidMarker);
  if (!from.empty()) from.remove_prefix(marker_prefix.size());
  const auto count = std::min<std::int64_t>(limit.value_or(kMaxQueuesPerPage), kMaxQueuesPerPage);
  auto page = CO_TRY(call.service.list_queues(call.account(), prefix, from, static_cast<std::uint32_t>(count)));
  for (const auto* name : {"prefix", "marker"}) {
    if (!is_xml_text(call.parameter(name).value_or(""))) {
      co_return fail(protocol::invalid_parameter(name, "", "Not valid text."));
    }
  }
  co_return uncached(xml_response(200, render_list(call, page, marker_prefix)));
}

Answer get_service_properties(Call& call) { co_return uncached(CO_TRY(call.front.get_properties(call))); }

Answer set_service_properties(Call& call) {
  co_return co_await call.front.set_properties(call, CO_TRY(co_await call.http.body->read_all(kMaxBodyBytes)));
}

Answer get_delegation_key(Call& call) {
  const auto body = CO_TRY(co_await call.http.body->read_all(service::kMaxKeyInfoBytes));
  co_return call.front.get_delegation_key(call, body);
}

Answer get_stats(Call& call) { co_return uncached(CO_TRY(call.front.get_stats(call))); }

Answer create_queue(Call& call) {
  auto options = CO_TRY(queue_options_in(call));
  // The extension's headers win over metadata of the same name.
  auto metadata = patched(protocol::read_metadata(call.http), options);
  const bool is_new = call.is_bounded() &&
                      call.service.get_acl(call.account(), call.target.queue).failed_with(ErrorCode::kQueueNotFound);
  if (is_new) CO_TRY(call.admit_unit());
  const calls::CreateQueue create{call.account(), call.target.queue, std::move(metadata)};
  const bool made = CO_TRY(co_await call.service.call(create));
  co_return empty_response(made ? 201 : 204);
}

Answer delete_queue(Call& call) {
  CO_TRY(co_await call.service.call(calls::DeleteQueue{call.account(), call.target.queue}));
  co_return empty_response(204);
}

Answer get_metadata(Call& call) {
  auto properties = CO_TRY(co_await call.service.call(calls::GetProperties{call.account(), call.target.queue}));
  auto response = uncached(empty_response(200));
  response.set("x-ms-approximate-messages-count", std::to_string(properties.messages));
  protocol::add_metadata(response, properties.metadata);
  co_return response;
}

Answer set_metadata(Call& call) {
  auto metadata = protocol::read_metadata(call.http);
  auto options = CO_TRY(queue_options_in(call));
  if (metadata.empty() && !options.empty()) {
    // The extension's headers alone leave the rest of the metadata as it is.
    CO_TRY(co_await call.service.call(calls::PatchMetadata{call.account(), call.target.queue, std::move(options)}));
    co_return empty_response(204);
  }
  metadata = patched(std::move(metadata), options);
  CO_TRY(co_await call.service.call(calls::SetMetadata{call.account(), call.target.queue, std::move(metadata)}));
  co_return empty_response(204);
}

Answer get_acl(Call& call) {
  auto acl = CO_TRY(call.service.get_acl(call.account(), call.target.queue));
  co_return uncached(xml_response(200, std::string(protocol::kXmlDeclaration) + protocol::render_stored_policies(acl)));
}

Answer set_acl(Call& call) {
  auto body = CO_TRY(co_await call.http.body->read_all(kMaxBodyBytes));
  auto acl = CO_TRY(protocol::parse_stored_policies(body, kQueuePermissions));
  CO_TRY(co_await call.service.call(calls::SetAcl{call.account(), call.target.queue, std::move(acl)}));
  co_return empty_response(204);
}

}  // namespace tidemark::queue_service::rest::operations
