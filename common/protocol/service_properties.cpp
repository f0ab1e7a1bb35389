#include "common/protocol/service_properties.h"

#include <algorithm>
#include <concepts>
#include <pugixml.hpp>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/text.h"
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

/// For the descriptions below: a T, which is const when it is being written.
template <class T, class Wanted>
concept A = std::same_as<std::remove_const_t<T>, Wanted>;

// Each section is described once, for reading and for writing: its elements in the order of the service.

void describe(auto& io, A<RetentionPolicy> auto& policy) {
  io.boolean("Enabled", policy.enabled);
  if (policy.enabled) io.number("Days", policy.days, 1, kMaxRetentionDays);
}

void describe(auto& io, A<Logging> auto& logging) {
  io.version(logging.version);
  io.require("Delete");  // the element that the service misses first
  io.boolean("Read", logging.read);
  io.boolean("Write", logging.write);
  io.boolean("Delete", logging.remove);
  io.object("RetentionPolicy", logging.retention);
}

void describe(auto& io, A<Metrics> auto& metrics) {
  io.version(metrics.version);
  io.boolean("Enabled", metrics.enabled);
  if (metrics.enabled) io.boolean("IncludeAPIs", metrics.include_apis);
  io.object("RetentionPolicy", metrics.retention);
}

void describe(auto& io, A<CorsRule> auto& rule) {
  io.list("AllowedOrigins", rule.origins);
  io.list("AllowedMethods", rule.methods);
  io.list("AllowedHeaders", rule.allowed_headers);
  io.list("ExposedHeaders", rule.exposed_headers);
  io.number("MaxAgeInSeconds", rule.max_age_s, 0, INT32_MAX);
}

void describe(auto& io, A<std::vector<CorsRule>> auto& rules) { io.objects("CorsRule", rules, kMaxCorsRules); }

void describe(auto& io, A<StaticWebsite> auto& website) {
  io.boolean("Enabled", website.enabled);
  io.optional_text("IndexDocument", website.index_document);
  io.optional_text("DefaultIndexDocumentPath", website.default_index_document);
  io.optional_text("ErrorDocument404Path", website.error_document);
}

void describe(auto& io, A<std::string> auto& text) { io.content(text); }

/// Calls `each` with the name and the member of every section that this store has.
void for_each_section(StoreKind store, auto& properties, auto each) {
  each("Logging", properties.logging);
  each("HourMetrics", properties.hour_metrics);
  each("MinuteMetrics", properties.minute_metrics);
  each("Cors", properties.cors);
  if (store != StoreKind::kBlob) return;
  each("DefaultServiceVersion", properties.default_service_version);
  each("DeleteRetentionPolicy", properties.delete_retention);
  each("StaticWebsite", properties.static_website);
}

/// Reads the children of one element. The first failure stays; later reads do nothing.
class Reader {
 public:
  explicit Reader(pugi::xml_node node) : node_(node) {}

  void boolean(const char* name, bool& out) {
    const auto value = required(name);
    out = value && iequals_ascii(*value, "true");
    if (value && !out && !iequals_ascii(*value, "false")) reject(invalid_node(name, *value));
  }
  void number(const char* name, std::uint32_t& out, std::uint32_t min, std::uint32_t max) {
    const auto value = required(name);
    if (!value) return;
    const auto number = parse_number<std::uint32_t>(*value, 0, INT32_MAX);
    if (!number) return reject(invalid_node(name, *value));
    if (*number < min || *number > max) reject(make_error(ErrorCode::kInvalidXmlDocument));
    out = *number;
  }
  void version(std::string& out) {
    const auto value = required("Version").value_or(out);
    if (value != "1.0" && value != "2.0") return reject(invalid_node("Version", value));
    out = value;
  }
  void optional_text(const char* name, std::string& out) {
    if (node_.child(name)) out = required(name).value_or("");
  }
  void list(const char* name, std::vector<std::string>& out) {
    for (auto rest = required(name).value_or(""); !rest.empty();) {
      if (const auto item = trimmed(take_item(rest)); !item.empty()) out.emplace_back(item);
    }
  }
  void object(const char* name, auto& out) {
    if (require(name)) read(node_.child(name), out);
  }
  template <class T>
  void objects(const char* name, std::vector<T>& out, std::size_t max) {
    for (const auto& child : node_.children(name)) {
      if (out.size() == max) return reject(make_error(ErrorCode::kInvalidXmlDocument));
      read(child, out.emplace_back());
    }
  }
  void content(std::string& out) { out = trimmed(node_.text().get()); }
  /// Returns false after any failure; a missing child is one.
  bool require(const char* name) {
    if (!node_.child(name)) reject(missing_node(name));
    return !error_;
  }

  Result<void> done() {
    if (error_) return fail(std::move(*error_));
    return {};
  }

 private:
  std::optional<std::string_view> required(const char* name) {
    if (!require(name)) return std::nullopt;
    const auto value = trimmed(node_.child(name).text().get());
    // A carriage return, written as a reference, would be kept, and later be read as a line feed.
    if (is_xml_text(value) && value.find('\r') == std::string_view::npos) return value;
    reject(invalid_node(name, value));
    return std::nullopt;
  }
  void read(pugi::xml_node node, auto& out) {
    Reader inner(node);
    describe(inner, out);
    if (inner.error_) reject(std::move(*inner.error_));
  }
  void reject(Error error) {
    if (!error_) error_ = std::move(error);
  }

  pugi::xml_node node_;
  std::optional<Error> error_;
};

class Writer {
 public:
  explicit Writer(XmlWriter& xml) : xml_(xml) {}

  void boolean(std::string_view name, bool value) { xml_.element(name, value); }
  void number(std::string_view name, std::uint32_t value, std::uint32_t, std::uint32_t) { xml_.element(name, value); }
  void version(std::string_view text) { xml_.element("Version", text); }
  void optional_text(std::string_view name, std::string_view text) { xml_.optional_element(name, text); }
  void list(std::string_view name, const std::vector<std::string>& items) {
    std::string joined;
    for (const auto& item : items) joined += (joined.empty() ? "" : ",") + item;
    xml_.element(name, joined);
  }
  void object(std::string_view name, const auto& value) {
    xml_.begin(name);
    describe(*this, value);
    xml_.end();
  }
  void objects(std::string_view name, const auto& values, std::size_t) {
    for (const auto& value : values) object(name, value);
  }
  void content(std::string_view text) { xml_.text(text); }
  void require(std::string_view) {}

 private:
  XmlWriter& xml_;
};

/// Allows a star only at the end of a header; "*" alone counts as a prefix.
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

/// `total` is the size of the text of all rules so far.
Result<void> check_rule(CorsRule& rule, std::size_t& total) {
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
    for (const auto& item : *items) {
      if (item.size() > kMaxCorsItem) return over_limit();
      total += item.size() + 1;
    }
  }
  TRY(check_headers("AllowedHeaders", rule.allowed_headers));
  return check_headers("ExposedHeaders", rule.exposed_headers);
}

/// These check a section as a whole.
Result<void> check(auto&) { return {}; }
Result<void> check(std::string& version) {
  if (is_version(version)) return {};
  return fail(invalid_node("DefaultServiceVersion", version));
}
Result<void> check(std::vector<CorsRule>& rules) {
  std::size_t total = 0;
  for (auto& rule : rules) TRY(check_rule(rule, total));
  if (total > kMaxCorsText) return over_limit();
  return {};
}

Result<void> read_section(StoreKind store, pugi::xml_node node, ServiceProperties& into) {
  Result<void> done = over_limit();  // unless there is a section of that name
  for_each_section(store, into, [&](std::string_view name, auto& section) {
    if (name != node.name()) return;
    Reader reader(node);
    describe(reader, section.emplace());
    done = reader.done();
    if (done) done = check(*section);
  });
  return done;
}

/// Replaces the sections that are in the document.
Result<void> read_document(StoreKind store, std::string_view xml, ServiceProperties& into) {
  if (xml.size() > kMaxServicePropertiesBytes) return fail(ErrorCode::kInvalidXmlDocument);
  // pugixml expands no entities of the document's own, and skips a byte order mark.
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8)) {
    return fail(ErrorCode::kInvalidXmlDocument);
  }
  const auto root = document.document_element();
  if (std::string_view(root.name()) != kRoot) return fail(ErrorCode::kInvalidXmlDocument);
  for (const auto& node : root.children()) {
    if (node.type() != pugi::node_element) return fail(ErrorCode::kInvalidXmlDocument);
    // If a section occurs twice, it is unclear which one is meant.
    if (node.previous_sibling(node.name())) return fail(ErrorCode::kInvalidXmlDocument);
    TRY(read_section(store, node, into));
  }
  return {};
}

}  // namespace

Result<ServiceProperties> parse_service_properties(StoreKind store, std::string_view xml) {
  ServiceProperties properties;
  TRY(read_document(store, xml, properties));
  return properties;
}

std::string render_service_properties(StoreKind store, const ServiceProperties& properties) {
  XmlWriter document;
  document.begin(kRoot);
  Writer writer(document);
  for_each_section(store, properties, [&]<class Section>(const char* name, const std::optional<Section>& section) {
    if (section || !std::same_as<Section, std::string>) writer.object(name, section.value_or(Section()));
  });
  return document.take();
}

std::string service_properties_document(StoreKind store, std::string_view stored) {
  return stored.empty() ? render_service_properties(store, {}) : std::string(stored);
}

Result<std::string> merge_service_properties(StoreKind store, std::string_view stored, std::string_view body) {
  ServiceProperties merged;
  if (!stored.empty() && !read_document(store, stored, merged)) return fail(ErrorCode::kCorruption);
  TRY(read_document(store, body, merged));
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
