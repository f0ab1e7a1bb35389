#include "queue_service/rest/service_properties.h"

#include <charconv>
#include <pugixml.hpp>

#include "queue_service/rest/queue_xml.h"

namespace tidemark::queue_service::rest {
namespace {

constexpr std::size_t kMaxCorsRules = 5;

Error invalid(std::string_view name, std::string_view value) {
  auto error = make_error(ErrorCode::kInvalidXmlNodeValue);
  error.fields.emplace_back("XmlNodeName", name);
  error.fields.emplace_back("XmlNodeValue", value);
  return error;
}

Error missing(std::string_view name) {
  auto error = make_error(ErrorCode::kMissingRequiredXmlNode);
  error.fields.emplace_back("XmlNodeName", name);
  return error;
}

/// Copies one child in canonical form: `kind` says what it must be.
enum class Kind { kBool, kText, kNumber };
Result<void> copy(std::string& out, const pugi::xml_node& parent, const char* name, Kind kind, bool required = true,
                  std::int64_t min = 0, std::int64_t max = INT32_MAX) {
  const auto node = parent.child(name);
  if (!node) {
    if (required) return fail(missing(name));
    return {};
  }
  const std::string_view text = node.text().get();
  if (kind == Kind::kBool && text != "true" && text != "false") return fail(invalid(name, text));
  if (kind == Kind::kNumber) {
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size() || number < min || number > max) {
      return fail(invalid(name, text));
    }
  }
  append_element(out, name, text);
  return {};
}

Result<void> copy_retention(std::string& out, const pugi::xml_node& parent) {
  const auto node = parent.child("RetentionPolicy");
  if (!node) return fail(missing("RetentionPolicy"));
  out += "<RetentionPolicy>";
  auto enabled = copy(out, node, "Enabled", Kind::kBool);
  if (!enabled) return enabled;
  if (node.child("Enabled").text().as_bool()) {
    auto days = copy(out, node, "Days", Kind::kNumber, true, 1, 365);
    if (!days) return days;
  }
  out += "</RetentionPolicy>";
  return {};
}

Result<void> copy_logging(std::string& out, const pugi::xml_node& node) {
  out += "<Logging>";
  for (const auto& [name, kind] : {std::pair{"Version", Kind::kText}, std::pair{"Read", Kind::kBool},
                                   std::pair{"Write", Kind::kBool}, std::pair{"Delete", Kind::kBool}}) {
    auto copied = copy(out, node, name, kind);
    if (!copied) return copied;
  }
  auto retention = copy_retention(out, node);
  if (!retention) return retention;
  out += "</Logging>";
  return {};
}

Result<void> copy_metrics(std::string& out, const pugi::xml_node& node, std::string_view name) {
  out.append("<").append(name).append(">");
  auto version = copy(out, node, "Version", Kind::kText);
  if (!version) return version;
  auto enabled = copy(out, node, "Enabled", Kind::kBool);
  if (!enabled) return enabled;
  if (node.child("Enabled").text().as_bool()) {
    auto apis = copy(out, node, "IncludeAPIs", Kind::kBool);
    if (!apis) return apis;
  }
  auto retention = copy_retention(out, node);
  if (!retention) return retention;
  out.append("</").append(name).append(">");
  return {};
}

Result<void> copy_cors(std::string& out, const pugi::xml_node& node) {
  out += "<Cors>";
  std::size_t rules = 0;
  for (const auto& rule : node.children("CorsRule")) {
    if (++rules > kMaxCorsRules) return fail(ErrorCode::kInvalidXmlDocument);
    out += "<CorsRule>";
    for (const auto* name : {"AllowedOrigins", "AllowedMethods", "AllowedHeaders", "ExposedHeaders"}) {
      auto copied = copy(out, rule, name, Kind::kText);
      if (!copied) return copied;
    }
    auto age = copy(out, rule, "MaxAgeInSeconds", Kind::kNumber);
    if (!age) return age;
    out += "</CorsRule>";
  }
  out += "</Cors>";
  return {};
}

}  // namespace

std::string default_service_properties() {
  constexpr std::string_view kRetention = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
  std::string out(kXmlDeclaration);
  out +=
      "<StorageServiceProperties><Logging><Version>1.0</Version><Read>false</Read><Write>false</Write>"
      "<Delete>false</Delete>";
  out.append(kRetention).append("</Logging>");
  for (const std::string_view name : {"HourMetrics", "MinuteMetrics"}) {
    out.append("<").append(name).append("><Version>1.0</Version><Enabled>false</Enabled>");
    out.append(kRetention).append("</").append(name).append(">");
  }
  return out + "<Cors></Cors></StorageServiceProperties>";
}

Result<std::string> merge_service_properties(std::string_view current, std::string_view body) {
  pugi::xml_document wanted, before;
  auto parsed = parse_xml(body, wanted);
  if (!parsed) return fail(std::move(parsed.error()));
  const auto known = current.empty() ? default_service_properties() : std::string(current);
  auto reread = parse_xml(known, before);
  if (!reread) return fail(ErrorCode::kCorruption);
  const auto root = wanted.document_element();
  if (std::string_view(root.name()) != "StorageServiceProperties") return fail(ErrorCode::kInvalidXmlDocument);
  auto section = [&](const char* name) {
    const auto node = root.child(name);
    return node ? node : before.document_element().child(name);
  };
  std::string out(kXmlDeclaration);
  out += "<StorageServiceProperties>";
  auto done = copy_logging(out, section("Logging"));
  if (!done) return fail(std::move(done.error()));
  for (const auto* name : {"HourMetrics", "MinuteMetrics"}) {
    done = copy_metrics(out, section(name), name);
    if (!done) return fail(std::move(done.error()));
  }
  done = copy_cors(out, section("Cors"));
  if (!done) return fail(std::move(done.error()));
  return out + "</StorageServiceProperties>";
}

}  // namespace tidemark::queue_service::rest
