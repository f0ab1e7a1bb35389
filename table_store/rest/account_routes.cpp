#include "table_store/rest/account_routes.h"

namespace tidemark::table_store {
namespace {

constexpr auto kStore = protocol::StoreKind::kTable;

http::Response xml_answer(std::string body) {
  http::Response response;
  response.set("Content-Type", "application/xml");
  response.body = std::move(body);
  return response;
}

Result<http::Response> get_properties(const Call& call) {
  auto stored = TRY(call.service.get_service_properties(call.account()));
  return xml_answer(protocol::service_properties_document(kStore, stored));
}

Task<Result<http::Response>> set_properties(Call& call) {
  auto body = CO_TRY(co_await call.http.body->read_all(protocol::kMaxServicePropertiesBytes));
  std::function<Result<std::string>(const std::string&)> change = [&](const std::string& stored) {
    return protocol::merge_service_properties(kStore, stored, body);
  };
  CO_TRY(co_await call.service.set_service_properties(call.account(), std::move(change)));
  call.cors.refresh(call.account(), [&] { return call.service.get_service_properties(call.account()); });
  http::Response response;
  response.status = 202;
  co_return response;
}

Result<void> allow(const Call& call, std::string_view letters) {
  return call.allow({auth::ResourceType::kService, letters, {}, false});
}

Result<http::Response> get_stats(const Call& call) {
  if (!call.resource.secondary) return fail(protocol::stats_need_secondary());
  return xml_answer(protocol::service_stats_document(call.clock.now()));
}

}  // namespace

Task<Result<http::Response>> serve_account(Call& call) {
  const bool reads = call.method == "GET" || call.method == "HEAD";
  const auto comp = call.parameter("comp").value_or("");
  const bool known = comp == "properties" || comp == "stats";
  if (!known || call.parameter("restype").value_or("service") != "service") co_return fail(ErrorCode::kInvalidUri);
  if (!reads && (comp == "stats" || call.method != "PUT")) co_return fail(ErrorCode::kMethodNotAllowed);
  CO_TRY(allow(call, reads ? "r" : "w"));
  if (reads) co_return comp == "stats" ? get_stats(call) : get_properties(call);
  co_return co_await set_properties(call);
}

}  // namespace tidemark::table_store
