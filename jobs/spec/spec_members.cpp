#include "jobs/spec/spec_members.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/protocol_text.h"
#include "common/base/text.h"
#include "jobs/spec/job_spec.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {

using nlohmann::json;

namespace {

constexpr const char* kSourceAccount = "sourceAccount";
constexpr const char* kDestinationAccount = "destinationAccount";
constexpr const char* kAccountPattern = "^[a-z0-9]{3,24}$";
constexpr About kAboutSourceAccount{.meaning = "account of the source, if it is not that of the jobs",
                                    .detail = "one that job_accounts names",
                                    .pattern = kAccountPattern};
constexpr About kAboutDestinationAccount{.meaning = "account of the destination, likewise", .pattern = kAccountPattern};
constexpr About kAboutFilter{.meaning = "OData filter; '' selects every entity"};

/// Describes the two keys of one entity.
std::vector<Member> key_members(bool required) {
  const auto key = [&](const char* name, const char* other) {
    return Member{name, text_schema({}), required, {.meaning = "one entity", .detail = other}, {}};
  };
  return {key("partitionKey", "with rowKey"), key("rowKey", "with partitionKey")};
}

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

Result<std::vector<std::string>> parse_account_list(std::string_view setting) {
  std::vector<std::string> accounts;
  for (auto left = setting; !left.empty();) {
    const auto& name = accounts.emplace_back(trimmed(take_item(left)));
    if (is_account_name(name)) continue;
    return fail(ErrorCode::kConfigInvalid,
                "The setting job_accounts cannot be '" + std::string(setting) +
                    "'; give names of accounts, of 3 to 24 lower-case letters and digits: one,another.");
  }
  return accounts;
}

bool is_table_name(std::string_view name) { return table_store::check_table_name(name).has_value(); }

bool is_own_table(std::string_view name) { return to_lower_ascii(name).starts_with("tidemark"); }

bool has_forbidden_key_character(std::string_view key) {
  for (; !key.empty(); key.remove_prefix(1)) {
    if (table_store::forbidden_key_bytes(key) > 0) return true;
  }
  return false;
}

bool is_property_name(std::string_view name) {
  return table_store::is_system_property(name) || table_store::check_property_name(name);
}

void SpecMembers::describe(const char* name, nlohmann::ordered_json schema, const About& about, bool required,
                           std::vector<Member> inner) {
  auto& member = described_->emplace_back(name, std::move(schema), required, about, std::move(inner));
  member.about.one_of = {};  // the schema has them, and they need not live longer than this call
}

const json* SpecMembers::any(const char* name) {
  if (from_ == nullptr) return nullptr;
  known_.emplace_back(name);
  const auto found = from_->find(name);
  return found == from_->end() ? nullptr : &*found;
}

bool SpecMembers::text(const char* name, std::string& value, bool required, const About& about) {
  if (describes()) {
    auto schema = text_schema(about);
    const bool has_default = !required && !value.empty();
    if (has_default && !describes_answer_) schema["default"] = value;
    describe(name, std::move(schema), about, required || (has_default && describes_answer_ && !about.not_always));
  }
  if (writes() && !value.empty()) put(name, value);
  if (from_ == nullptr) return false;
  const auto* found = any(name);
  if (found == nullptr && required) problem(std::string(name) + " is missing");
  if (found != nullptr && !found->is_string()) problem(std::string(name) + " must be a string");
  if (found == nullptr || !found->is_string()) return false;
  value = found->get<std::string>();
  return true;
}

std::optional<std::int64_t> SpecMembers::integer(const char* name, std::int64_t min, std::int64_t max, bool required) {
  const auto* found = any(name);
  if (found == nullptr && required) problem(std::string(name) + " is missing");
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

bool SpecMembers::flag(const char* name, bool& value, const About& about) {
  if (describes()) {
    nlohmann::ordered_json schema{{"type", "boolean"}};
    if (!describes_answer_) schema["default"] = value;
    describe(name, std::move(schema), about);
  }
  if (writes() && value) put(name, true);
  const auto* found = any(name);
  if (found == nullptr) return false;
  if (found->is_boolean()) value = found->get<bool>();
  if (!found->is_boolean()) problem(std::string(name) + " must be true or false");
  return found->is_boolean();
}

bool SpecMembers::time(const char* name, std::optional<Time>& value, const About& about) {
  if (describes()) {
    describe(name, {{"type", "string"}, {"format", "date-time"}}, about);
    return false;
  }
  if (writes() && value) put(name, to_iso8601(*value));
  const auto* found = any(name);
  if (found == nullptr) return false;
  value = found->is_string() ? parse_iso8601(found->get_ref<const std::string&>()) : std::nullopt;
  if (!value) problem(std::string(name) + " must be a time such as 2026-01-31T22:00:00Z");
  if (value && !table_store::can_hold(*value)) problem(std::string(name) + " must be a time of the years 1601 to 9999");
  return value.has_value();
}

const json* SpecMembers::object(const char* name) {
  const auto* found = any(name);
  return found != nullptr && found->is_object() ? found : nullptr;
}

void SpecMembers::property_names(const char* name, std::vector<std::string>& names, std::size_t most,
                                 const About& about, bool required) {
  if (describes()) {
    describe(
        name,
        {{"type", "array"}, {"items", text_schema({})}, {"minItems", 1}, {"maxItems", most}, {"uniqueItems", true}},
        about, required);
  }
  if (writes() && !names.empty()) put(name, names);
  const auto* found = any(name);
  if (found == nullptr && required) problem(std::string(name) + " is missing");
  if (found == nullptr) return;
  bool good = found->is_array() && !found->empty() && found->size() <= most;
  for (std::size_t i = 0; good && i < found->size(); ++i) {
    const auto& item = (*found)[i];
    good = item.is_string() && is_property_name(item.get_ref<const std::string&>()) &&
           std::ranges::find(names, item.get_ref<const std::string&>()) == names.end();
    if (good) names.push_back(item.get<std::string>());
  }
  if (!good) {
    problem(std::string(name) + " must be a list of 1 to " + std::to_string(most) + " property names, none twice");
  }
}

void SpecMembers::table(const char* name, std::string& value, About about, bool required) {
  about.pattern = kTablePattern;
  if (!text(name, value, required, about)) return;
  if (!is_table_name(value)) {
    problem(std::string(name) + " must be a table name: 3 to 63 letters and digits, a letter first");
  } else if (is_own_table(value)) {
    problem(std::string(name) + " must not be " + value + ", a table of Tidemark itself");
  }
}

void SpecMembers::key(const char* name, std::string& value) {
  if (!text(name, value, true)) return;
  if (!is_valid_utf8(value) || has_forbidden_key_character(value)) {
    problem(std::string(name) + " has characters that a key cannot have");
  } else if (utf16_length(value) > table_store::kMaxKeyUnits) {
    problem(std::string(name) + " is longer than 512 characters");
  }
}

void SpecMembers::selection(Selection& value, bool alternative) {
  if (describes()) {
    std::ranges::move(key_members(false), std::back_inserter(*described_));
    return filter(value);
  }
  if (writes()) {
    if (value.entity) put("partitionKey", value.entity->partition_key);
    if (value.entity) put("rowKey", value.entity->row_key);
    if (value.filter) put("filter", *value.filter);
    return;
  }
  const bool one = has("partitionKey") || has("rowKey");
  if (one) {
    auto& entity = value.entity.emplace();
    key("partitionKey", entity.partition_key);
    key("rowKey", entity.row_key);
  }
  filter(value);
  const int given = (one ? 1 : 0) + (has("filter") ? 1 : 0) + (alternative ? 1 : 0);
  if (given == 0) problem("give partitionKey and rowKey for one entity, or filter for many ('' selects every entity)");
  if (given > 1) problem("give partitionKey and rowKey, or filter, not both");
}

void SpecMembers::filter(Selection& value) {
  std::string given;
  if (!text("filter", given, kAboutFilter)) return;
  const auto parsed = table_store::Filter::parse(given);
  if (!parsed) problem("filter: " + parsed.error().message);
  value.filter = std::move(given);
}

void SpecMembers::entity_or_filter(Selection& value) {
  if (describes()) {
    const auto keys = key_members(true);
    describe("entity", object_schema(keys), {.flag = ""}, false, keys);
    return filter(value);
  }
  if (writes()) {
    const auto& one = value.entity;
    if (one) put("entity", {{"partitionKey", one->partition_key}, {"rowKey", one->row_key}});
    if (value.filter) put("filter", *value.filter);
    return;
  }
  if (has("entity") == has("filter")) problem("give entity for one, or filter for many ('' selects every entity)");
  const auto* given = any("entity");
  if (given != nullptr && !given->is_object()) problem("entity must be an object with partitionKey and rowKey");
  if (given != nullptr && given->is_object()) {
    SpecMembers inner(*given);
    auto& entity = value.entity.emplace();
    inner.key("partitionKey", entity.partition_key);
    inner.key("rowKey", entity.row_key);
    inner.refuse_unknown();
    for (const auto& each : inner.problems()) problem("entity: " + each);
  }
  filter(value);
}

void SpecMembers::accounts(Accounts& value) {
  for (const auto& [name, account, about] : {std::tuple{kSourceAccount, &value.source, &kAboutSourceAccount},
                                             {kDestinationAccount, &value.destination, &kAboutDestinationAccount}}) {
    if (text(name, *account, *about) && !is_account_name(*account)) {
      problem(std::string(name) + " must be the name of an account: 3 to 24 lower-case letters and digits");
    }
  }
}

void SpecMembers::two_tables(const std::string& source, const std::string& destination) {
  if (!source.empty() && iequals_ascii(source, destination)) problem("source and destination must be two tables");
}

void SpecMembers::refuse_unknown() {
  for (const auto& [name, value] : from_->items()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    if (name == kSourceAccount || name == kDestinationAccount) {
      problem(name + " is for archive, unarchive and copy alone: jobs of other kinds stay in the account of the jobs");
    } else {
      problem("unknown member '" + std::string(beginning_of(name, 64)) + "'");
    }
  }
}

}  // namespace tidemark::jobs
