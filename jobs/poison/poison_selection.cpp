#include "jobs/poison/poison_selection.h"

#include <algorithm>
#include <concepts>

#include "jobs/plan/plan.h"
#include "jobs/spec/job_queues.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/spec_members.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kFingerprintLength = 16;
constexpr std::size_t kMaxIdBytes = 64;
constexpr About kAboutQueue{.meaning = "messages of this queue of yours, instead of those of jobs",
                            .detail = "its name without -poison"};

bool may_be_id(const nlohmann::json& item) {
  if (!item.is_string()) return false;
  const auto& id = item.get_ref<const std::string&>();
  return !id.empty() && id.size() <= kMaxIdBytes &&
         std::ranges::all_of(id, [](char c) { return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void id_members(SpecMembers& in, std::vector<std::string>& ids) {
  if (in.writes() && !ids.empty()) in.put("poisonIds", ids);
  if (in.describes()) {
    in.describe("poisonIds",
                {{"type", "array"}, {"minItems", 1}, {"maxItems", kMaxPoisonIds}, {"items", text_schema({})}},
                {.meaning = "these messages, of jobs also by the ids of the jobs", .detail = "instead of a filter"});
  }
  const auto* found = in.any("poisonIds");
  if (found == nullptr) return;
  const bool good =
      found->is_array() && !found->empty() && found->size() <= kMaxPoisonIds && std::ranges::all_of(*found, may_be_id);
  if (good) {
    ids = found->get<std::vector<std::string>>();
  } else {
    in.problem("poisonIds must be a list of 1 to " + std::to_string(kMaxPoisonIds) +
               " ids of poison messages or their jobs; select more by a filter");
  }
}

void filter_members(SpecMembers& in, PoisonFilter& filter) {
  if (in.text("poisonKind", filter.kind, {.meaning = "messages of this kind"}) && !filter.kind.empty() &&
      filter.kind != "unknown" && !is_kind(filter.kind) && !is_own_kind_name(filter.kind)) {
    in.problem("poisonKind must be a kind of job, or unknown");
  }
  const About about_source{.meaning = "messages of jobs that read this table", .pattern = kTablePattern};
  if (in.text("poisonSource", filter.source, about_source) && !filter.source.empty() && !is_table_name(filter.source)) {
    in.problem("poisonSource must be the name of a table");
  }
  const About about_fingerprint{.meaning = "messages with this kind of failure", .pattern = "^[0-9a-f]{16}$"};
  if (in.text("fingerprint", filter.fingerprint, about_fingerprint) && !filter.fingerprint.empty() &&
      filter.fingerprint.size() != kFingerprintLength) {
    in.problem("fingerprint must have 16 hex digits");
  }
  in.time("movedAfter", filter.moved_after, {.meaning = "messages that became poison at or after this time"});
  in.time("movedBefore", filter.moved_before, {.meaning = "and before this time"});
}

/// A kind of job that handles poison messages.
template <class Spec>
concept SweepsPoison = std::same_as<decltype(Spec::which), PoisonSelection>;

}  // namespace

const PoisonSelection* poison_in(const JobSpec& spec) {
  return std::visit(
      []<class Work>(const Work& work) -> const PoisonSelection* {
        if constexpr (SweepsPoison<Work>) {
          return &work.which;
        } else {
          return nullptr;
        }
      },
      spec.work);
}

void PoisonSelection::members(SpecMembers& in) {
  if (in.text("poisonQueue", queue, kAboutQueue) && !queue.empty()) {
    const bool own = queue_service::check_queue_name(queue).has_value() &&
                     queue_service::check_queue_name(queue_service::poison_queue_of(queue)).has_value() &&
                     !queue_service::is_poison_queue(queue) && !is_job_queue(queue);
    if (!own) {
      in.problem(
          "poisonQueue must be the name of a queue of yours, without -poison; without it, the messages are "
          "those of jobs");
    }
  }
  id_members(in, ids);
  filter_members(in, filter);
  in.number("perSecond", per_second, 1, 10'000, {.meaning = "messages a second"});
  in.number("limit", limit, 1, INT64_MAX, {.meaning = "at most so many"});
  if (filter == PoisonFilter{}) return;
  if (!ids.empty()) in.problem("poisonIds names the messages: nothing else can select them");
  if (!queue.empty()) {
    in.problem(
        "poisonQueue: the messages of a queue of yours are selected by poisonIds, or all of them; nothing else "
        "is known of them");
  }
}

Task<Result<void>> PoisonSelection::plan(PlanSources& sources, JobPlan& plan) const {
  const auto found = CO_TRY(co_await sources.poison.count(*this));
  plan.keys = std::min(found.count, limit.value_or(found.count));
  plan.complete = found.complete;
  plan.seconds = static_cast<double>(plan.keys) / per_second;
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
