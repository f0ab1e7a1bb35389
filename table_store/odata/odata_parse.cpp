// The input half of odata_json.h.
#include <simdjson.h>

#include <algorithm>
#include <limits>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/text.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::table_store {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kAnnotation = "@odata.type";
constexpr int kMaxIgnoredDepth = 64;
constexpr std::size_t kMaxMembers = 4096;  // far above 252 properties with annotations; bounds the work

enum class RawKind { kNull, kBoolean, kNumber, kString };

/// A member as it stands in the text; views live until the parser is used again.
struct RawMember {
  std::string_view name;
  RawKind kind = RawKind::kNull;
  std::string_view text;  // string: unescaped; otherwise the token
  std::string_view type;  // its annotation, or empty
};

std::unexpected<Error> invalid(std::string message = "An error occurred while processing this request.") {
  return fail(ErrorCode::kInvalidInput, std::move(message));
}

std::unexpected<Error> bad_value(const RawMember& member) {
  return invalid("The value of property '" + std::string(member.name) + "' does not agree with its type" +
                 (member.type.empty() ? std::string(".") : " '" + std::string(member.type) + "'."));
}

/// Checks the JSON grammar of numbers; simdjson's lazy interface does not check values that we do not ask it to parse.
bool is_json_number(std::string_view t) {
  const auto take_digits = [&t] {
    const auto* end = std::find_if(t.begin(), t.end(), [](char c) { return c < '0' || c > '9'; });
    const auto count = static_cast<std::size_t>(end - t.begin());
    t.remove_prefix(count);
    return count;
  };
  const auto take_one = [&t](std::string_view of) {
    const bool found = !t.empty() && of.find(t.front()) != std::string_view::npos;
    if (found) t.remove_prefix(1);
    return found;
  };
  take_one("-");
  const bool zero = t.starts_with('0');
  const auto whole = take_digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (take_one(".") && take_digits() == 0) return false;
  if (!take_one("eE")) return t.empty();
  take_one("+-");
  return take_digits() > 0 && t.empty();
}

/// Returns false for values that are not scalars or not JSON.
bool read_scalar(ondemand::value value, RawMember& member) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return false;
  auto token = trimmed(value.raw_json_token());
  switch (type) {
    case ondemand::json_type::string:
      member.kind = RawKind::kString;
      return value.get_string().get(member.text) == simdjson::SUCCESS;
    case ondemand::json_type::number:
      member.kind = RawKind::kNumber;
      member.text = token;
      return is_json_number(token);
    case ondemand::json_type::boolean:
      member.kind = RawKind::kBoolean;
      member.text = token;
      return token == "true" || token == "false";
    case ondemand::json_type::null:
      member.kind = RawKind::kNull;
      return token == "null";
    case ondemand::json_type::array:
    case ondemand::json_type::object:
      return false;
  }
  return false;
}

bool is_json(ondemand::value value, int depth);

bool are_json(ondemand::array items, int depth) {
  for (auto item : items) {
    ondemand::value value;
    if (item.get(value) != simdjson::SUCCESS || !is_json(value, depth)) return false;
  }
  return true;
}

bool are_json(ondemand::object members, int depth) {
  for (auto member : members) {
    std::string_view name;
    ondemand::value value;
    if (member.unescaped_key().get(name) != simdjson::SUCCESS || member.value().get(value) != simdjson::SUCCESS ||
        !is_json(value, depth)) {
      return false;
    }
  }
  return true;
}

/// Skips a value that is not needed, of any type, and tells whether it is JSON.
bool is_json(ondemand::value value, int depth) {
  if (depth > kMaxIgnoredDepth) return false;
  ondemand::array items;
  if (value.get_array().get(items) == simdjson::SUCCESS) return are_json(items, depth + 1);
  ondemand::object members;
  if (value.get_object().get(members) == simdjson::SUCCESS) return are_json(members, depth + 1);
  RawMember scalar;
  return read_scalar(value, scalar);
}

/// Tells whether a member is ignored: annotations of the whole entity, and members that the server writes itself,
/// unless they are kept.
bool is_ignored(std::string_view name, std::string_view keep) {
  return name.starts_with("odata.") || (name == "Timestamp" && name != keep);
}

struct Members {
  std::vector<RawMember> members;
  std::vector<RawMember> annotations;  // name without the suffix, text is the type
};

/// Splits the document into members and annotations; everything is checked to the last byte.
Result<void> read_members(ondemand::document& document, std::string_view keep, Members& out) {
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) return invalid();
  for (auto field : object) {
    RawMember member;
    ondemand::value value;
    if (field.unescaped_key().get(member.name) != simdjson::SUCCESS) return invalid();
    if (field.value().get(value) != simdjson::SUCCESS) return invalid();
    if (is_ignored(member.name, keep) ? !is_json(value, 0) : !read_scalar(value, member)) {
      return invalid("The value of property '" + std::string(member.name) + "' is not a valid JSON scalar.");
    }
    if (out.members.size() + out.annotations.size() >= kMaxMembers) return fail(ErrorCode::kTooManyProperties);
    if (member.name.starts_with("odata.")) continue;
    if (member.name.ends_with(kAnnotation)) {
      if (member.kind != RawKind::kString) return invalid("An odata.type annotation is not a string.");
      member.name.remove_suffix(kAnnotation.size());
      out.annotations.push_back(member);
    } else {
      out.members.push_back(member);
    }
  }
  // Anything behind the object is an error; the location is out of bounds only at the very end.
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) return invalid();
  return {};
}

/// Finds duplicates, and gives every member its annotation.
Result<void> pair_annotations(Members& raw) {
  std::vector<RawMember*> sorted;
  sorted.reserve(raw.members.size());
  for (auto& member : raw.members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->name < b->name; });
  auto same = [](auto* a, auto* b) { return a->name == b->name; };
  if (std::adjacent_find(sorted.begin(), sorted.end(), same) != sorted.end()) {
    return fail(ErrorCode::kDuplicatePropertiesSpecified);
  }
  for (const auto& annotation : raw.annotations) {
    auto found = std::lower_bound(sorted.begin(), sorted.end(), annotation.name,
                                  [](auto* member, std::string_view name) { return member->name < name; });
    if (found == sorted.end() || (*found)->name != annotation.name) {
      if (annotation.name == "Timestamp") continue;
      return invalid("The annotation of '" + std::string(annotation.name) + "' has no property.");
    }
    if (!(*found)->type.empty()) return fail(ErrorCode::kDuplicatePropertiesSpecified);
    (*found)->type = annotation.text;
  }
  return {};
}

/// Returns the value that was made from the text, or an error if that failed.
template <class T>
Result<Value> made_of(const RawMember& member, std::optional<T> value) {
  if (!value) return bad_value(member);
  return Value{std::move(*value)};
}

Result<Value> read_double(const RawMember& member) {
  if (member.kind == RawKind::kString) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (member.text == "NaN") return Value{std::numeric_limits<double>::quiet_NaN()};
    if (member.text == "Infinity") return Value{kInfinity};
    if (member.text == "-Infinity") return Value{-kInfinity};
    if (!is_json_number(member.text)) return bad_value(member);
  } else if (member.kind != RawKind::kNumber) {
    return bad_value(member);
  }
  return made_of(member, parse_double(member.text));
}

/// Without an annotation the JSON type decides. Integers that do not fit Int32 are Doubles, as on the service.
Result<Value> read_untyped(const RawMember& member) {
  switch (member.kind) {
    case RawKind::kString:
      return Value{std::string(member.text)};
    case RawKind::kBoolean:
      return Value{member.text == "true"};
    case RawKind::kNumber:
      // "-0" would lose its sign as an integer.
      if (auto small = parse_number<std::int32_t>(member.text); small && member.text != "-0") return Value{*small};
      return read_double(member);
    case RawKind::kNull:
      break;
  }
  return bad_value(member);
}

template <class T>
Result<Value> read_integer(const RawMember& member) {
  // Strings and numbers are both taken: clients write Int64 as a string, some write Int32 so too.
  if (member.kind != RawKind::kNumber && member.kind != RawKind::kString) return bad_value(member);
  return made_of(member, parse_number<T>(member.text));
}

Result<Value> read_boolean(const RawMember& member) {
  bool text = member.kind == RawKind::kBoolean || member.kind == RawKind::kString;
  if (!text || (member.text != "true" && member.text != "false")) return bad_value(member);
  return Value{member.text == "true"};
}

Result<Value> read_typed(const RawMember& member) {
  if (member.type == "Edm.Int32") return read_integer<std::int32_t>(member);
  if (member.type == "Edm.Int64") return read_integer<std::int64_t>(member);
  if (member.type == "Edm.Double") return read_double(member);
  if (member.type == "Edm.Boolean") return read_boolean(member);
  if (member.kind != RawKind::kString) return bad_value(member);
  if (member.type == "Edm.String") return Value{std::string(member.text)};
  if (member.type == "Edm.DateTime") return made_of(member, parse_iso8601(member.text));
  if (member.type == "Edm.Guid") return made_of(member, parse_guid(member.text));
  if (member.type == "Edm.Binary") {
    auto bytes = base64_decode(member.text);
    if (!bytes) return bad_value(member);
    return Value{Binary{std::move(*bytes)}};
  }
  return invalid("The type '" + std::string(member.type) + "' is not known.");
}

bool is_known_type(std::string_view type) {
  constexpr std::string_view kTypes[] = {"Edm.String",  "Edm.Int32",    "Edm.Int64", "Edm.Double",
                                         "Edm.Boolean", "Edm.DateTime", "Edm.Guid",  "Edm.Binary"};
  return type.empty() || std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

Result<void> take_member(const RawMember& member, EntityBody& out, std::string_view keep) {
  if (is_ignored(member.name, keep)) return {};
  bool partition = member.name == "PartitionKey";
  if (partition || member.name == "RowKey") {
    if (member.kind == RawKind::kNull) return {};
    if (member.kind != RawKind::kString || !(member.type.empty() || member.type == "Edm.String")) {
      return bad_value(member);
    }
    (partition ? out.partition_key : out.row_key) = std::string(member.text);
    return {};
  }
  if (member.kind == RawKind::kNull) {
    if (!is_known_type(member.type)) return bad_value(member);
    return {};
  }
  auto value = TRY(member.type.empty() ? read_untyped(member) : read_typed(member));
  out.properties.push_back({std::string(member.name), std::move(value)});
  return {};
}

/// Reads a whole document and gives its members to `take`; the views die with the next document on this thread. Ignored
/// members come without their value, or not at all.
template <class Take>
Result<void> for_each_member(std::string_view json, std::string_view keep, Take take) {
  thread_local ondemand::parser parser;
  thread_local std::string padded;
  padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  padded.assign(json);
  if (padded.starts_with("\xEF\xBB\xBF")) padded.erase(0, 3);
  ondemand::document document;
  if (parser.iterate(simdjson::padded_string_view(padded.data(), padded.size(), padded.capacity())).get(document) !=
      simdjson::SUCCESS) {
    return invalid();
  }
  Members raw;
  raw.members.reserve(32);
  TRY(read_members(document, keep, raw));
  TRY(pair_annotations(raw));
  for (const auto& member : raw.members) {
    TRY(take(member));
  }
  return {};
}

}  // namespace

Result<EntityBody> parse_entity_json(std::string_view json, std::string_view keep) {
  EntityBody out;
  out.properties.reserve(16);
  TRY(for_each_member(json, keep, [&](const RawMember& member) { return take_member(member, out, keep); }));
  return out;
}

Result<std::string> parse_table_json(std::string_view json) {
  std::optional<std::string> name;
  TRY(for_each_member(json, {}, [&](const RawMember& member) -> Result<void> {
    if (member.name != "TableName" || member.kind == RawKind::kNull) return {};
    if (member.kind != RawKind::kString) return bad_value(member);
    name = std::string(member.text);
    return {};
  }));
  if (!name) return fail(ErrorCode::kPropertiesNeedValue);
  return std::move(*name);
}

}  // namespace tidemark::table_store
