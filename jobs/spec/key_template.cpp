#include "jobs/spec/key_template.h"

#include <charconv>
#include <cmath>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/group_text.h"
#include "table_store/model/limits.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kMaxTemplateBytes = 2000;

std::unexpected<Error> refuse_key(std::string why) { return fail(ErrorCode::kJobInvalid, std::move(why)); }

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end.ptr);
}

std::optional<std::string> apply(const std::vector<TemplatePart>& parts, const table_store::Entity& entity) {
  std::string key;
  for (const auto& part : parts) {
    if (!part.placeholder) {
      key += part.text;
    } else if (part.text == "PartitionKey") {
      key += entity.partition_key;
    } else if (part.text == "RowKey") {
      key += entity.row_key;
    } else {
      const auto* value = entity.find(part.text);
      if (value == nullptr) return std::nullopt;
      key += table_store::escape_key_text(value_text(*value));
    }
  }
  if (utf16_length(key) > table_store::kMaxKeyUnits) return std::nullopt;
  return key;
}

}  // namespace

std::string value_text(const table_store::Value& value) {
  struct Text {
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(std::int32_t v) const { return std::to_string(v); }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return double_text(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const Time& v) const { return to_iso8601(v); }
    std::string operator()(const table_store::Guid& v) const { return table_store::guid_text(v); }
    std::string operator()(const table_store::Binary& v) const { return base64_encode(v.bytes); }
  };
  return std::visit(Text{}, value);
}

std::optional<std::string> property_text(const table_store::Entity& entity, std::string_view name) {
  if (name == "PartitionKey") return entity.partition_key;
  if (name == "RowKey") return entity.row_key;
  const auto* value = entity.find(name);
  return value == nullptr ? std::nullopt : std::optional(value_text(*value));
}

Result<std::vector<TemplatePart>> parse_key_template(std::string_view text) {
  if (text.empty() || text.size() > kMaxTemplateBytes) return refuse_key("has 1 to 2000 bytes");
  if (!is_valid_utf8(text)) return refuse_key("is not UTF-8");
  std::vector<TemplatePart> parts;
  std::string literal;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      literal += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      literal += c;
      ++i;
      continue;
    }
    const auto end = c == '{' ? text.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos)
      return refuse_key("has a brace without its partner (write {{ or }} for a brace)");
    const auto name = text.substr(i + 1, end - i - 1);
    if (!is_property_name(name))
      return refuse_key("names {" + std::string(beginning_of(name, 64)) + "}, which is no property");
    if (name == "Timestamp") return refuse_key("must not use {Timestamp}: it changes with every write");
    if (!literal.empty()) parts.push_back({false, std::exchange(literal, {})});
    parts.push_back({true, std::string(name)});
    i = end;
  }
  if (!literal.empty()) parts.push_back({false, std::move(literal)});
  for (const auto& part : parts) {
    if (!part.placeholder && has_forbidden_key_character(part.text)) {
      return refuse_key("has characters that a key cannot have");
    }
  }
  return parts;
}

void template_member(SpecMembers& in, const char* name, std::string& text, const About& about, bool required) {
  if (!in.text(name, text, required, about)) return;
  const auto parsed = parse_key_template(text);
  if (!parsed) in.problem(std::string(name) + " " + parsed.error().message);
}

Result<KeyTemplates> parse_key_templates(std::string_view partition_key, std::string_view row_key) {
  auto partition = TRY(parse_key_template(partition_key));
  auto row = TRY(parse_key_template(row_key));
  return KeyTemplates{std::move(partition), std::move(row)};
}

std::optional<EntityKey> apply_key_templates(const KeyTemplates& templates, const table_store::Entity& entity) {
  auto partition_key = apply(templates.partition, entity);
  auto row_key = apply(templates.row, entity);
  if (!partition_key || !row_key) return std::nullopt;
  return EntityKey{std::move(*partition_key), std::move(*row_key)};
}

}  // namespace tidemark::jobs
