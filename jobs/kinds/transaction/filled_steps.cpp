#include "jobs/kinds/transaction/filled_steps.h"

#include "common/base/encoding.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/property_values.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/job_store.h"
#include "table_store/model/amounts.h"
#include "table_store/model/filter.h"
#include "table_store/model/limits.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::Property;

constexpr std::size_t kMostFoundBytes = 2000;

Result<std::vector<Property>> properties_from(const json& given, const ReadValues& values) {
  std::vector<Property> out;
  if (!given.is_object()) return out;
  for (const auto& [name, value] : given.items()) out.push_back({name, TRY(fill_in_property(name, value, values))});
  return out;
}

/// Fills in amounts: numbers, or a placeholder with or without a minus.
Result<std::vector<Property>> amounts_from(const json& given, const ReadValues& values) {
  std::vector<Property> out;
  if (!given.is_object()) return out;
  for (const auto& [name, value] : given.items()) {
    const bool negative = value.is_string() && value.get_ref<const std::string&>().starts_with('-');
    auto amount = TRY(fill_in_property(name, negative ? json(value.get<std::string>().substr(1)) : value, values));
    if (!table_store::is_number(amount)) {
      return fail(ErrorCode::kJobInvalid, "add: the amount for '" + name + "' is not a number.");
    }
    out.push_back({name, negative ? TRY(table_store::opposite_of(name, amount)) : std::move(amount)});
  }
  return out;
}

/// Fills in the steps of one transaction.
class Filling {
 public:
  Filling(const TransactionSpec& spec, const ReadValues& values) : spec_(spec), values_(values) {}

  Result<FilledStep> operator()(const PutStepSpec& step) { return put(step, MutationKind::kInsertOrReplace); }
  Result<FilledStep> operator()(const InsertStepSpec& step) { return put(step, MutationKind::kInsert); }
  Result<FilledStep> operator()(const MergeStepSpec& step) {
    Mutation mutation;
    mutation.kind = step.or_insert ? MutationKind::kInsertOrMerge : MutationKind::kMerge;
    mutation.properties = TRY(properties_from(step.set, values_));
    mutation.adds = TRY(amounts_from(step.add, values_));
    return change(step, std::move(mutation));
  }
  Result<FilledStep> operator()(const DeleteStepSpec& step) {
    Mutation mutation;
    mutation.kind = MutationKind::kErase;
    return change(step, std::move(mutation));
  }
  Result<FilledStep> operator()(const MessageStepSpec& step) {
    FilledMessage out{step.account, step.queue, {}};
    out.message.text = TRY(content(step));
    out.message.group = TRY(fill_in_text(step.group, values_));
    out.message.delay = std::chrono::seconds(step.delay_seconds);
    TRY(queue_service::check_text(out.message.text));
    return FilledStep(std::move(out));
  }
  Result<FilledStep> operator()(const BlobStepSpec& step) {
    FilledBlob out{step.account, step.container, TRY(fill_in_text(step.name, values_)), step.content_type,
                   TRY(content(step))};
    if (out.content_type.empty())
      out.content_type = step.json.is_null() ? "text/plain; charset=utf-8" : "application/json";
    return FilledStep(std::move(out));
  }
  Result<FilledStep> operator()(const CallbackStepSpec& step) {
    FilledCallback out{step};
    if (step.body && step.body_is_json) out.request.body = TRY(fill_in_json(json::parse(*step.body), values_)).dump();
    if (step.body && !step.body_is_json) out.request.body = TRY(fill_in_text(*step.body, values_));
    return FilledStep(std::move(out));
  }

  void next() { ++number_; }

 private:
  Result<FilledStep> put(const PutStepSpec& step, MutationKind kind) {
    Mutation mutation;
    mutation.kind = kind;
    mutation.properties = TRY(properties_from(step.entity, values_));
    return change(step, std::move(mutation));
  }

  Result<FilledStep> change(const EntityStep& step, Mutation mutation) {
    const auto& target = spec_.target_of(step);
    FilledEntityStep out{target.account, {number_, target.table, TRY(fill_in_text(target.partition_key, values_)), {}}};
    mutation.row_key = TRY(fill_in_text(target.row_key, values_));
    TRY(table_store::check_key(out.change.partition_key));
    TRY(table_store::check_key(mutation.row_key));
    TRY(table_store::check_properties(out.change.partition_key, mutation.row_key, mutation.properties));
    out.change.mutation = std::move(mutation);
    return FilledStep(std::move(out));
  }

  Result<std::string> content(const StepContent& step) {
    if (step.json.is_null()) return fill_in_text(step.text.get_ref<const std::string&>(), values_);
    return TRY(fill_in_json(step.json, values_)).dump(-1, ' ', false, json::error_handler_t::replace);
  }

  const TransactionSpec& spec_;
  const ReadValues& values_;
  std::uint32_t number_ = 1;
};

json shown_entity(const Entity& entity) {
  auto out = json::object();
  std::size_t bytes = 0;
  for (const auto& [name, value] : entity.properties) {
    json shown = json_of_value(value);
    bytes += name.size() + shown.dump(-1, ' ', false, json::error_handler_t::replace).size();
    if (bytes > kMostFoundBytes) break;
    out[name] = std::move(shown);
  }
  return out;
}

/// Returns why the guard does not hold; empty if it does.
std::string judge(const GuardSpec& guard, const std::optional<Entity>& entity) {
  if (guard.where == kAbsent) return entity ? "there is such an entity" : "";
  if (!entity) return "there is no such entity";
  if (guard.where.empty()) return "";
  const auto filter = table_store::Filter::parse(guard.where);
  return filter && filter->matches(*entity) ? "" : "the entity does not match " + guard.where;
}

void take_values(const GuardSpec& guard, const table_store::Guard& key, const std::optional<Entity>& entity,
                 const References& references, ReadValues& values) {
  if (guard.as.empty()) return;
  for (const auto& reference : references) {
    if (reference.guard != guard.as) continue;
    if (reference.property == "PartitionKey") values.emplace(reference, key.partition_key);
    if (reference.property == "RowKey") values.emplace(reference, key.row_key);
    if (reference.property == "Timestamp" && entity) values.emplace(reference, Time(Ticks(entity->version)));
    const auto* value = entity ? entity->find(reference.property) : nullptr;
    if (value != nullptr) values.emplace(reference, *value);
  }
}

}  // namespace

Result<std::vector<FilledStep>> fill_in(const TransactionSpec& spec, const ReadValues& values) {
  std::vector<FilledStep> out;
  Filling filling(spec, values);
  for (std::size_t i = 0; i < spec.steps.size(); ++i) {
    auto step = std::visit(filling, spec.steps[i]);
    if (!step) {
      return fail(ErrorCode::kJobInvalid, "steps[" + std::to_string(i) + "]: " + std::string(name_of(spec.steps[i])) +
                                              ": " + step.error().message);
    }
    out.push_back(std::move(*step));
    filling.next();
  }
  return out;
}

namespace {
Task<Result<std::optional<table_store::Entity>>> read_in(const JobStore& store, std::string account, std::string table,
                                                         std::string partition_key, std::string row_key) {
  const auto tables = store.tables_in(account);
  co_return co_await tables->get(std::move(table), std::move(partition_key), std::move(row_key));
}
}  // namespace

EntityReader reader_of(const JobStore& store) { return std::bind_front(&read_in, std::cref(store)); }

Task<Result<GuardsRead>> read_guards(const EntityReader& read_entity, const TransactionSpec& spec, std::string job_id) {
  GuardsRead out;
  out.values = spec.values_before_guards(std::move(job_id));
  const auto references = spec.references();
  for (std::uint32_t i = 0; i < spec.guards.size(); ++i) {
    const auto& guard = spec.guards[i];
    table_store::Guard read{guard.table,
                            CO_TRY(fill_in_text(guard.partition_key, out.values)),
                            CO_TRY(fill_in_text(guard.row_key, out.values)),
                            {}};
    const auto entity = CO_TRY(co_await read_entity(guard.account, read.table, read.partition_key, read.row_key));
    if (entity) read.version = entity->version;
    if (auto why = judge(guard, entity); !why.empty()) {
      out.broken = BrokenGuard{i, std::move(why), entity ? shown_entity(*entity) : json()};
      co_return out;
    }
    take_values(guard, read, entity, references, out.values);
    out.guards.push_back(std::move(read));
  }
  co_return out;
}

namespace {

constexpr const char* kValues = "values";
constexpr const char* kSteps = "steps";

std::string fingerprint(const StepSpec& step) {
  const auto text = std::visit([](auto each) { return members_json(std::move(each)).dump(); }, step);
  return hex_encode(sha256(std::string(name_of(step)) + text)).substr(0, 16);
}

}  // namespace

std::string decision_note(const TransactionSpec& spec, const ReadValues& values) {
  auto steps = json::array();
  for (const auto& step : spec.steps) steps.push_back(fingerprint(step));
  return json{{kValues, to_json(values)}, {kSteps, std::move(steps)}}.dump(-1, ' ', false,
                                                                           json::error_handler_t::replace);
}

Result<ReadValues> values_in_note(const TransactionSpec& spec, const std::string& note,
                                  const std::set<std::uint32_t>& taken) {
  const auto read = json::parse(note, nullptr, false);
  auto values = read.is_object() && read.contains(kValues) ? read_values_from(read[kValues]) : std::nullopt;
  if (!values) return fail(ErrorCode::kCorruption, "The note of the decision cannot be read.");
  for (const auto number : taken) {
    const auto at = number - 1;
    const bool same = at < spec.steps.size() && read.contains(kSteps) && at < read[kSteps].size() &&
                      read[kSteps][at] == fingerprint(spec.steps[at]);
    if (same) continue;
    return fail(
        ErrorCode::kJobInvalid,
        "steps[" + std::to_string(at) + "] has been taken already, so it cannot be changed; change only later ones.");
  }
  return std::move(*values);
}

Result<std::optional<table_store::PartitionName>> deciding_place(const TransactionSpec& spec,
                                                                 const std::string& job_id) {
  const auto* first = spec.steps.empty() ? nullptr : entity_of(spec.steps.front());
  const auto* target = !spec.guards.empty() ? &spec.guards.front()
                       : first == nullptr   ? nullptr
                                            : &spec.target_of(*first);
  if (target == nullptr) return std::nullopt;
  // Without guards, a template can name nothing but the job.
  const auto values = spec.values_before_guards(job_id);
  return std::optional(table_store::PartitionName{target->table, TRY(fill_in_text(target->partition_key, values))});
}

json to_json(const TransactionSpec& spec, const BrokenGuard& broken) {
  const auto& guard = spec.guards[broken.number];
  return {{"guard", broken.number},
          {"table", guard.table},
          {"partitionKey", guard.partition_key},
          {"rowKey", guard.row_key},
          {"expected", guard.where.empty() ? "present" : guard.where},
          {"reason", broken.text},
          {"found", broken.found}};
}

namespace {

std::string value_shown(const table_store::Value* value) {
  return value == nullptr ? "nothing" : json_of_value(*value).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Says for people what a step would do to the entity that is there now.
std::string change_shown(const Mutation& mutation, const std::optional<Entity>& there) {
  using enum MutationKind;
  if (mutation.kind == kErase) return there ? "delete the entity" : "nothing: there is no such entity";
  if (mutation.kind == kInsert) return there ? "fail: there is such an entity" : "insert the entity";
  if (mutation.kind == kInsertOrReplace) return there ? "replace the entity" : "insert the entity";
  if (!there && mutation.kind == kMerge) return "fail: there is no such entity";
  std::vector<std::string> changes;
  for (const auto& [name, value] : mutation.properties) {
    const auto* before = there ? there->find(name) : nullptr;
    changes.push_back("set " + name + " from " + value_shown(before) + " to " + value_shown(&value));
  }
  for (const auto& [name, amount] : mutation.adds) {
    const auto* before = there ? there->find(name) : nullptr;
    const auto sum =
        before != nullptr ? table_store::sum_of(name, *before, amount) : Result<table_store::Value>(amount);
    changes.push_back("add " + value_shown(&amount) + " to " + name + ": " + value_shown(before) + " becomes " +
                      (sum ? value_shown(&*sum) : sum.error().message));
  }
  return joined(changes);
}

/// Shows the steps of a transaction.
struct Showing {
  PlanSources& sources;
  JobPlan& plan;

  Task<Result<void>> show(FilledEntityStep step) const {
    const auto& [number, table, partition_key, mutation] = step.change;
    const auto tables = sources.store.tables_in(step.account);
    auto there = co_await tables->get(table, partition_key, mutation.row_key);
    if (there.failed_with(ErrorCode::kTableNotFound)) {
      plan.problems.push_back("steps[" + std::to_string(number - 1) + "]: there is no table " + table + ".");
      co_return Result<void>{};
    }
    const auto entity = CO_TRY(std::move(there));
    const auto bytes = table_store::properties_bytes(mutation.properties);
    plan.samples.push_back({{partition_key, mutation.row_key}, bytes, {table + ": " + change_shown(mutation, entity)}});
    co_return Result<void>{};
  }
  Task<Result<void>> show(FilledMessage step) const {
    plan.samples.push_back({{}, step.message.text.size(), {"put a message into the queue " + step.queue}});
    co_return Result<void>{};
  }
  Task<Result<void>> show(FilledBlob step) const {
    plan.samples.push_back({{}, step.bytes.size(), {"write the blob " + step.container + "/" + step.name}});
    co_return Result<void>{};
  }
  Task<Result<void>> show(FilledCallback step) const {
    const auto& request = step.request;
    plan.samples.push_back(
        {{}, request.body ? request.body->size() : 0, {request.method + " " + request.url + ", signed"}});
    co_return Result<void>{};
  }
};

}  // namespace

Task<Result<void>> TransactionSpec::plan(PlanSources& sources, JobPlan& plan) const {
  auto read = co_await read_guards(reader_of(sources.store), *this, "JOB");
  if (!read && http_status_of(read.error().code) >= 500) co_return fail(std::move(read.error()));
  if (!read) {
    plan.problems.push_back("guards: " + read.error().message);
    co_return Result<void>{};
  }
  if (read->broken) {
    plan.problems.push_back("guards[" + std::to_string(read->broken->number) + "] does not hold: " +
                            read->broken->text + ". The job would end as cancelled, and nothing would be changed.");
    co_return Result<void>{};
  }
  auto filled = fill_in(*this, read->values);
  if (!filled) {
    plan.problems.push_back(filled.error().message);
    co_return Result<void>{};
  }
  plan.keys = filled->size();
  for (auto& step : *filled) {
    const Showing showing{sources, plan};
    CO_TRY(co_await std::visit([&](auto& each) { return showing.show(std::move(each)); }, step));
    if (!plan.samples.empty()) plan.bytes += plan.samples.back().bytes;
  }
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
