#include "jobs/kinds/offload/blob_link.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "blob_store/model/names.h"
#include "common/base/json.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;

constexpr std::string_view kString = "Edm.String";
constexpr std::string_view kBinary = "Edm.Binary";

std::optional<std::string> text_member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

}  // namespace

std::string link_text(const BlobLink& link) {
  nlohmann::ordered_json out;
  out["container"] = link.container;
  out["name"] = link.name;
  out["etag"] = link.etag;
  out["size"] = link.size;
  out["type"] = link.binary ? kBinary : kString;
  out["sha256"] = link.sha256;
  return out.dump();
}

std::optional<BlobLink> parse_link(std::string_view text) {
  const auto object = json_or_discarded(text);
  if (!object.is_object()) return std::nullopt;
  BlobLink link;
  for (const auto& [name, into] : {std::pair{"container", &link.container}, std::pair{"name", &link.name},
                                   std::pair{"etag", &link.etag}, std::pair{"sha256", &link.sha256}}) {
    auto value = text_member(object, name);
    if (!value) return std::nullopt;
    *into = std::move(*value);
  }
  const auto type = text_member(object, "type");
  const auto size = object.find("size");
  if (!type || (*type != kString && *type != kBinary) || size == object.end() || !size->is_number_unsigned()) {
    return std::nullopt;
  }
  link.name = blob_store::blob_name_of(std::move(link.name));
  link.binary = *type == kBinary;
  link.size = size->get<std::uint64_t>();
  return link;
}

std::optional<std::string_view> blob_bytes(const table_store::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* binary = std::get_if<table_store::Binary>(&value)) return binary->bytes;
  return std::nullopt;
}

table_store::Value value_of(const BlobLink& link, std::string bytes) {
  if (link.binary) return table_store::Binary{std::move(bytes)};
  return bytes;
}

bool links_to(const table_store::Entity& entity, std::string_view container, std::string_view name) {
  const auto wanted = blob_store::blob_name_of(std::string(name));
  return std::any_of(entity.properties.begin(), entity.properties.end(), [&](const table_store::Property& property) {
    const auto* text = std::get_if<std::string>(&property.value);
    if (text == nullptr || !property.name.ends_with(kLinkSuffix)) return false;
    const auto link = parse_link(*text);
    return link && link->container == container && link->name == wanted;
  });
}

}  // namespace tidemark::jobs
