#include "common/tracing/otlp.h"

#include <curl/curl.h>

#include <nlohmann/json.hpp>

namespace tidemark::tracing {
namespace {

using nlohmann::json;

constexpr int kStatusError = 2;
constexpr long kConnectTimeoutMs = 2'000;

std::string nanos(Time time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

json attribute(const std::string& key, const std::variant<std::string, std::int64_t>& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  // In OTLP's JSON, 64-bit numbers are texts.
  auto written = number != nullptr ? json{{"intValue", std::to_string(*number)}}
                                   : json{{"stringValue", std::get<std::string>(value)}};
  return {{"key", key}, {"value", std::move(written)}};
}

json span_json(const Span& span) {
  auto attributes = json::array();
  for (const auto& [key, value] : span.attributes) attributes.push_back(attribute(key, value));
  json out{{"traceId", span.context.trace_id()},
           {"spanId", span.context.span_id()},
           {"name", span.name},
           {"kind", static_cast<int>(span.kind)},
           {"startTimeUnixNano", nanos(span.begun)},
           {"endTimeUnixNano", nanos(std::max(span.begun, span.ended))},
           {"attributes", std::move(attributes)}};
  if (!span.parent.empty()) out["parentSpanId"] = span.parent;
  if (!span.context.state.empty()) out["traceState"] = span.context.state;
  if (span.failed) out["status"] = {{"code", kStatusError}, {"message", span.error}};
  return out;
}

std::size_t ignore_body(char*, std::size_t size, std::size_t count, void*) { return size * count; }

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

class CurlCollector final : public Collector {
 public:
  explicit CurlCollector(std::string url) : url_(std::move(url)), easy_(curl_easy_init()) {
    headers_.reset(curl_slist_append(nullptr, "Content-Type: application/json"));
  }

  Sent send(const std::string& body, std::chrono::milliseconds limit, std::string& why) override {
    auto* easy = easy_.get();
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &ignore_body);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(limit.count()));
    if (const auto code = curl_easy_perform(easy); code != CURLE_OK) {
      why = curl_easy_strerror(code);
      return Sent::kTryAgain;
    }
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 == 2) return Sent::kYes;
    why = "the collector answered " + std::to_string(status);
    return status == 429 || status == 502 || status == 503 || status == 504 ? Sent::kTryAgain : Sent::kRefused;
  }

 private:
  const std::string url_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  std::unique_ptr<curl_slist, ListDeleter> headers_;
};

}  // namespace

std::string otlp_json(std::string_view service, std::span<const Span> spans) {
  auto list = json::array();
  for (const auto& span : spans) list.push_back(span_json(span));
  const json resource{{"attributes",
                       {attribute("service.name", std::string(service)), attribute("service.namespace", "tidemark"),
                        attribute("service.version", TIDEMARK_VERSION)}}};
  const json scope{{"scope", {{"name", "tidemark"}}}, {"spans", std::move(list)}};
  const json whole{{"resourceSpans", {{{"resource", resource}, {"scopeSpans", {scope}}}}}};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::unique_ptr<Collector>> Collector::at(const std::string& endpoint) {
  const bool known = endpoint.starts_with("http://") || endpoint.starts_with("https://");
  const bool blank = endpoint.find_first_of(" \t\r\n?#") != std::string::npos;
  if (!known || blank || endpoint.ends_with("//")) {
    return fail(ErrorCode::kConfigInvalid,
                "otlp_endpoint must be http://HOST:PORT or https://HOST:PORT, without a query");
  }
  static const auto global = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (global != CURLE_OK) return fail(ErrorCode::kConfigInvalid, "otlp_endpoint: libcurl cannot be used");
  auto url = endpoint;
  while (url.ends_with('/')) url.pop_back();
  return std::make_unique<CurlCollector>(url + "/v1/traces");
}

}  // namespace tidemark::tracing
