#include "common/protocol/service_properties.h"

#include <algorithm>
#include <pugixml.hpp>

#include "common/base/numbers.h"
#include "common/base/xml_text.h"
#include "common/protocol/protocol_errors.h"
#include "common/protocol/xml.h"

namespace tidemark::protocol {
namespace {

constexpr std::size_t kMaxCorsRules = 5;
constexpr std::size_t kMaxCorsText = 2048;  // all rules together, without the tags
constexpr std::size_t kMaxCorsItem = 256;   // an origin or a header name
constexpr std::size_t kMaxOrigins = 64;
constexpr std::size_t kMaxLiteralHeaders = 64;
constexpr std::size_t kMaxPrefixedHeaders = 2;
constexpr std::uint32_t kMaxRetentionDays = 365;
constexpr std::string_view kMethods[] = {"CONNECT", "DELETE", "GET",  "HEAD", "MERGE",
                                         "OPTIONS", "PATCH",  "POST", "PUT",  "TRACE"};
constexpr std::string_view kRoot = "StorageServiceProperties";

std::unexpected<Error> over_limit() { return fail(ErrorCode::kInvalidXmlDocument); }

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Reads the children of one element. The first failure stays; later reads do nothing.
class Reader {
 public:
  explicit Reader(pugi::xml_node node) : node_(node) {}

  Reader& boolean(const char* name, bool& out) {
    const auto value = required(name);
    if (!value) return *this;
    if (*value != "true" && *value != "false") return reject(invalid_node(name, *value));
    out = *value == "true";
    return *this;
  }
  Reader& number(const char* name, std::uint32_t& out) {
    const auto value = required(name);
    if (!value) return *this;
    const auto number = parse_number<std::uint32_t>(*value, 0, INT32_MAX);
    if (!number) return reject(invalid_node(name, *value));
    out = *number;
    return *this;
  }
  Reader& version(std::string& out) {
    const auto value = required("Version");
    if (!value) return *this;
    if (*value != "1.0" && *value != "2.0") return reject(invalid_node("Version", *value));
    out = *value;
    return *this;
  }
  Reader& text(const char* name, std::string& out) {
    if (const auto value = required(name)) out = *value;
    return *this;
  }
  Reader& optional_text(const char* name, std::string& out) {
    if (node_.child(name)) text(name, out);
    return *this;
  }
  Reader& list(const char* name, std::vector<std::string>& out) {
    auto value = required(name);
    while (value && !value->empty()) {
      const auto comma = value->find(',');
      const auto item = trim(value->substr(0, comma));
      if (!item.empty()) out.emplace_back(item);
      value = comma == std::string_view::npos ? std::string_view{} : value->substr(comma + 1);
    }
    return *this;
  }
  Reader& retention(const char* name, RetentionPolicy& out) {
    if (error_) return *this;
    const auto child = node_.child(name);
    if (!child) return reject(missing_node(name));
    Reader policy(child);
    policy.boolean("Enabled", out.enabled);
    if (out.enabled) policy.number("Days", out.days);
    if (policy.error_) return reject(std::move(*policy.error_));
    if (out.enabled && (out.days < 1 || out.days > kMaxRetentionDays)) {
      return reject(make_error(ErrorCode::kInvalidXmlDocument));
    }
    return *this;
  }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  Result<void> done() {
    if (error_) return fail(std::move(*error_));
    return {};
  }

 private:
  std::optional<std::string_view> required(const char* name) {
    if (error_) return std::nullopt;
    const auto child = node_.child(name);
    if (!child) {
      reject(missing_node(name));
      return std::nullopt;
    }
    const auto value = trim(child.text().get());
    // A carriage return, written as a reference, would be kept as one and read as a line feed.
    if (is_xml_text(value) && value.find('\r') == std::string_view::npos) return value;
    reject(invalid_node(name, value));
    return std::nullopt;
  }
  Reader& reject(Error error) {
    if (!error_) error_ = std::move(error);
    return *this;
  }

  pugi::xml_node node_;
  std::optional<Error> error_;
};

Result<Logging> read_logging(pugi::xml_node node) {
  Logging out;
  Reader reader(node);
  reader.version(out.version)
      .boolean("Delete", out.remove)
      .boolean("Read", out.read)
      .boolean("Write", out.write)
      .retention("RetentionPolicy", out.retention);
  TRY(reader.done());
  return out;
}

Result<Metrics> read_metrics(pugi::xml_node node) {
  Metrics out;
  Reader reader(node);
  reader.version(out.version).boolean("Enabled", out.enabled);
  if (out.enabled) reader.boolean("IncludeAPIs", out.include_apis);
  reader.retention("RetentionPolicy", out.retention);
  TRY(reader.done());
  return out;
}

Result<void> check_items(const std::vector<std::string>& items, std::size_t& total) {
  for (const auto& item : items) {
    if (item.size() > kMaxCorsItem) return over_limit();
    total += item.size() + 1;
  }
  return {};
}

/// A star stands at the end of a header or nowhere; "*" alone counts as a prefix.
Result<void> check_headers(const char* name, const std::vector<std::string>& headers) {
  std::size_t prefixed = 0;
  for (const auto& header : headers) {
    const auto star = header.find('*');
    if (star == std::string::npos) continue;
    if (star + 1 != header.size()) return fail(invalid_node(name, header));
    ++prefixed;
  }
  if (prefixed > kMaxPrefixedHeaders || headers.size() - prefixed > kMaxLiteralHeaders) return over_limit();
  return {};
}

Result<CorsRule> read_cors_rule(pugi::xml_node node, std::size_t& total) {
  CorsRule rule;
  Reader reader(node);
  reader.list("AllowedOrigins", rule.origins)
      .list("AllowedMethods", rule.methods)
      .list("AllowedHeaders", rule.allowed_headers)
      .list("ExposedHeaders", rule.exposed_headers)
      .number("MaxAgeInSeconds", rule.max_age_s);
  TRY(reader.done());
  if (rule.origins.empty()) return fail(invalid_node("AllowedOrigins", ""));
  if (rule.methods.empty()) return fail(invalid_node("AllowedMethods", ""));
  if (rule.origins.size() > kMaxOrigins) return over_limit();
  for (auto& method : rule.methods) {
    std::transform(method.begin(), method.end(), method.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    if (std::find(std::begin(kMethods), std::end(kMethods), method) == std::end(kMethods)) {
      return fail(invalid_node("AllowedMethods", method));
    }
  }
  for (const auto* items : {&rule.origins, &rule.methods, &rule.allowed_headers, &rule.exposed_headers}) {
    TRY(check_items(*items, total));
  }
  TRY(check_headers("AllowedHeaders", rule.allowed_headers));
  TRY(check_headers("ExposedHeaders", rule.exposed_headers));
  return rule;
}

Result<std::vector<CorsRule>> read_cors(pugi::xml_node node) {
  std::vector<CorsRule> rules;
  std::size_t total = 0;
  for (const auto& child : node.children("CorsRule")) {
    if (rules.size() == kMaxCorsRules) return over_limit();
    auto rule = TRY(read_cors_rule(child, total));
    rules.push_back(std::move(rule));
  }
  if (total > kMaxCorsText) return over_limit();
  return rules;
}

Result<StaticWebsite> read_static_website(pugi::xml_node node) {
  StaticWebsite out;
  Reader reader(node);
  reader.boolean("Enabled", out.enabled)
      .optional_text("IndexDocument", out.index_document)
      .optional_text("ErrorDocument404Path", out.error_document)
      .optional_text("DefaultIndexDocumentPath", out.default_index_document);
  TRY(reader.done());
  return out;
}

/// Puts what `read` gives into `out`.
template <class T>
Result<void> take(Result<T> read, std::optional<T>& out) {
  out = TRY(std::move(read));
  return {};
}

bool is_date(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return false;
  }
  return true;
}

Result<RetentionPolicy> read_delete_retention(pugi::xml_node parent) {
  RetentionPolicy out;
  Reader reader(parent);
  reader.retention("DeleteRetentionPolicy", out);
  TRY(reader.done());
  return out;
}

Result<void> read_section(StoreKind store, pugi::xml_node root, pugi::xml_node node, ServiceProperties& out) {
  const std::string_view name = node.name();
  if (name == "Logging") return take(read_logging(node), out.logging);
  if (name == "HourMetrics") return take(read_metrics(node), out.hour_metrics);
  if (name == "MinuteMetrics") return take(read_metrics(node), out.minute_metrics);
  if (name == "Cors") return take(read_cors(node), out.cors);
  if (store == StoreKind::kBlob) {
    if (name == "DeleteRetentionPolicy") return take(read_delete_retention(root), out.delete_retention);
    if (name == "StaticWebsite") return take(read_static_website(node), out.static_website);
    if (name == "DefaultServiceVersion") {
      const auto version = trim(node.text().get());
      if (!is_date(version)) return fail(invalid_node("DefaultServiceVersion", version));
      out.default_service_version = std::string(version);
      return {};
    }
  }
  return fail(ErrorCode::kInvalidXmlDocument);
}

void write_retention(XmlWriter& out, std::string_view name, const RetentionPolicy& policy) {
  out.begin(name).element("Enabled", policy.enabled);
  if (policy.enabled) out.element("Days", policy.days);
  out.end();
}

void write_logging(XmlWriter& out, const Logging& logging) {
  out.begin("Logging")
      .element("Version", logging.version)
      .element("Read", logging.read)
      .element("Write", logging.write)
      .element("Delete", logging.remove);
  write_retention(out, "RetentionPolicy", logging.retention);
  out.end();
}

void write_metrics(XmlWriter& out, std::string_view name, const Metrics& metrics) {
  out.begin(name).element("Version", metrics.version).element("Enabled", metrics.enabled);
  if (metrics.enabled) out.element("IncludeAPIs", metrics.include_apis);
  write_retention(out, "RetentionPolicy", metrics.retention);
  out.end();
}

std::string join(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += ',';
    out += item;
  }
  return out;
}

void write_cors(XmlWriter& out, const std::vector<CorsRule>& rules) {
  out.begin("Cors");
  for (const auto& rule : rules) {
    out.begin("CorsRule")
        .element("AllowedOrigins", join(rule.origins))
        .element("AllowedMethods", join(rule.methods))
        .element("AllowedHeaders", join(rule.allowed_headers))
        .element("ExposedHeaders", join(rule.exposed_headers))
        .element("MaxAgeInSeconds", rule.max_age_s)
        .end();
  }
  out.end();
}

}  // namespace

Result<ServiceProperties> parse_service_properties(StoreKind store, std::string_view xml) {
  if (xml.size() > kMaxServicePropertiesBytes) return fail(ErrorCode::kInvalidXmlDocument);
  // pugixml expands no entities of the document's own; a byte order mark is skipped by it.
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8)) {
    return fail(ErrorCode::kInvalidXmlDocument);
  }
  const auto root = document.document_element();
  if (std::string_view(root.name()) != kRoot) return fail(ErrorCode::kInvalidXmlDocument);
  ServiceProperties out;
  for (const auto& node : root.children()) {
    if (node.type() != pugi::node_element) return fail(ErrorCode::kInvalidXmlDocument);
    // Twice the same section: which of them is meant?
    if (node.previous_sibling(node.name())) return fail(ErrorCode::kInvalidXmlDocument);
    TRY(read_section(store, root, node, out));
  }
  return out;
}

std::string render_service_properties(StoreKind store, const ServiceProperties& properties) {
  XmlWriter out;
  out.begin(kRoot);
  write_logging(out, properties.logging.value_or(Logging{}));
  write_metrics(out, "HourMetrics", properties.hour_metrics.value_or(Metrics{}));
  write_metrics(out, "MinuteMetrics", properties.minute_metrics.value_or(Metrics{}));
  write_cors(out, properties.cors.value_or(std::vector<CorsRule>{}));
  if (store != StoreKind::kBlob) return out.take();
  if (properties.default_service_version) out.element("DefaultServiceVersion", *properties.default_service_version);
  write_retention(out, "DeleteRetentionPolicy", properties.delete_retention.value_or(RetentionPolicy{}));
  const auto website = properties.static_website.value_or(StaticWebsite{});
  out.begin("StaticWebsite")
      .element("Enabled", website.enabled)
      .optional_element("IndexDocument", website.index_document)
      .optional_element("DefaultIndexDocumentPath", website.default_index_document)
      .optional_element("ErrorDocument404Path", website.error_document);
  return out.take();
}

std::string service_properties_document(StoreKind store, std::string_view stored) {
  return stored.empty() ? render_service_properties(store, {}) : std::string(stored);
}

Result<std::string> merge_service_properties(StoreKind store, std::string_view stored, std::string_view body) {
  auto update = TRY(parse_service_properties(store, body));
  ServiceProperties merged;
  if (!stored.empty()) {
    auto kept = parse_service_properties(store, stored);
    if (!kept) return fail(ErrorCode::kCorruption);
    merged = std::move(*kept);
  }
  const auto lay_over = [](auto& kept, auto& given) {
    if (given) kept = std::move(given);
  };
  lay_over(merged.logging, update.logging);
  lay_over(merged.hour_metrics, update.hour_metrics);
  lay_over(merged.minute_metrics, update.minute_metrics);
  lay_over(merged.cors, update.cors);
  lay_over(merged.default_service_version, update.default_service_version);
  lay_over(merged.delete_retention, update.delete_retention);
  lay_over(merged.static_website, update.static_website);
  return render_service_properties(store, merged);
}

std::string service_stats_document(Time now) {
  XmlWriter out;
  out.begin("StorageServiceStats").begin("GeoReplication");
  out.element("Status", "live").element("LastSyncTime", to_rfc1123(now));
  return out.take();
}

Error stats_need_secondary() {
  return invalid_parameter("comp", "stats", "Statistics are served by the secondary endpoint only.");
}

}  // namespace tidemark::protocol
