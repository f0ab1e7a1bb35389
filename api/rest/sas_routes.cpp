// Shared access signatures for others: limited rights to the data itself, without the account's key.
#include "api/rest/api_routes.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "blob_store/model/names.h"
#include "common/base/encoding.h"
#include "common/http/host_name.h"
#include "common/service/sas_signer.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/limits.h"

namespace tidemark::api {
namespace {

using auth::Service;

constexpr std::int64_t kLongestS = 366L * 86'400;  // the stores have a setting
enum class Of : std::uint8_t { kAccount, kTable, kQueue, kContainer, kBlob };
constexpr jobs::Names<Of, 5> kKinds{{{Of::kAccount, "account"},
                                     {Of::kTable, "table"},
                                     {Of::kQueue, "queue"},
                                     {Of::kContainer, "container"},
                                     {Of::kBlob, "blob"}}};

struct Order {
  Of of = Of::kAccount;
  auth::SasGrant grant;
};

/// Rejects names that cannot exist, for which a signature is useless.
Result<void> check_names(Of of, const auth::SasGrant& grant) {
  const std::string_view name = grant.resource;
  if (of == Of::kTable && !table_store::is_metrics_table(name)) TRY(check_table_name(name));
  if (of == Of::kQueue) TRY(check_queue_name(name));
  if (of == Of::kContainer || of == Of::kBlob) TRY(check_container_name(name.substr(0, name.find('/'))));
  if (of == Of::kBlob) TRY(check_blob_name(name.substr(name.find('/') + 1)));
  TRY(check_key("startPartitionKey", grant.start_pk));
  TRY(check_key("startRowKey", grant.start_rk));
  TRY(check_key("endPartitionKey", grant.end_pk));
  return check_key("endRowKey", grant.end_rk);
}

void read_times(jobs::SpecMembers& in, auth::SasGrant& grant, Time now) {
  std::optional<std::int64_t> seconds;
  std::optional<Time> expiry;
  in.number("expiresIn", seconds, 1, kLongestS);
  in.time("expiresAt", expiry);
  in.time("startsAt", grant.start);
  if (seconds.has_value() == expiry.has_value()) in.problem("give either expiresIn, in seconds, or expiresAt");
  grant.expiry = expiry.value_or(now + std::chrono::seconds(seconds.value_or(0)));
}

Result<Order> read_order(const nlohmann::json& body, Time now) {
  jobs::SpecMembers in(body);
  Order out;
  auto& grant = out.grant;
  in.choice("kind", kKinds, out.of);
  if (!in.has("kind")) in.problem("kind is needed: account, table, queue, container or blob");
  const bool of_account = out.of == Of::kAccount;
  in.text("name", grant.resource, !of_account);
  in.text("services", grant.services, of_account);
  in.text("resourceTypes", grant.resource_types, of_account);
  in.text("permissions", grant.permissions, true);
  read_times(in, grant, now);
  in.text("ip", grant.addresses);
  in.text("protocol", grant.protocol);
  in.text("startPartitionKey", grant.start_pk);
  in.text("startRowKey", grant.start_rk);
  in.text("endPartitionKey", grant.end_pk);
  in.text("endRowKey", grant.end_rk);
  if (of_account != grant.of_account()) in.problem("services and resourceTypes are for kind account");
  if (out.of == Of::kBlob) grant.resource = blob_store::blob_name_of(std::move(grant.resource));
  const bool blob = grant.resource.contains('/');
  if (out.of == Of::kBlob && !blob) in.problem("name must be CONTAINER/BLOB");
  if (out.of == Of::kContainer && blob) in.problem("name must be that of a container");
  TRY(refuse_problems(in));
  TRY(check_names(out.of, grant));
  return out;
}

/// Returns the store that signs: for an account SAS of several services, the store whose URL is returned.
Service service_of(const Order& order) {
  if (order.of == Of::kTable) return Service::kTable;
  if (order.of == Of::kQueue) return Service::kQueue;
  if (order.of != Of::kAccount) return Service::kBlob;
  const auto& services = order.grant.services;
  return services.contains('t') ? Service::kTable : services.contains('q') ? Service::kQueue : Service::kBlob;
}

/// Tells whether the signature could be used to change the audit trail, or to put jobs that its holder may not submit.
bool reaches_our_own(const Order& order) {
  constexpr std::string_view kOurs = "tidemark";
  return order.of == Of::kAccount || iequals_ascii(order.grant.resource.substr(0, kOurs.size()), kOurs);
}

/// A store that listens on all addresses is reached by the name under which the caller knows this machine.
std::string url_of(const http::Request& request, const service::SignedSas& sas, const std::string& account,
                   const std::string& resource) {
  auto host = sas.host;
  if (host.empty()) host = http::host_name(request.header("host").value_or("localhost"));
  if (sas.host.empty() && host.contains(':')) host = "[" + host + "]";
  auto url = sas.scheme + "://" + host + ":" + std::to_string(sas.port) + "/" + account + "/";
  for (const char c : resource) url += c == '/' ? "/" : percent_encode(std::string_view(&c, 1));
  return url + "?" + sas.query;
}

Answer issue_sas(Api& api, http::Request& request, Action& action, std::string) {
  auto order = CO_TRY(read_order(CO_TRY(co_await read_json_object(request)), api.clock.now()));
  action.target = order.of == Of::kAccount ? api.tables.account() : order.grant.resource;
  action.detail = std::string(jobs::name_in(kKinds, order.of)) + " " + order.grant.permissions + " until " +
                  to_iso8601(order.grant.expiry);
  if (reaches_our_own(order)) CO_TRY(action.caller.must_be(Role::kAdmin));
  const auto service = service_of(order);
  CO_TRY(auth::check_grant(service, order.grant, api.clock.now(), std::chrono::seconds(kLongestS)));
  const auto* const signer = api.sas_signers[static_cast<std::size_t>(service)];
  const auto sas = CO_TRY(co_await signer->sign(order.grant));
  co_return json_response(200,
                          {{"token", sas.query},
                           {"url", url_of(request, sas, api.tables.account(), order.grant.resource)},
                           {"expiresAt", to_iso8601(std::chrono::floor<std::chrono::seconds>(order.grant.expiry))}});
}

}  // namespace

std::span<const Route> sas_routes() {
  static constexpr Route kRoutes[] = {{"POST", "v1/sas", Role::kOperator, issue_sas}};
  return kRoutes;
}

}  // namespace tidemark::api
