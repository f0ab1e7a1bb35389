#include "jobs/kinds/transaction/templates.h"

#include <cmath>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/property_values.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using table_store::Value;

struct Piece {
  std::string literal;
  std::optional<Reference> reference;
};

std::unexpected<Error> refuse_template(std::string why) { return fail(ErrorCode::kJobInvalid, std::move(why)); }

std::string name_of(const Reference& reference) { return "{" + reference.guard + "." + reference.property + "}"; }

Result<Reference> reference_from(std::string_view inside) {
  const auto dot = inside.find('.');
  const auto guard = inside.substr(0, dot);
  const auto property = dot == std::string_view::npos ? std::string_view() : inside.substr(dot + 1);
  if (guard.empty() || !is_property_name(property)) {
    return refuse_template("'{" + std::string(beginning_of(inside, 64)) +
                           "}' is no placeholder: write {guard.Property}, or {{ for a brace");
  }
  if (guard == kJobAlias && property != "id") return refuse_template("the only placeholder of the job is {job.id}");
  return Reference{std::string(guard), std::string(property)};
}

Result<std::vector<Piece>> pieces_of(std::string_view text) {
  std::vector<Piece> pieces(1);
  while (!text.empty()) {
    const auto brace = text.find_first_of("{}");
    pieces.back().literal += text.substr(0, brace);
    if (brace == std::string_view::npos) break;
    text.remove_prefix(brace);
    if (text.size() > 1 && text[1] == text[0]) {
      pieces.back().literal += text[0];
      text.remove_prefix(2);
      continue;
    }
    const auto end = text.find('}');
    if (text[0] == '}' || end == std::string_view::npos) {
      return refuse_template("has a brace without its partner: write {{ or }} for a brace");
    }
    pieces.back().reference = TRY(reference_from(text.substr(1, end - 1)));
    pieces.emplace_back();
    text.remove_prefix(end + 1);
  }
  if (pieces.size() > 1 && pieces.back().literal.empty()) pieces.pop_back();
  return pieces;
}

Result<const Value*> find_value(const ReadValues& values, const Reference& reference) {
  const auto found = values.find(reference);
  if (found != values.end()) return &found->second;
  return refuse_template("There is no value for " + name_of(reference) +
                         ": the entity that the guard read has no such property.");
}

/// Returns the reference of a text that is one placeholder and nothing else.
const Reference* only_placeholder(const std::vector<Piece>& pieces) {
  const bool only = pieces.size() == 1 && pieces.front().literal.empty() && pieces.front().reference;
  return only ? &*pieces.front().reference : nullptr;
}

Result<std::string> text_from(const std::vector<Piece>& pieces, const ReadValues& values) {
  std::string out;
  for (const auto& piece : pieces) {
    out += piece.literal;
    if (piece.reference) out += value_text(*TRY(find_value(values, *piece.reference)));
  }
  return out;
}

json plain_json(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int32_t>(&value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && std::isfinite(*real)) return *real;
  return value_text(value);
}

}  // namespace

Result<References> references_in(std::string_view text) {
  References out;
  for (auto& piece : TRY(pieces_of(text))) {
    if (piece.reference) out.insert(std::move(*piece.reference));
  }
  return out;
}

Result<References> references_in(const json& given) {
  if (given.is_string()) return references_in(std::string_view(given.get_ref<const std::string&>()));
  References out;
  if (given.is_structured()) {
    for (const auto& each : given) out.merge(TRY(references_in(each)));
  }
  return out;
}

Result<Value> fill_in_value(std::string_view text, const ReadValues& values) {
  const auto pieces = TRY(pieces_of(text));
  if (const auto* only = only_placeholder(pieces)) return *TRY(find_value(values, *only));
  return Value(TRY(text_from(pieces, values)));
}

Result<std::string> fill_in_text(std::string_view text, const ReadValues& values) {
  return text_from(TRY(pieces_of(text)), values);
}

Result<json> fill_in_json(const json& given, const ReadValues& values) {
  if (given.is_string()) {
    const auto pieces = TRY(pieces_of(given.get_ref<const std::string&>()));
    if (const auto* only = only_placeholder(pieces)) return plain_json(*TRY(find_value(values, *only)));
    return json(TRY(text_from(pieces, values)));
  }
  auto out = given;
  if (out.is_structured()) {
    for (auto& each : out) each = TRY(fill_in_json(each, values));
  }
  return out;
}

Result<Value> fill_in_property(const std::string& name, const json& given, const ReadValues& values) {
  if (given.is_string()) return fill_in_value(given.get_ref<const std::string&>(), values);
  auto filled = given;
  if (given.is_object() && given["value"].is_string()) {
    filled["value"] = TRY(fill_in_text(given["value"].get_ref<const std::string&>(), values));
  }
  if (auto value = value_from_json(name, filled)) return std::move(*value);
  return refuse_template("The value of '" + name + "' is not of its type, or too long.");
}

json to_json(const ReadValues& values) {
  auto out = json::object();
  for (const auto& [reference, value] : values) out[reference.guard][reference.property] = json_of_value(value);
  return out;
}

std::optional<ReadValues> read_values_from(const json& given) {
  ReadValues out;
  if (!given.is_object()) return std::nullopt;
  for (const auto& [guard, properties] : given.items()) {
    if (!properties.is_object()) return std::nullopt;
    for (const auto& [property, value] : properties.items()) {
      // Under another name: that of a key would not be read as a property.
      auto read = problem_of_value(value).empty() ? value_from_json("Value", value) : std::nullopt;
      if (!read) return std::nullopt;
      out.emplace(Reference{guard, property}, std::move(*read));
    }
  }
  return out;
}

}  // namespace tidemark::jobs
