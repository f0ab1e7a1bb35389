// The rule of an on-change declaration whose target is a job: when a change concerns it, and the job that it makes.
// The job is a template: in its texts, {new.Property}, {old.Property}, {change.version}, {change.kind} and
// {change.table} stand for values of the change; new and old are the entity after and before it, and both have its
// keys. A text that is one placeholder and nothing else stands for the value with its type. Between the quotes of a
// filter, the quotes of a value are doubled. All other braces stay as they are, for they may belong to the job. In the
// guards and steps of a transaction, nothing is filled in: the job gets the values beside them
// (TransactionSpec::values). Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/names.h"
#include "table_store/model/feed.h"
#include "table_store/model/filter.h"

namespace tidemark::feeds {

/// The changes that concern a declaration, by whether the entity matches its filter before and after the change.
enum class When : std::uint8_t {
  kMatches = 1,  // after it; a deletion, if it did before
  kEnters = 2,   // after it, and not before
  kLeaves = 3,   // before it, and not after
};
inline constexpr jobs::Names<When, 3> kWhens{
    {{When::kMatches, "matches"}, {When::kEnters, "enters"}, {When::kLeaves, "leaves"}}};

/// Which jobs of a rule begin one after the other, in the order of the changes.
enum class Order : std::uint8_t { kEntity = 1, kPartition = 2, kNone = 3 };
inline constexpr jobs::Names<Order, 3> kOrders{
    {{Order::kEntity, "entity"}, {Order::kPartition, "partition"}, {Order::kNone, "none"}}};

/// Tells what becomes of the jobs behind one that is poison, if they have an order.
enum class IfPoison : std::uint8_t { kPass = 1, kHold = 2 };
inline constexpr jobs::Names<IfPoison, 2> kIfPoison{{{IfPoison::kPass, "pass"}, {IfPoison::kHold, "hold"}}};

struct RuleLimits {
  std::optional<std::uint32_t> per_second;  // jobs
  std::optional<std::uint64_t> waiting;     // messages in the queue of its jobs; at that many it waits
  std::optional<std::uint64_t> per_day;     // jobs; then it stops
  bool operator==(const RuleLimits&) const = default;
  void members(jobs::SpecMembers& in);
};

struct Rule {
  nlohmann::json job;  // the template
  Order order = Order::kEntity;
  IfPoison if_poison = IfPoison::kPass;
  std::uint32_t hops = 0;  // how often a change that its own jobs have caused may make another job
  bool collapse = false;   // of the changes of an entity that are read together, only the last one makes a job
  std::optional<RuleLimits> limits;
  bool operator==(const Rule&) const = default;
};

/// Reads, writes or describes job, order, ifPoison, hops, collapse and limits. `rule` is empty without a job.
void rule_members(jobs::SpecMembers& in, std::optional<Rule>& rule);

/// Tells whether a declaration is about the change.
bool concerns(When when, const table_store::Filter& filter, const table_store::Change& change);

/// Tells whether the change makes a job of the rule with this mark (jobs/spec/cause.h). kInvalidInput if the rule's own
/// jobs have caused it too many times, or the chain of rules behind it is too long.
Result<bool> makes_job(const Rule& rule, When when, std::string_view mark, const table_store::Filter& filter,
                       const table_store::Change& change);

/// Returns the job for a change, without its cause. kJobInvalid if it cannot be made: a property is missing, or the
/// text is no job once it is filled in.
Result<jobs::JobSpec> job_for(const Rule& rule, const std::string& table, const table_store::Change& change);
/// Returns a job such as the rule makes, with invented values, for checking what it reaches; nothing if no invented
/// value fits. kJobInvalid, with the problems that the job has for any values.
Result<std::optional<jobs::JobSpec>> sample_of(const Rule& rule, const std::string& table);
/// Returns the rest of a cause's lane for a change: changes with the same one are dealt with in order. Empty: none.
std::string lane_of(Order order, const table_store::Change& change);

}  // namespace tidemark::feeds
