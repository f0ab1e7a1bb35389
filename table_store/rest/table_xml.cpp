#include "table_store/rest/table_xml.h"

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "common/base/encoding.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMaxIdentifiers = 5;
constexpr std::size_t kMaxIdLength = 64;
constexpr std::size_t kMaxCorsRules = 5;

std::string print(const pugi::xml_document& document) {
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>" + out.str();
}

/// pugixml neither expands external entities nor recurses; a byte order mark is skipped by it.
Result<void> load(pugi::xml_document& document, std::string_view xml, const char* root) {
  auto result = document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result || !document.child(root)) return fail(ErrorCode::kInvalidXmlDocument);
  return {};
}

pugi::xml_node add(pugi::xml_node parent, const char* name) { return parent.append_child(name); }

void add_text(pugi::xml_node parent, const char* name, const std::string& text) {
  parent.append_child(name).text().set(text.c_str());
}

std::optional<std::string> text_of(pugi::xml_node parent, const char* name) {
  auto node = parent.child(name);
  std::string text = node.text().get();
  if (!node || text.empty()) return std::nullopt;
  return text;
}

std::string seven_digits(const std::string& date) {
  auto time = parse_iso8601(date);
  return time ? to_iso8601_7digits(*time) : date;
}

Result<SignedIdentifier> parse_identifier(pugi::xml_node node) {
  SignedIdentifier out;
  out.id = node.child("Id").text().get();
  if (out.id.empty() || utf16_length(out.id) > kMaxIdLength) return fail(ErrorCode::kInvalidXmlNodeValue);
  auto policy = node.child("AccessPolicy");
  out.start = text_of(policy, "Start");
  out.expiry = text_of(policy, "Expiry");
  out.permission = text_of(policy, "Permission");
  for (const auto& date : {out.start, out.expiry}) {
    if (date && !parse_iso8601(*date)) return fail(ErrorCode::kInvalidXmlNodeValue);
  }
  if (out.permission && out.permission->find_first_not_of("raud") != std::string::npos) {
    return fail(ErrorCode::kInvalidXmlNodeValue);
  }
  return out;
}

bool is_boolean(const char* text) { return std::string_view(text) == "true" || std::string_view(text) == "false"; }

/// Copies a Boolean child; a missing one is false.
bool copy_boolean(pugi::xml_node from, pugi::xml_node to, const char* name) {
  auto node = from.child(name);
  const char* text = node ? node.text().get() : "false";
  if (!is_boolean(text)) return false;
  add_text(to, name, text);
  return true;
}

bool copy_retention(pugi::xml_node from, pugi::xml_node to) {
  auto policy = from.child("RetentionPolicy");
  auto out = add(to, "RetentionPolicy");
  if (!copy_boolean(policy, out, "Enabled")) return false;
  if (std::string_view(out.child("Enabled").text().get()) != "true") return true;
  int days = policy.child("Days").text().as_int(0);
  if (days < 1 || days > 365) return false;
  add_text(out, "Days", std::to_string(days));
  return true;
}

bool copy_logging(pugi::xml_node from, pugi::xml_node parent) {
  auto out = add(parent, "Logging");
  add_text(out, "Version", "1.0");
  return copy_boolean(from, out, "Read") && copy_boolean(from, out, "Write") && copy_boolean(from, out, "Delete") &&
         copy_retention(from, out);
}

bool copy_metrics(pugi::xml_node from, pugi::xml_node parent, const char* name) {
  auto out = add(parent, name);
  add_text(out, "Version", "1.0");
  if (!copy_boolean(from, out, "Enabled")) return false;
  bool enabled = std::string_view(out.child("Enabled").text().get()) == "true";
  if (enabled && !copy_boolean(from, out, "IncludeAPIs")) return false;
  return copy_retention(from, out);
}

bool copy_cors(pugi::xml_node from, pugi::xml_node parent) {
  auto out = add(parent, "Cors");
  std::size_t count = 0;
  for (auto rule : from.children("CorsRule")) {
    if (++count > kMaxCorsRules) return false;
    auto copy = add(out, "CorsRule");
    for (const char* name : {"AllowedOrigins", "AllowedMethods", "AllowedHeaders", "ExposedHeaders"}) {
      add_text(copy, name, rule.child(name).text().get());
    }
    std::string_view age = rule.child("MaxAgeInSeconds").text().get();
    std::uint32_t seconds = 0;
    auto [end, error] = std::from_chars(age.data(), age.data() + age.size(), seconds);
    if (error != std::errc{} || end != age.data() + age.size()) return false;
    if (!rule.child("AllowedOrigins").text() || !rule.child("AllowedMethods").text()) return false;
    add_text(copy, "MaxAgeInSeconds", std::to_string(seconds));
  }
  return true;
}

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    auto comma = text.find(',');
    auto item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (!item.empty()) out.emplace_back(item);
  }
  return out;
}

}  // namespace

std::string acl_xml(const std::vector<SignedIdentifier>& identifiers) {
  pugi::xml_document document;
  auto root = document.append_child("SignedIdentifiers");
  for (const auto& identifier : identifiers) {
    auto node = add(root, "SignedIdentifier");
    add_text(node, "Id", identifier.id);
    if (!identifier.start && !identifier.expiry && !identifier.permission) continue;
    auto policy = add(node, "AccessPolicy");
    if (identifier.start) add_text(policy, "Start", seven_digits(*identifier.start));
    if (identifier.expiry) add_text(policy, "Expiry", seven_digits(*identifier.expiry));
    if (identifier.permission) add_text(policy, "Permission", *identifier.permission);
  }
  return print(document);
}

Result<std::vector<SignedIdentifier>> parse_acl_xml(std::string_view xml) {
  std::vector<SignedIdentifier> out;
  if (xml.empty()) return out;
  pugi::xml_document document;
  if (auto loaded = load(document, xml, "SignedIdentifiers"); !loaded) return fail(std::move(loaded.error()));
  std::set<std::string> ids;
  for (auto node : document.child("SignedIdentifiers").children("SignedIdentifier")) {
    if (out.size() == kMaxIdentifiers) return fail(ErrorCode::kInvalidXmlDocument);
    auto identifier = parse_identifier(node);
    if (!identifier) return fail(std::move(identifier.error()));
    if (!ids.insert(identifier->id).second) return fail(ErrorCode::kInvalidXmlDocument);
    out.push_back(std::move(*identifier));
  }
  return out;
}

Result<std::string> merge_service_properties(const std::string& stored, std::string_view xml) {
  pugi::xml_document incoming, old, merged;
  if (auto loaded = load(incoming, xml, "StorageServiceProperties"); !loaded) return fail(std::move(loaded.error()));
  // A stored form that cannot be read counts as never set.
  (void)old.load_buffer(stored.data(), stored.size());
  auto fresh = incoming.child("StorageServiceProperties");
  auto kept = old.child("StorageServiceProperties");
  auto section = [&](const char* name) { return fresh.child(name) ? fresh.child(name) : kept.child(name); };
  auto root = merged.append_child("StorageServiceProperties");
  bool valid = copy_logging(section("Logging"), root) && copy_metrics(section("HourMetrics"), root, "HourMetrics") &&
               copy_metrics(section("MinuteMetrics"), root, "MinuteMetrics") && copy_cors(section("Cors"), root);
  if (!valid) return fail(ErrorCode::kInvalidXmlNodeValue);
  return print(merged);
}

std::string service_properties_xml(const std::string& stored) {
  if (!stored.empty()) return stored;
  auto fresh = merge_service_properties({}, "<StorageServiceProperties/>");
  return fresh ? *fresh : std::string{};
}

std::string service_stats_xml(Time now) {
  pugi::xml_document document;
  auto replication = document.append_child("StorageServiceStats").append_child("GeoReplication");
  add_text(replication, "Status", "live");
  add_text(replication, "LastSyncTime", to_rfc1123(now));
  return print(document);
}

std::vector<CorsRule> cors_rules(const std::string& stored) {
  std::vector<CorsRule> out;
  if (stored.empty()) return out;
  pugi::xml_document document;
  (void)document.load_buffer(stored.data(), stored.size());
  for (auto rule : document.child("StorageServiceProperties").child("Cors").children("CorsRule")) {
    out.push_back({comma_list(rule.child("AllowedOrigins").text().get()),
                   comma_list(rule.child("AllowedMethods").text().get()),
                   comma_list(rule.child("AllowedHeaders").text().get()),
                   comma_list(rule.child("ExposedHeaders").text().get()), rule.child("MaxAgeInSeconds").text().get()});
  }
  return out;
}

}  // namespace tidemark::table_store
