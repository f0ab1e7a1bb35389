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
constexpr jobs::Names<Of, 5> kKindsOfSas{{{Of::kAccount, "account"},
                                          {Of::kTable, "table"},
                                          {Of::kQueue, "queue"},
                                          {Of::kContainer, "container"},
                                          {Of::kBlob, "blob"}}};

constexpr std::array<std::string_view, 2> kProtocols{"https", "https,http"};

struct Order {
  Of of = Of::kAccount;
  auth::SasGrant grant;
  std::optional<std::int64_t> expires_in;
  std::optional<Time> expires_at;
  static constexpr const char* kSchema = "SasOrder";

  void members(jobs::SpecMembers& in) {
    in.choice("kind", kKindsOfSas, of, {}, true);
    const bool of_account = of == Of::kAccount;
    const bool needs_name = !of_account && !in.describes(), needs_services = of_account && !in.describes();
    in.text("name", grant.resource, needs_name,
            {.meaning = "the table, queue or container; CONTAINER/BLOB for a blob; not for kind account"});
    in.text("services", grant.services, needs_services, {.meaning = "for kind account: letters of bqt"});
    in.text("resourceTypes", grant.resource_types, needs_services, {.meaning = "for kind account: letters of sco"});
    in.text("permissions", grant.permissions, true,
            {.meaning = "letters as in Azure Storage, such as raud for a table"});
    in.number("expiresIn", expires_in, 1, kLongestS, {.meaning = "seconds from now; this or expiresAt"});
    in.time("expiresAt", expires_at);
    in.time("startsAt", grant.start);
    if (expires_in.has_value() == expires_at.has_value()) in.problem("give either expiresIn, in seconds, or expiresAt");
    in.text("ip", grant.addresses, {.meaning = "an IPv4 address, or two with - between them"});
    in.text("protocol", grant.protocol, {.one_of = kProtocols});
    in.text("startPartitionKey", grant.start_pk);
    in.text("startRowKey", grant.start_rk);
    in.text("endPartitionKey", grant.end_pk);
    in.text("endRowKey", grant.end_rk);
    check_form(in);
  }

 private:
  void check_form(jobs::SpecMembers& in) {
    const bool of_account = of == Of::kAccount;
    if (of_account != grant.of_account()) in.problem("services and resourceTypes are for kind account");
    if (of == Of::kBlob) grant.resource = blob_store::blob_name_of(std::move(grant.resource));
    const bool blob = grant.resource.contains('/');
    if (of == Of::kBlob && !blob) in.problem("name must be CONTAINER/BLOB");
    if (of == Of::kContainer && blob) in.problem("name must be that of a container");
  }
};

struct ShownSas {
  std::string token, url;
  Time expires_at{};
  static constexpr const char* kSchema = "Sas";
  void members(jobs::SpecMembers& to) const {
    to.shows("token", token, {.meaning = "the signature, as a query string"});
    to.shows("url", url, {.meaning = "address with the signature"});
    to.shows("expiresAt", expires_at);
  }
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
  auto order = CO_TRY(co_await read_members<Order>(request));
  CO_TRY(check_names(order.of, order.grant));
  order.grant.expiry = order.expires_at.value_or(api.clock.now() + std::chrono::seconds(order.expires_in.value_or(0)));
  action.target = order.of == Of::kAccount ? api.tables.account() : order.grant.resource;
  action.detail = std::string(jobs::name_in(kKindsOfSas, order.of)) + " " + order.grant.permissions + " until " +
                  to_iso8601(order.grant.expiry);
  if (reaches_our_own(order)) CO_TRY(action.caller.must_be(Role::kAdmin));
  const auto service = service_of(order);
  CO_TRY(auth::check_grant(service, order.grant, api.clock.now(), std::chrono::seconds(kLongestS)));
  const auto* const signer = api.sas_signers[static_cast<std::size_t>(service)];
  const auto sas = CO_TRY(co_await signer->sign(order.grant));
  const auto expires_at = std::chrono::floor<std::chrono::seconds>(order.grant.expiry);
  ShownSas out{sas.query, url_of(request, sas, api.tables.account(), order.grant.resource), expires_at};
  co_return json_response(200, json_of(std::move(out)));
}

}  // namespace

std::span<const Route> sas_routes() {
  static constexpr Route kRoutes[] = {{"POST", "v1/sas", Role::kOperator, issue_sas}};
  return kRoutes;
}

nlohmann::ordered_json sas_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<Order>(out);
  jobs::add_answers<ShownSas>(out);
  return out;
}

}  // namespace tidemark::api
