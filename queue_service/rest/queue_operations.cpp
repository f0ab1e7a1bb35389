// Operations on the account and on queues.
#include "queue_service/rest/queue_operations.h"

#include "common/base/encoding.h"
#include "common/base/xml_text.h"
#include "common/protocol/service_properties.h"
#include "common/protocol/stored_policies.h"
#include "common/protocol/xml.h"
#include "queue_service/rest/message_extensions.h"
#include "queue_service/rest/queue_xml.h"

namespace tidemark::queue_service::rest::operations {
namespace {

constexpr std::string_view kQueuePermissions = "raup";

http::Response empty(unsigned status) {
  http::Response response;
  response.status = status;
  return response;
}

http::Response xml(std::string body) {
  http::Response response;
  response.set("Content-Type", "application/xml");
  response.set("Cache-Control", "no-cache");
  response.body = std::move(body);
  return response;
}

Metadata metadata_of(const http::Request& request) {
  constexpr std::string_view kPrefix = "x-ms-meta-";
  Metadata metadata;
  for (const auto& [name, value] : request.headers) {
    if (name.size() >= kPrefix.size() && iequals_ascii(name.substr(0, kPrefix.size()), kPrefix)) {
      metadata.emplace_back(name.substr(kPrefix.size()), value);
    }
  }
  return metadata;
}

/// The extension's headers win over metadata of the same name.
Metadata with_options(Metadata metadata, const Metadata& options) {
  for (const auto& [name, value] : options) {
    std::erase_if(metadata, [&](const auto& entry) { return iequals_ascii(entry.first, name); });
    if (!value.empty()) metadata.emplace_back(name, value);
  }
  return metadata;
}

Task<Result<std::string>> read_body(OperationContext context) {
  auto body = co_await context.request.http->body->read_all(kMaxBodyBytes);
  if (body.failed_with(ErrorCode::kRequestBodyTooLarge)) {
    body.error().fields.assign(1, {"MaxLimit", std::to_string(kMaxBodyBytes)});
  }
  co_return body;
}

std::string endpoint_of(const QueueRequest& request) {
  const auto host = request.http->header("host").value_or("");
  std::string url = (request.https ? "https://" : "http://") + std::string(host) + "/";
  if (request.http->path.substr(1).starts_with(request.account)) url += request.account + "/";
  return url;
}

}  // namespace

Task<Answer> list_queues(OperationContext context) {
  const auto& request = context.request;
  auto limit = CO_TRY(request.number("maxresults", INT64_MIN, INT64_MAX));
  // More than the largest page is served as that; less than one is refused.
  if (limit.value_or(1) < 1) {
    co_return fail(out_of_range_parameter("maxresults", *request.parameter("maxresults"), 1, kMaxQueuesPerPage));
  }
  const auto prefix = request.parameter("prefix").value_or("");
  auto from = request.parameter("marker").value_or("");
  const std::string marker_prefix = "/" + request.account + "/";
  if (!from.empty() && !from.starts_with(marker_prefix)) co_return fail(ErrorCode::kInvalidMarker);
  if (!from.empty()) from.remove_prefix(marker_prefix.size());
  const bool with_metadata = request.parameter_is("include", "metadata");
  const auto count = std::min<std::int64_t>(limit.value_or(kMaxQueuesPerPage), kMaxQueuesPerPage);
  auto page = CO_TRY(context.service.list_queues(request.account, prefix, from, static_cast<std::uint32_t>(count)));

  std::string out(protocol::kXmlDeclaration);
  out += "<EnumerationResults ServiceEndpoint=\"";
  append_escaped(out, endpoint_of(request));
  out += "\">";
  for (const auto& [name, element] :
       {std::pair{"prefix", "Prefix"}, std::pair{"marker", "Marker"}, std::pair{"maxresults", "MaxResults"}}) {
    const auto value = request.parameter(name);
    if (value && !is_xml_text(*value)) co_return fail(invalid_parameter(name, "", "Not valid text."));
    if (value) append_element(out, element, *value);
  }
  out += "<Queues>";
  for (const auto& queue : page.queues) {
    out += "<Queue>";
    append_element(out, "Name", queue.name);
    if (with_metadata) {
      out += "<Metadata>";
      for (const auto& [name, value] : queue.metadata) append_element(out, name, value);
      out += "</Metadata>";
    }
    out += "</Queue>";
  }
  out += "</Queues>";
  append_element(out, "NextMarker", page.next ? marker_prefix + *page.next : "");
  co_return xml(out + "</EnumerationResults>");
}

Task<Answer> get_service_properties(OperationContext context) {
  auto stored = CO_TRY(context.service.get_service_properties(context.request.account));
  co_return xml(protocol::service_properties_document(protocol::StoreKind::kQueue, stored));
}

Task<Answer> set_service_properties(OperationContext context) {
  auto body = CO_TRY(co_await read_body(context));
  std::function<Result<std::string>(const std::string&)> change = [&](const std::string& stored) {
    return protocol::merge_service_properties(protocol::StoreKind::kQueue, stored, body);
  };
  const auto& account = context.request.account;
  CO_TRY(co_await context.service.set_service_properties(account, std::move(change)));
  context.cors.refresh(account, [&] { return context.service.get_service_properties(account); });
  co_return empty(202);
}

Task<Answer> get_stats(OperationContext context) {
  if (!context.request.secondary) co_return fail(protocol::stats_need_secondary());
  co_return xml(protocol::service_stats_document(context.clock.now()));
}

Task<Answer> create_queue(OperationContext context) {
  auto options = CO_TRY(queue_options_in(context.request));
  auto metadata = with_options(metadata_of(*context.request.http), options);
  auto outcome = CO_TRY(
      co_await context.service.create_queue(context.request.account, context.request.queue, std::move(metadata)));
  co_return empty(outcome == CreateOutcome::kCreated ? 201 : 204);
}

Task<Answer> delete_queue(OperationContext context) {
  CO_TRY(co_await context.service.delete_queue(context.request.account, context.request.queue));
  co_return empty(204);
}

Task<Answer> get_metadata(OperationContext context) {
  auto properties = CO_TRY(co_await context.service.get_properties(context.request.account, context.request.queue));
  auto response = empty(200);
  response.set("Cache-Control", "no-cache");
  response.set("x-ms-approximate-messages-count", std::to_string(properties.messages));
  for (auto& [name, value] : properties.metadata) response.set("x-ms-meta-" + name, std::move(value));
  co_return response;
}

Task<Answer> set_metadata(OperationContext context) {
  auto metadata = metadata_of(*context.request.http);
  auto options = CO_TRY(queue_options_in(context.request));
  const auto& request = context.request;
  if (metadata.empty() && !options.empty()) {
    // The extension's headers alone leave the rest of the metadata as it is.
    CO_TRY(co_await context.service.patch_metadata(request.account, request.queue, std::move(options)));
    co_return empty(204);
  }
  metadata = with_options(std::move(metadata), options);
  CO_TRY(co_await context.service.set_metadata(request.account, request.queue, std::move(metadata)));
  co_return empty(204);
}

Task<Answer> get_acl(OperationContext context) {
  auto acl = CO_TRY(context.service.get_acl(context.request.account, context.request.queue));
  co_return xml(std::string(protocol::kXmlDeclaration) + protocol::render_stored_policies(acl));
}

Task<Answer> set_acl(OperationContext context) {
  auto body = CO_TRY(co_await read_body(context));
  auto acl = CO_TRY(protocol::parse_stored_policies(body, kQueuePermissions));
  CO_TRY(co_await context.service.set_acl(context.request.account, context.request.queue, std::move(acl)));
  co_return empty(204);
}

}  // namespace tidemark::queue_service::rest::operations
