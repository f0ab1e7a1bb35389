// The table store's REST face over the memory engine, driven with whole HTTP requests and no socket. Requests are
// signed with the account key (SharedKeyLite) unless they bring a SAS.
#pragma once
#include <gmock/gmock.h>

#include <map>

#include "common/base/encoding.h"
#include "table_fixture.h"
#include "table_store/rest/table_routes.h"

namespace tidemark::table_store {

class TextBody final : public http::BodyReader {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return text_.size(); }
  Task<Result<std::string>> read_all(std::size_t limit) override {
    if (text_.size() > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
    co_return std::move(text_);
  }
  Task<Result<std::string>> read_some(std::size_t limit) override {
    auto piece = text_.substr(0, limit);
    text_.erase(0, limit);
    co_return piece;
  }

 private:
  std::string text_;
};

struct Reply {
  unsigned status = 0;
  std::multimap<std::string, std::string> headers;
  std::string body;
  std::optional<std::uint64_t> declared_length = {};  // of HEAD
  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  /// Returns the code of an odata.error; empty if the body is none.
  [[nodiscard]] std::string code() const {
    static const std::string kBefore = "{\"odata.error\":{\"code\":\"";
    if (!body.starts_with(kBefore)) return {};
    return body.substr(kBefore.size(), body.find('"', kBefore.size()) - kBefore.size());
  }
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct TableRestFixture : TableFixture {
  static constexpr const char* kAccount = "devstoreaccount1";
  auth::Account account = auth::development_account();
  auth::Policy policy;
  std::unique_ptr<TableRoutes> routes;

  void SetUp() override {
    clock.time = parse_iso8601("2026-11-21T12:09:13.1864608Z").value();
    restart();
  }
  /// Restarts the store after a change of `policy`.
  void restart() {
    routes = std::make_unique<TableRoutes>(
        *service, clock, *random, std::vector<auth::Account>{account, {"second", {"0123456789abcdef", "k2"}}}, policy);
  }

  /// Sends the request as it is, without signing it.
  Reply send(const std::string& method, const std::string& target, const Headers& headers, std::string body = {}) {
    TextBody reader(std::move(body));
    http::Request request;
    request.method = method;
    request.target = target;
    const auto question = target.find('?');
    request.path = std::string_view(target).substr(0, question);
    if (question != std::string::npos) request.query = std::string_view(target).substr(question + 1);
    for (const auto& [name, value] : headers) request.headers.emplace_back(name, value);
    request.headers.emplace_back("Host", "127.0.0.1:10002");
    request.remote_address = "127.0.0.1";
    request.request_id = "11111111-2222-3333-4444-555555555555";
    request.body = &reader;
    auto response = run_task(routes->serve(request));
    Reply out{response.status, {}, std::move(response.body), response.head_content_length};
    for (const auto& [name, value] : response.headers) out.headers.emplace(name, value);
    return out;
  }

  /// Sends a signed request. `resource` follows the account: "Tables", "people()?$top=1".
  Reply call(const std::string& method, const std::string& resource, std::string body = {}, Headers headers = {}) {
    const auto target = "/" + std::string(kAccount) + "/" + resource;
    const auto question = target.find('?');
    const auto date = to_rfc1123(clock.now());
    auto text = date + "\n/" + kAccount + target.substr(0, question);
    for (const char* comp : {"acl", "properties", "stats"}) {
      if (resource.find(std::string("comp=") + comp) != std::string::npos) text += std::string("?comp=") + comp;
    }
    const auto signature = base64_encode(hmac_sha256(account.keys.at(0), text));
    headers.emplace_back("x-ms-date", date);
    headers.emplace_back("x-ms-version", "2019-02-02");
    headers.emplace_back("Authorization", "SharedKeyLite " + std::string(kAccount) + ":" + signature);
    return send(method, target, headers, std::move(body));
  }
  Reply insert(const std::string& json, Headers headers = {}) { return call("POST", "people", json, headers); }
  /// Returns "people(PartitionKey='p',RowKey='r')".
  static std::string one(const std::string& rk, const std::string& pk = "p") {
    return "people(PartitionKey='" + pk + "',RowKey='" + rk + "')";
  }
  void make_table(const std::string& name = "people") {
    ASSERT_EQ(call("POST", "Tables", "{\"TableName\":\"" + name + "\"}", {{"Prefer", "return-no-content"}}).status,
              204U);
  }

  /// Returns a table SAS; `extra` are further fields of the query, such as "&spk=a&epk=c".
  std::string table_sas(const std::string& permissions, const std::map<std::string, std::string>& extra = {},
                        const std::string& table = "people") const {
    const auto field = [&](const char* name) {
      const auto found = extra.find(name);
      return found == extra.end() ? std::string() : found->second;
    };
    const std::string expiry = field("si").empty() ? "2034-01-01T00:00:00Z" : "";
    std::string text = permissions + "\n\n" + expiry + "\n/table/" + kAccount + "/" + table + "\n" + field("si");
    text += "\n" + field("sip") + "\n" + field("spr") + "\n2019-02-02\n" + field("spk") + "\n" + field("srk") + "\n" +
            field("epk") + "\n" + field("erk");
    std::string query = "sv=2019-02-02&tn=" + table;
    if (!permissions.empty()) query += "&sp=" + permissions;
    if (!expiry.empty()) query += "&se=" + percent_encode(expiry);
    for (const auto& [name, value] : extra) query += "&" + name + "=" + percent_encode(value);
    return query + "&sig=" + percent_encode(base64_encode(hmac_sha256(account.keys.at(0), text)));
  }
  std::string account_sas(const std::string& permissions, const std::string& types = "sco",
                          const std::string& protocol = "") const {
    const std::string expiry = "2034-01-01T00:00:00Z";
    const auto text = std::string(kAccount) + "\n" + permissions + "\nt\n" + types + "\n\n" + expiry + "\n\n" +
                      protocol + "\n2019-02-02\n";
    auto query = "sv=2019-02-02&ss=t&srt=" + types + "&sp=" + permissions + "&se=" + percent_encode(expiry);
    if (!protocol.empty()) query += "&spr=" + protocol;
    return query + "&sig=" + percent_encode(base64_encode(hmac_sha256(account.keys.at(0), text)));
  }
  /// Sends a request with a SAS in place of the key.
  Reply with_sas(const std::string& sas, const std::string& method, const std::string& resource, std::string body = {},
                 const Headers& headers = {}) {
    const auto joint = resource.find('?') == std::string::npos ? "?" : "&";
    return send(method, "/" + std::string(kAccount) + "/" + resource + joint + sas, headers, std::move(body));
  }
};

}  // namespace tidemark::table_store
