#include "jobs/spec/description.h"

#include <cctype>

namespace tidemark::jobs {

using nlohmann::ordered_json;

namespace {

/// Returns "Where to; an absolute URL" for the meaning "where to"; empty if nothing is said.
std::string sentence_of(const About& about) {
  if (about.meaning == nullptr) return "";
  std::string out = about.meaning;
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return about.detail == nullptr ? out : out + "; " + about.detail;
}

}  // namespace

ordered_json text_schema(const About& about) {
  ordered_json out{{"type", "string"}};
  if (!about.one_of.empty()) out["enum"] = about.one_of;
  if (about.pattern != nullptr) out["pattern"] = about.pattern;
  if (about.least > 0) out["minLength"] = about.least;
  if (about.most > 0) out["maxLength"] = about.most;
  return out;
}

ordered_json number_schema(std::int64_t min, std::int64_t max, std::optional<std::int64_t> preset) {
  ordered_json out{{"type", "integer"}, {"minimum", min}};
  if (max != INT64_MAX) out["maximum"] = max;
  if (preset) out["default"] = *preset;
  return out;
}

ordered_json reference(std::string_view schema) { return {{"$ref", "#/components/schemas/" + std::string(schema)}}; }

ordered_json properties_of(const std::vector<Member>& members) {
  auto out = ordered_json::object();
  for (const auto& member : members) {
    auto& schema = out[member.name] = member.schema;
    if (auto sentence = sentence_of(member.about); !sentence.empty()) schema["description"] = std::move(sentence);
  }
  return out;
}

ordered_json required_of(const std::vector<Member>& members) {
  auto out = ordered_json::array();
  for (const auto& member : members) {
    if (member.required) out.push_back(member.name);
  }
  return out;
}

ordered_json object_schema(const std::vector<Member>& members) {
  ordered_json out{{"type", "object"}};
  if (auto required = required_of(members); !required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  out["properties"] = properties_of(members);
  return out;
}

}  // namespace tidemark::jobs
