#include "jobs/spec/spec_reader.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "jobs/store/job_record.h"
#include "table_store/model/filter.h"
#include "table_store/model/limits.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::unexpected<Error> invalid(ErrorCode code, std::string_view what, const std::vector<std::string>& problems) {
  auto error = make_error(code, std::string(what));
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i > 0) error.message += "; ";
    error.message += problems[i];
    error.fields.emplace_back("problem", problems[i]);
  }
  if (!error.message.ends_with('.')) error.message += '.';
  return fail(std::move(error));
}

std::unexpected<Error> invalid_job(const std::vector<std::string>& problems) {
  return invalid(ErrorCode::kJobInvalid, "The job is not valid: ", problems);
}

bool is_table_name(std::string_view name) {
  if (name.size() < 3 || name.size() > 63 || !is_letter(name.front())) return false;
  if (iequals_ascii(name, "tables")) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool has_forbidden_key_character(std::string_view key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto c = static_cast<unsigned char>(key[i]);
    if (c == '/' || c == '\\' || c == '#' || c == '?' || c < 0x20 || c == 0x7F) return true;
    // U+0080 to U+009F in UTF-8.
    if (c == 0xC2 && i + 1 < key.size() && static_cast<unsigned char>(key[i + 1]) < 0xA0) return true;
  }
  return false;
}

bool is_property_name(std::string_view name) {
  if (name.empty() || name.size() > table_store::kMaxPropertyNameUnits || is_digit(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  });
}

const json* SpecReader::member(const char* name) {
  known_.emplace_back(name);
  auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

std::optional<std::string> SpecReader::text(const char* name, bool required) {
  const auto* found = member(name);
  if (found == nullptr) {
    if (required) problem(std::string(name) + " is missing");
    return std::nullopt;
  }
  if (!found->is_string()) {
    problem(std::string(name) + " must be a string");
    return std::nullopt;
  }
  return found->get<std::string>();
}

std::optional<std::int64_t> SpecReader::integer(const char* name, std::int64_t min, std::int64_t max) {
  const auto* found = member(name);
  if (found == nullptr) return std::nullopt;
  const bool whole =
      found->is_number_unsigned() ? found->get<std::uint64_t>() <= INT64_MAX : found->is_number_integer();
  if (whole) {
    const auto value = found->get<std::int64_t>();
    if (value >= min && value <= max) return value;
  }
  problem(std::string(name) + " must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::optional<bool> SpecReader::boolean(const char* name) {
  const auto* found = member(name);
  if (found == nullptr) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  problem(std::string(name) + " must be true or false");
  return std::nullopt;
}

std::optional<Time> SpecReader::time(const char* name) {
  auto found = text(name, false);
  if (!found) return std::nullopt;
  auto parsed = parse_iso8601(*found);
  if (!parsed) problem(std::string(name) + " must be a time such as 2026-01-31T22:00:00Z");
  return parsed;
}

const json* SpecReader::object(const char* name, bool required) {
  const auto* found = member(name);
  if (found == nullptr && required) problem(std::string(name) + " is missing");
  if (found == nullptr || found->is_object()) return found;
  problem(std::string(name) + " must be an object");
  return nullptr;
}

std::vector<std::string> SpecReader::property_names(const char* name) {
  const auto* found = member(name);
  std::vector<std::string> names;
  if (found == nullptr) return names;
  bool good = found->is_array() && !found->empty() && found->size() <= table_store::kMaxProperties;
  for (std::size_t i = 0; good && i < found->size(); ++i) {
    const auto& item = (*found)[i];
    good = item.is_string() && is_property_name(item.get_ref<const std::string&>()) &&
           std::find(names.begin(), names.end(), item.get<std::string>()) == names.end();
    if (good) names.push_back(item.get<std::string>());
  }
  if (!good) {
    problem(std::string(name) + " must be a list of 1 to " + std::to_string(table_store::kMaxProperties) +
            " property names, none twice");
  }
  return names;
}

const json* SpecReader::object(const char* name) {
  const auto* found = member(name);
  return found != nullptr && found->is_object() ? found : nullptr;
}

std::string SpecReader::table(const char* name) {
  auto found = text(name, true);
  if (!found) return {};
  if (!is_table_name(*found)) {
    problem(std::string(name) + " must be a table name: 3 to 63 letters and digits, a letter first");
  } else if (iequals_ascii(*found, kJobTable)) {
    problem(std::string(name) + " must not be " + std::string(kJobTable) + ", the table of the jobs themselves");
  }
  return *found;
}

std::string SpecReader::key(const char* name) {
  auto found = text(name, true);
  if (!found) return {};
  if (!is_valid_utf8(*found) || has_forbidden_key_character(*found)) {
    problem(std::string(name) + " has characters that a key cannot have");
  } else if (utf16_length(*found) > table_store::kMaxKeyUnits) {
    problem(std::string(name) + " is longer than 512 characters");
  }
  return *found;
}

Selection SpecReader::selection(bool alternative) {
  Selection out;
  const bool one = has("partitionKey") || has("rowKey");
  if (one) {
    EntityKey entity;
    entity.partition_key = key("partitionKey");
    entity.row_key = key("rowKey");
    out.entity = std::move(entity);
  }
  out.filter = text("filter", false);
  const int given = (one ? 1 : 0) + (has("filter") ? 1 : 0) + (alternative ? 1 : 0);
  if (given == 0) problem("give partitionKey and rowKey for one entity, or filter for many ('' selects every entity)");
  if (given > 1) problem("give partitionKey and rowKey, or filter, not both");
  if (out.filter) {
    auto filter = table_store::Filter::parse(*out.filter);
    if (!filter) problem("filter: " + filter.error().message);
  }
  return out;
}

void write_selection(const Selection& selection, nlohmann::ordered_json& out) {
  if (selection.entity) {
    out["partitionKey"] = selection.entity->partition_key;
    out["rowKey"] = selection.entity->row_key;
  }
  if (selection.filter) out["filter"] = *selection.filter;
}

void SpecReader::two_tables(const std::string& source, const std::string& destination) {
  if (!source.empty() && iequals_ascii(source, destination)) problem("source and destination must be two tables");
}

void SpecReader::refuse_unknown() {
  for (const auto& [name, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      problem("unknown member '" + name.substr(0, 64) + "'");
    }
  }
}

}  // namespace tidemark::jobs
