#include "api/cli/table_http.h"

#include "common/auth/authenticator.h"
#include "common/base/encoding.h"
#include "common/base/time.h"
#include "jobs/spec/job_spec.h"

namespace tidemark::cli {
namespace {

Error error_of(const HttpReply& reply, const std::string& table) {
  auto error = make_error(reply.status == 404 ? ErrorCode::kNotFound : ErrorCode::kInvalidInput,
                          "the answer has status " + std::to_string(reply.status) +
                              ", and is not a table service's: is --table-url right?");
  const auto body = nlohmann::json::parse(reply.body, nullptr, false);
  if (!body.is_object() || !body.contains("odata.error")) return error;
  const auto code = body["odata.error"].value("code", "");
  const auto message = body["odata.error"].value("/message/value"_json_pointer, "");
  error.message = code + ": " + message.substr(0, message.find('\n')) + " (table " + table + ")";
  error.fields.emplace_back("code", code);
  return error;
}

// Escapes a key for the quotes of a key predicate.
std::string quoted_key(const std::string& key) {
  std::string doubled;
  for (const char c : key) {
    doubled.push_back(c);
    if (c == '\'') doubled.push_back(c);
  }
  return percent_encode(doubled);
}

std::string batch_body(const std::string& base_url, const std::string& table,
                       const std::vector<WrittenEntity>& entities) {
  std::string body = "--batch_tidemark\r\nContent-Type: multipart/mixed; boundary=changeset_tidemark\r\n\r\n";
  for (const auto& entity : entities) {
    body += "--changeset_tidemark\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPUT ";
    body += base_url + "/" + table + "(PartitionKey='" + quoted_key(entity.partition_key) + "',RowKey='" +
            quoted_key(entity.row_key) + "') HTTP/1.1\r\nContent-Type: application/json\r\n\r\n";
    body += entity.text + "\r\n";
  }
  return body + "--changeset_tidemark--\r\n--batch_tidemark--\r\n";
}

}  // namespace

Result<TableHttp> TableHttp::create(const GlobalOptions& options) {
  auto http = TRY(HttpClient::create(options.table, options.ca_file, "--table-url (TIDEMARK_TABLE_URL)"));
  const auto development = auth::development_account();
  std::string key;
  if (!options.key.empty()) {
    auto decoded = base64_decode(options.key);
    if (!decoded) return fail(ErrorCode::kConfigInvalid, "--key is not base64");
    key = std::move(*decoded);
  } else if (options.account == development.name) {
    key = development.keys[0];
  } else {
    return fail(ErrorCode::kConfigInvalid, "account " + options.account + " needs its key: --key or TIDEMARK_KEY");
  }
  return TableHttp(std::move(http), options.account, std::move(key));
}

Result<HttpReply> TableHttp::signed_call(const std::string& method, const std::string& path, const std::string& query,
                                         HttpHeaders headers, std::string_view body) {
  const auto date = to_rfc1123(std::chrono::time_point_cast<Ticks>(std::chrono::system_clock::now()));
  const auto resource = "/" + account_ + http_.prefix() + path;
  headers.emplace_back("x-ms-date", date);
  headers.emplace_back("x-ms-version", "2019-02-02");
  headers.emplace_back("Authorization",
                       "SharedKeyLite " + account_ + ":" + base64_encode(hmac_sha256(key_, date + "\n" + resource)));
  return http_.send(method, path + (query.empty() ? "" : "?" + query), headers, body);
}

Result<void> TableHttp::check_name(const std::string& table) {
  if (jobs::is_table_name(table)) return {};
  return fail(ErrorCode::kInvalidInput,
              "\"" + table + "\" cannot be a table: a name has 3 to 63 letters and digits, a letter first");
}

Result<bool> TableHttp::ensure_table(const std::string& table) {
  const HttpHeaders headers{{"Content-Type", "application/json"},
                            {"Accept", "application/json;odata=nometadata"},
                            {"Prefer", "return-no-content"}};
  auto reply = TRY(signed_call("POST", "/Tables", {}, headers, nlohmann::json{{"TableName", table}}.dump()));
  if (reply.status >= 400 && reply.status != 409) return fail(error_of(reply, table));
  return reply.status != 409;
}

Result<void> TableHttp::upsert(const std::string& table, const std::vector<WrittenEntity>& entities) {
  const HttpHeaders headers{{"Content-Type", "multipart/mixed; boundary=batch_tidemark"},
                            {"Accept", "application/json"}};
  auto reply = TRY(signed_call("POST", "/$batch", {}, headers, batch_body(http_.base_url(), table, entities)));
  if (reply.status >= 400) return fail(error_of(reply, table));
  // A failed transaction answers 202 too; the failure is the only part inside.
  const auto failure = reply.body.find("{\"odata.error\"");
  if (failure == std::string::npos) return {};
  HttpReply inner{400, reply.body.substr(failure, reply.body.find("\r\n", failure) - failure)};
  return fail(error_of(inner, table));
}

Result<void> TableHttp::query(const Query& query, const std::function<bool(const nlohmann::json&)>& each) {
  std::string fixed = query.filter.empty() ? "" : "$filter=" + percent_encode(query.filter);
  if (!query.select.empty()) fixed += (fixed.empty() ? "" : "&") + ("$select=" + percent_encode(query.select));
  const HttpHeaders headers{
      {"Accept", query.types ? "application/json;odata=minimalmetadata" : "application/json;odata=nometadata"}};
  std::string from;
  for (;;) {
    const auto parameters = fixed + (fixed.empty() || from.empty() ? "" : "&") + from;
    auto reply = TRY(signed_call("GET", "/" + query.table + "()", parameters, headers, {}));
    if (reply.status >= 400) return fail(error_of(reply, query.table));
    const auto page = nlohmann::json::parse(reply.body, nullptr, false);
    if (!page.is_object() || !page.contains("value")) {
      return fail(ErrorCode::kInternalError, "the table service's answer is not a list of entities");
    }
    for (const auto& entity : page["value"]) {
      if (!each(entity)) return {};
    }
    const auto table_name = http_.header("x-ms-continuation-NextTableName");
    if (!table_name.empty()) {
      from = "NextTableName=" + percent_encode(table_name);
      continue;
    }
    const auto partition = http_.header("x-ms-continuation-NextPartitionKey");
    if (partition.empty()) return {};
    from = "NextPartitionKey=" + percent_encode(partition);
    const auto row = http_.header("x-ms-continuation-NextRowKey");
    if (!row.empty()) from += "&NextRowKey=" + percent_encode(row);
  }
}

}  // namespace tidemark::cli
