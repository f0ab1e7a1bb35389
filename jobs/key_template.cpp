#include "jobs/key_template.h"

#include "common/base/encoding.h"
#include "jobs/spec_reader.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kMaxTemplateBytes = 2000;

std::unexpected<Error> refuse(std::string why) { return fail(ErrorCode::kJobInvalid, std::move(why)); }

}  // namespace

Result<std::vector<TemplatePart>> parse_key_template(std::string_view text) {
  if (text.empty() || text.size() > kMaxTemplateBytes) return refuse("has 1 to 2000 bytes");
  if (!is_valid_utf8(text)) return refuse("is not UTF-8");
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
    if (end == std::string_view::npos) return refuse("has a brace without its partner (write {{ or }} for a brace)");
    const auto name = text.substr(i + 1, end - i - 1);
    if (!is_property_name(name)) return refuse("names {" + std::string(name.substr(0, 64)) + "}, which is no property");
    if (name == "Timestamp") return refuse("must not use {Timestamp}: it changes with every write");
    if (!literal.empty()) parts.push_back({false, std::exchange(literal, {})});
    parts.push_back({true, std::string(name)});
    i = end;
  }
  if (!literal.empty()) parts.push_back({false, std::move(literal)});
  for (const auto& part : parts) {
    if (!part.placeholder && has_forbidden_key_character(part.text)) {
      return refuse("has characters that a key cannot have");
    }
  }
  return parts;
}

}  // namespace tidemark::jobs
