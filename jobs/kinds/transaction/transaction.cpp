#include "jobs/kinds/transaction/transaction.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/protocol_text.h"
#include "common/base/text.h"
#include "jobs/kinds/reach.h"
#include "jobs/spec/property_values.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMostNameBytes = 1024;
constexpr std::uint32_t kLongestDelay = 7 * 24 * 3600;
constexpr const char* kNamePattern = "^[A-Za-z][A-Za-z0-9_]{0,31}$";

constexpr About kAboutAs{.meaning = "name of the entity in templates", .pattern = kNamePattern};
constexpr About kAboutWhere{
    .meaning = "filter that the entity must match",
    .detail = "\"absent\" asks that there be no such entity; without it, the entity must exist"};
constexpr About kAboutOf{.meaning = "the guard whose entity is changed", .detail = "instead of table and keys"};
constexpr About kAboutAccount{.meaning = "account, if it is not that of the jobs"};
constexpr About kAboutKey{.meaning = "template of the key"};
constexpr About kAboutTable{.meaning = "table of the entity"};

bool is_guard_name(std::string_view name) {
  return !name.empty() && name.size() <= 32 && is_alphanumeric(name.front()) && !(name.front() <= '9') &&
         std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '_'; }) && name != kJobAlias;
}

/// Reads a text that is a template.
bool template_text(SpecMembers& in, const char* name, std::string& text, bool required, const About& about = {}) {
  if (!in.text(name, text, required, about)) return false;
  if (const auto parsed = references_in(std::string_view(text)); !parsed) {
    in.problem(std::string(name) + ": " + parsed.error().message);
  }
  return true;
}

void account_member(SpecMembers& in, std::string& account) {
  if (in.text("account", account, kAboutAccount) && !is_account_name(account)) {
    in.problem("account must be the name of an account: 3 to 24 lower-case letters and digits");
  }
}

void key_members(SpecMembers& in, EntityTarget& target, bool required) {
  account_member(in, target.account);
  in.table("table", target.table, kAboutTable, required);
  for (const auto& [name, key] :
       {std::pair{"partitionKey", &target.partition_key}, std::pair{"rowKey", &target.row_key}}) {
    if (in.writes() && required) in.put(name, *key);
    if (in.writes()) continue;
    template_text(in, name, *key, required, kAboutKey);
  }
}

/// Reads or writes a member that is JSON of this form.
void json_member(SpecMembers& in, const char* name, json& value, ordered_json schema, bool required,
                 const About& about) {
  if (in.describes()) in.describe(name, std::move(schema), about, required);
  if (in.writes() && !value.is_null()) in.put(name, ordered_json(value));
  const auto* given = in.any(name);
  if (given != nullptr) value = *given;
  if (given == nullptr && required && !in.writes() && !in.describes()) {
    in.problem(std::string(name) + " is missing");
  }
  if (given == nullptr) return;
  if (const auto parsed = references_in(*given); !parsed) in.problem(std::string(name) + ": " + parsed.error().message);
}

void properties_member(SpecMembers& in, const char* name, json& value, bool required, const About& about) {
  json_member(in, name, value, reference("PropertyTemplates"), required, about);
  if (in.any(name) == nullptr) return;
  if (!value.is_object() || value.size() > table_store::kMaxProperties) {
    in.problem(std::string(name) + " must be an object of at most 252 properties and their values");
    return;
  }
  for (const auto& [property, given] : value.items()) {
    const auto place = std::string(name) + ": '" + std::string(beginning_of(property, 64)) + "' ";
    const auto form = problem_of_value(given);
    if (!table_store::check_property_name(property)) in.problem(place + "is no property that could be set");
    if (!form.empty()) in.problem(place + form);
    if (!form.empty() || given.is_string()) continue;
    const bool is_template = given.is_object() && given["value"].is_string() &&
                             !references_in(given["value"]).value_or(References{}).empty();
    if (!is_template && !value_from_json(property, given)) in.problem(place + "has a value that is not of its type");
  }
}

/// Checks that each amount is a number, or a placeholder with or without a minus.
void check_amounts(SpecMembers& in, const json& add) {
  if (!add.is_object()) return;
  for (const auto& [property, given] : add.items()) {
    if (given.is_number() || given.is_object()) continue;
    auto text = given.is_string() ? std::string_view(given.get_ref<const std::string&>()) : std::string_view();
    if (text.starts_with('-')) text.remove_prefix(1);
    const auto inside = references_in(text);
    const bool one = text.starts_with('{') && text.ends_with('}') && inside && inside->size() == 1;
    if (!one) {
      in.problem("add: '" + std::string(beginning_of(property, 64)) +
                 "' must be a number, {guard.Property} or -{guard.Property}");
    }
  }
}

template <class Visit>
void for_each_step_kind(Visit visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit(std::variant_alternative_t<I, StepSpec>{}), ...);
  }(std::make_index_sequence<std::variant_size_v<StepSpec>>());
}

void check_body(SpecMembers& in, const CallbackStepSpec& step) {
  if (!step.body) return;
  const auto inside =
      step.body_is_json ? references_in(json::parse(*step.body)) : references_in(std::string_view(*step.body));
  if (!inside) in.problem("body: " + inside.error().message);
}

/// Reads one step. Adds its problems.
std::optional<StepSpec> read_step(const json& given, std::vector<std::string>& problems) {
  std::optional<StepSpec> out;
  std::vector<std::string_view> names;
  for_each_step_kind([&]<class Step>(Step step) {
    names.emplace_back(Step::kStep);
    if (!given.is_object() || given.size() != 1 || !given.contains(Step::kStep)) return;
    const auto& inside = given[Step::kStep];
    if (!inside.is_object()) return problems.push_back(std::string(Step::kStep) + " must be an object");
    SpecMembers in(inside);
    step.members(in);
    in.refuse_unknown();
    if constexpr (std::same_as<Step, CallbackStepSpec>) check_body(in, step);
    for (const auto& each : in.problems()) problems.push_back(std::string(Step::kStep) + ": " + each);
    out = std::move(step);
  });
  if (!out && problems.empty()) problems.push_back("must be an object with one of " + joined(names));
  return out;
}

References references_of(const StepSpec& step) {
  References out;
  const auto add = [&out](auto&& from) {
    if (auto found = references_in(from)) out.merge(*found);
  };
  const auto add_keys = [&](const EntityStep& target) {
    add(std::string_view(target.partition_key));
    add(std::string_view(target.row_key));
  };
  std::visit(
      [&]<class Step>(const Step& it) {
        if constexpr (std::derived_from<Step, EntityStep>) add_keys(it);
        if constexpr (std::derived_from<Step, PutStepSpec>) add(it.entity);
        if constexpr (std::same_as<Step, MergeStepSpec>) add(it.set);
        if constexpr (std::same_as<Step, MergeStepSpec>) add(it.add);
        if constexpr (std::derived_from<Step, StepContent>) add(it.text);
        if constexpr (std::derived_from<Step, StepContent>) add(it.json);
        if constexpr (std::same_as<Step, MessageStepSpec>) add(std::string_view(it.group));
        if constexpr (std::same_as<Step, BlobStepSpec>) add(std::string_view(it.name));
        if constexpr (std::same_as<Step, CallbackStepSpec>) {
          if (it.body && it.body_is_json) add(json::parse(*it.body));
          if (it.body && !it.body_is_json) add(std::string_view(*it.body));
        }
      },
      step);
  return out;
}

/// Returns the account and the URL that a step reaches.
const std::string& account_of(const StepSpec& step) {
  static const std::string kOfTheJobs;
  return std::visit(
      []<class Step>(const Step& it) -> const std::string& {
        if constexpr (requires { it.account; }) return it.account;
        return kOfTheJobs;
      },
      step);
}

ordered_json values_by_name_schema() { return {{"type", "object"}, {"additionalProperties", values_schema()}}; }

ordered_json list_schema(ordered_json item, std::size_t least, std::size_t most) {
  return {{"type", "array"}, {"minItems", least}, {"maxItems", most}, {"items", std::move(item)}};
}

}  // namespace

void GuardSpec::members(SpecMembers& in) {
  if (in.text("as", as, kAboutAs) && !is_guard_name(as)) {
    in.problem("as must be a name of 1 to 32 letters, digits and '_', a letter first, and not 'job'");
  }
  key_members(in, *this, true);
  if (in.text("where", where, kAboutWhere) && where != kAbsent) {
    if (const auto parsed = table_store::Filter::parse(where); !parsed) in.problem("where: " + parsed.error().message);
  }
}

void EntityStep::target_members(SpecMembers& in) {
  in.text("of", of, kAboutOf);
  if (in.has("of") && (in.has("table") || in.has("partitionKey") || in.has("rowKey") || in.has("account"))) {
    in.problem("give of, or table and keys, not both");
  }
  key_members(in, *this, of.empty() && !in.describes());
}

void PutStepSpec::members(SpecMembers& in) {
  target_members(in);
  properties_member(in, "entity", entity, true, {.meaning = "the properties of the entity"});
}

void MergeStepSpec::members(SpecMembers& in) {
  target_members(in);
  properties_member(in, "set", set, false, {.meaning = "properties to set"});
  properties_member(in, "add", add, false, {.meaning = "amounts to add to numbers, exactly once"});
  in.flag("orInsert", or_insert, {.meaning = "make the entity if there is none; otherwise the step fails"});
  if (in.writes() || in.describes()) return;
  check_amounts(in, add);
  if (set.empty() && add.empty()) in.problem("give set, add or both");
  if (!set.is_object() || !add.is_object()) return;
  for (const auto& [property, amount] : add.items()) {
    if (set.contains(property)) in.problem("'" + property + "' is to be set and added to");
  }
}

void StepContent::content_members(SpecMembers& in) {
  json_member(in, "text", text, text_schema({}), false, {.meaning = "text, a template"});
  json_member(in, "json", json, ordered_json::object(), false, {.meaning = "any JSON; its texts are templates"});
  if (in.writes() || in.describes()) return;
  if (in.has("text") == in.has("json")) in.problem("give text or json");
  if (!text.is_null() && !text.is_string()) in.problem("text must be a string");
}

void MessageStepSpec::members(SpecMembers& in) {
  account_member(in, account);
  in.text("queue", queue, true, {.meaning = "queue, which must exist"});
  content_members(in);
  template_text(in, "group", group, false, {.meaning = "group of the message, in which order is kept"});
  in.number("delaySeconds", delay_seconds, 0, kLongestDelay, {.meaning = "time until the message is visible"});
}

void BlobStepSpec::members(SpecMembers& in) {
  account_member(in, account);
  in.text("container", container, true, {.meaning = "container, which must exist"});
  if (template_text(in, "name", name, true, {.meaning = "name of the blob, a template"}) &&
      (name.empty() || name.size() > kMostNameBytes)) {
    in.problem("name must have 1 to 1024 characters");
  }
  content_members(in);
  in.text("contentType", content_type, {.meaning = "media type; text or JSON if it is absent"});
}

std::string_view name_of(const StepSpec& step) {
  return std::visit([]<class Step>(const Step&) { return std::string_view(Step::kStep); }, step);
}

const EntityStep* entity_of(const StepSpec& step) {
  return std::visit(
      []<class Step>(const Step& it) -> const EntityStep* {
        if constexpr (std::derived_from<Step, EntityStep>) return &it;
        return nullptr;
      },
      step);
}

void TransactionSpec::describe(SpecMembers& in, bool required) {
  in.describe("guards", list_schema(reference("TransactionGuard"), 0, kMaxGuards),
              {.meaning = "what must be true when the transaction is decided", .flag = ""});
  in.describe("steps", list_schema(reference("TransactionStep"), 1, kMaxTransactionSteps),
              {.meaning = "what is done, in this order", .flag = ""}, required);
  in.describe("values", values_by_name_schema(),
              {.meaning = "named values for templates: {\"order\":{\"Cents\":5}} for {order.Cents}", .flag = ""});
}

void TransactionSpec::members(SpecMembers& in) {
  if (in.describes()) return describe(in, true);
  if (in.writes()) {
    if (!values.is_null()) in.put("values", ordered_json(values));
    auto out = ordered_json::array();
    for (const auto& guard : guards) out.push_back(members_json(guard));
    if (!guards.empty()) in.put("guards", std::move(out));
    out = ordered_json::array();
    for (const auto& step : steps) {
      std::visit([&]<class Step>(const Step& it) { out.push_back({{Step::kStep, members_json(it)}}); }, step);
    }
    return in.put("steps", std::move(out));
  }
  if (const auto* named_values = in.any("values")) values = *named_values;
  const auto named = values.is_null() ? std::optional(ReadValues{}) : read_values_from(values);
  if (!named || named->size() > kMaxNamedValues) {
    return in.problem("values must be an object of names, each with an object of properties and their values");
  }
  const auto is_named = [&](const Reference& each) { return each.guard == kJobAlias || named->contains(each); };
  const auto* given = in.any("guards");
  if (given != nullptr && (!given->is_array() || given->size() > kMaxGuards)) {
    in.problem("guards must be a list of at most 20 objects");
  } else if (given != nullptr) {
    for (std::size_t i = 0; i < given->size(); ++i) {
      const auto place = "guards[" + std::to_string(i) + "]";
      auto& guard = guards.emplace_back();
      if (!(*given)[i].is_object()) {
        in.problem(place + " must be an object");
        continue;
      }
      in.nested(place.c_str(), (*given)[i], guard);
      if (!guard.as.empty() && find_guard(guard.as) != &guards.back())
        in.problem(place + ": another guard has this name");
      if (values.contains(guard.as)) in.problem(place + ": values have this name, too");
      // Only the values that are given are known before any guard has been read.
      for (const auto* key : {&guard.partition_key, &guard.row_key}) {
        const auto inside = references_in(std::string_view(*key)).value_or(References{});
        if (!std::ranges::all_of(inside, is_named)) {
          in.problem(place + ": the keys of a guard cannot be made from what guards read");
        }
      }
    }
  }
  given = in.any("steps");
  if (given == nullptr) return in.problem("steps is missing");
  if (!given->is_array() || given->empty() || given->size() > kMaxTransactionSteps) {
    return in.problem("steps must be a list of 1 to 100 steps");
  }
  for (std::size_t i = 0; i < given->size(); ++i) {
    const auto place = "steps[" + std::to_string(i) + "]: ";
    std::vector<std::string> problems;
    auto step = read_step((*given)[i], problems);
    for (const auto& each : problems) in.problem(place + each);
    if (!step) continue;
    const auto* entity = entity_of(*step);
    if (entity != nullptr && !entity->of.empty() && find_guard(entity->of) == nullptr) {
      in.problem(place + "of: no guard is named '" + std::string(beginning_of(entity->of, 64)) + "'");
    }
    for (const auto& each : references_of(*step)) {
      if (is_named(each)) continue;
      const auto* guard = find_guard(each.guard);
      if (guard == nullptr) {
        in.problem(place + "{" + each.guard + "." + each.property +
                   "}: " + (values.contains(each.guard) ? "values have no such property" : "no guard has this name"));
      }
      if (guard != nullptr && guard->where == kAbsent && each.property != "PartitionKey" && each.property != "RowKey") {
        in.problem(place + "{" + each.guard + "." + each.property + "}: the guard asks that there be no such entity");
      }
    }
    steps.push_back(std::move(*step));
  }
}

ReadValues TransactionSpec::values_before_guards(std::string job_id) const {
  auto out = read_values_from(values).value_or(ReadValues{});
  out.insert_or_assign(Reference{std::string(kJobAlias), "id"}, std::move(job_id));
  return out;
}

const GuardSpec* TransactionSpec::find_guard(std::string_view as) const {
  const auto found = std::ranges::find(guards, as, &GuardSpec::as);
  return found == guards.end() || as.empty() ? nullptr : &*found;
}

const EntityTarget& TransactionSpec::target_of(const EntityStep& step) const {
  const auto* guard = find_guard(step.of);
  return guard != nullptr ? static_cast<const EntityTarget&>(*guard) : step;
}

References TransactionSpec::references() const {
  References out;
  for (const auto& step : steps) out.merge(references_of(step));
  return out;
}

bool TransactionSpec::writes_blobs() const {
  return std::ranges::any_of(steps, [](const auto& step) { return std::holds_alternative<BlobStepSpec>(step); });
}

bool TransactionSpec::has_messages() const {
  return std::ranges::any_of(steps, [](const auto& step) { return std::holds_alternative<MessageStepSpec>(step); });
}

const std::string& TransactionSpec::deciding_account() const {
  static const std::string kOfTheJobs;
  if (!guards.empty()) return guards.front().account;
  const auto* first = steps.empty() ? nullptr : entity_of(steps.front());
  return first != nullptr ? target_of(*first).account : kOfTheJobs;
}

Reach TransactionSpec::reach() const {
  Reach reach;
  reach.accounts.push_back(deciding_account());
  const auto add = [](std::vector<std::string>& to, const std::string& name) {
    if (!name.empty() && std::ranges::find(to, name) == to.end()) to.push_back(name);
  };
  const auto add_target = [&](const EntityTarget& target) {
    add(reach.tables, target.table);
    if (std::ranges::find(reach.accounts, target.account) == reach.accounts.end()) {
      reach.accounts.push_back(target.account);
    }
  };
  for (const auto& guard : guards) add_target(guard);
  for (const auto& step : steps) {
    const auto* entity = entity_of(step);
    if (entity != nullptr) {
      add_target(target_of(*entity));
    } else if (std::ranges::find(reach.accounts, account_of(step)) == reach.accounts.end()) {
      reach.accounts.push_back(account_of(step));
    }
    if (const auto* callback = std::get_if<CallbackStepSpec>(&step)) add(reach.urls, callback->url);
  }
  reach.step = Step::kSteps;
  reach.writes_messages = has_messages();
  reach.note = std::to_string(steps.size()) + (steps.size() == 1 ? " step" : " steps");
  return reach;
}

nlohmann::ordered_json transaction_schemas() {
  ordered_json steps{{"type", "object"},
                     {"description", "One step of a transaction: an object with one of these members"},
                     {"minProperties", 1},
                     {"maxProperties", 1},
                     {"additionalProperties", false}};
  for_each_step_kind(
      [&]<class Step>(const Step&) { steps["properties"][Step::kStep] = schema_of<Step>(Use::kRequest); });
  auto properties = values_schema();
  properties.erase("minProperties");
  properties["description"] = "Properties and their values; texts are templates";
  return {{"TransactionGuard", schema_of<GuardSpec>(Use::kRequest)},
          {"TransactionStep", std::move(steps)},
          {"PropertyTemplates", std::move(properties)}};
}

}  // namespace tidemark::jobs
