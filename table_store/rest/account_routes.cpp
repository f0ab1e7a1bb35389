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
  auto stored = call.service.get_service_properties(call.account());
  if (!stored) return fail(std::move(stored.error()));
  return xml_answer(protocol::service_properties_document(kStore, *stored));
}

Task<Result<http::Response>> set_properties(Call& call) {
  auto read = call.http.body->read_all(protocol::kMaxServicePropertiesBytes);
  auto body = co_await std::move(read);
  if (!body) co_return fail(std::move(body.error()));
  std::function<Result<std::string>(const std::string&)> change = [&](const std::string& stored) {
    return protocol::merge_service_properties(kStore, stored, *body);
  };
  auto store = call.service.set_service_properties(call.account(), std::move(change));
  auto done = co_await std::move(store);
  if (!done) co_return fail(std::move(done.error()));
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
  if (auto allowed = allow(call, reads ? "r" : "w"); !allowed) co_return fail(std::move(allowed.error()));
  if (reads) co_return comp == "stats" ? get_stats(call) : get_properties(call);
  auto task = set_properties(call);
  auto response = co_await std::move(task);
  co_return std::move(response);
}

}  // namespace tidemark::table_store
