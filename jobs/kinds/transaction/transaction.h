// Transaction: steps over any partitions, tables, accounts, queues, blobs and endpoints, which are taken once, all or
// none, in their order (docs/transactions.md).
//   values   {NAME:{PROPERTY:VALUE}}, for templates
//   guards   [{"as"?,"account"?,"table","partitionKey","rowKey","where"?}]   where: a filter, or "absent"
//   steps    [{"put":{TARGET,"entity"}} | {"insert":{TARGET,"entity"}} | {"merge":{TARGET,"set"?,"add"?,"orInsert"?}} |
//             {"delete":{TARGET}} | {"message":{"account"?,"queue","text"|"json","group"?,"delaySeconds"?}} |
//             {"blob":{"account"?,"container","name","text"|"json","contentType"?}} | {"callback":{...}}]
// TARGET is "of", the name of a guard, or account? table partitionKey rowKey. Texts are templates (templates.h).
//
// The guards are read, and everything is filled in, before anything is changed. The first commit checks once more that
// the guards beside it hold, decides, and takes the first steps if they are beside it, too. Before it nothing has
// happened, so that a guard that does not hold ends the job as cancelled, and a mistake makes it poison; after it, the
// steps are taken however often a worker dies. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jobs/kinds/callback/callback.h"
#include "jobs/kinds/kind.h"
#include "jobs/kinds/transaction/templates.h"

namespace tidemark::jobs {

inline constexpr std::size_t kMaxTransactionSteps = 100;
inline constexpr std::size_t kMaxGuards = 20;
inline constexpr std::size_t kMaxNamedValues = 500;
inline constexpr std::string_view kAbsent = "absent";

/// The entity that a guard reads or a step changes. The keys are templates.
struct EntityTarget {
  std::string account;  // empty: the account of the jobs
  std::string table, partition_key, row_key;
  bool operator==(const EntityTarget&) const = default;
};

struct GuardSpec : EntityTarget {
  std::string as;     // the name in templates; empty: none
  std::string where;  // a filter, kAbsent, or empty: the entity exists
  bool operator==(const GuardSpec&) const = default;
  void members(SpecMembers& in);
};

/// The common part of the steps that change an entity.
struct EntityStep : EntityTarget {
  std::string of;  // the guard whose entity it changes, instead of a table and keys
  bool operator==(const EntityStep&) const = default;
  void target_members(SpecMembers& in);
};

struct PutStepSpec : EntityStep {
  static constexpr const char* kStep = "put";
  nlohmann::json entity;
  bool operator==(const PutStepSpec&) const = default;
  void members(SpecMembers& in);
};
struct InsertStepSpec : PutStepSpec {
  static constexpr const char* kStep = "insert";
};
struct MergeStepSpec : EntityStep {
  static constexpr const char* kStep = "merge";
  nlohmann::json set, add;
  bool or_insert = false;
  bool operator==(const MergeStepSpec&) const = default;
  void members(SpecMembers& in);
};
struct DeleteStepSpec : EntityStep {
  static constexpr const char* kStep = "delete";
  void members(SpecMembers& in) { target_members(in); }
};

/// A text as it is, or JSON whose texts are templates. Exactly one of them is given.
struct StepContent {
  nlohmann::json text, json;
  bool operator==(const StepContent&) const = default;
  void content_members(SpecMembers& in);
};

struct MessageStepSpec : StepContent {
  static constexpr const char* kStep = "message";
  std::string account, queue, group;
  std::uint32_t delay_seconds = 0;
  bool operator==(const MessageStepSpec&) const = default;
  void members(SpecMembers& in);
};
struct BlobStepSpec : StepContent {
  static constexpr const char* kStep = "blob";
  std::string account, container, name, content_type;
  bool operator==(const BlobStepSpec&) const = default;
  void members(SpecMembers& in);
};
/// At least once, with the same webhook-id each time: the job's id, a full stop and the number of the step.
struct CallbackStepSpec : CallbackSpec {
  static constexpr const char* kStep = "callback";
};

using StepSpec = std::variant<PutStepSpec, InsertStepSpec, MergeStepSpec, DeleteStepSpec, MessageStepSpec, BlobStepSpec,
                              CallbackStepSpec>;
std::string_view name_of(const StepSpec& step);  // "put"
/// Returns the part of a step that names an entity; null for the others.
const EntityStep* entity_of(const StepSpec& step);

struct TransactionSpec {
  nlohmann::json values;  // {NAME:{PROPERTY:VALUE}}; null: none
  std::vector<GuardSpec> guards;
  std::vector<StepSpec> steps;
  bool operator==(const TransactionSpec&) const = default;

  static constexpr std::string_view kName = "transaction";
  static constexpr bool kSelectsEntities = false;
  void members(SpecMembers& in);
  /// Describes guards and steps.
  static void describe(SpecMembers& in, bool required);
  [[nodiscard]] Reach reach() const;
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const;
  [[nodiscard]] bool writes_blobs() const;

  [[nodiscard]] const GuardSpec* find_guard(std::string_view as) const;
  /// Returns the entity that a step changes: its own, or that of its guard.
  [[nodiscard]] const EntityTarget& target_of(const EntityStep& step) const;
  /// Returns the values that templates have before any guard is read.
  [[nodiscard]] ReadValues values_before_guards(std::string job_id) const;
  /// Returns everything that the templates refer to.
  [[nodiscard]] References references() const;
  [[nodiscard]] bool has_messages() const;
  /// Returns the account in which the transaction is decided: that of the first guard, or of the first step if it
  /// changes an entity; empty: that of the jobs.
  [[nodiscard]] const std::string& deciding_account() const;
};

/// Returns the schemas of guards and steps for openapi.json, by their names.
nlohmann::ordered_json transaction_schemas();

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::TransactionSpec spec);
}  // namespace tidemark::workers
