#include "jobs/spec/job_queues.h"

#include "common/base/numbers.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/own_kinds.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::jobs {
namespace {

constexpr std::string_view kOwnPrefix = "tidemark-jobs-";

std::string_view queue_of(Priority priority) {
  if (priority == Priority::kHigh) return kHighQueue;
  return priority == Priority::kLow ? kLowQueue : kJobQueue;
}

constexpr std::string_view kVersionMark = "-v";

/// Returns the version whose queue has this name.
std::optional<KindVersion> version_of(std::string_view queue) {
  if (!queue.starts_with(kWorkPrefix)) return std::nullopt;
  queue.remove_prefix(kWorkPrefix.size());
  for (const std::string_view suffix : {"-high", "-low"}) {
    if (queue.ends_with(suffix)) queue.remove_suffix(suffix.size());
  }
  const auto mark = queue.rfind(kVersionMark);
  if (mark == std::string_view::npos) return std::nullopt;
  const auto version = parse_number<std::uint32_t>(queue.substr(mark + kVersionMark.size()), 1, kMaxKindVersion);
  const auto kind = queue.substr(0, mark);
  if (!version || !is_own_kind_name(kind)) return std::nullopt;
  return KindVersion{std::string(kind), *version};
}

}  // namespace

bool is_own_queue(std::string_view name) {
  const auto queue = own_queue(name);
  const bool taken = name == kDefaultQueue || queue == kHighQueue || queue == kLowQueue || queue == kPoisonQueue;
  return name.size() <= kMaxQueueName && !taken && !queue_service::is_poison_queue(queue) &&
         queue_service::check_queue_name(queue).has_value();
}

std::string own_queue(std::string_view name) { return std::string(kOwnPrefix).append(name); }

std::string queue_of(const JobSpec& spec) {
  if (const auto* own = std::get_if<OwnSpec>(&spec.work)) {
    const auto queues = work_queues({own->kind, own->version});
    return queues.at(static_cast<std::size_t>(spec.priority) - 1);
  }
  if (spec.queue.empty() || spec.queue == kDefaultQueue) return std::string(queue_of(spec.priority));
  return own_queue(spec.queue);
}

std::string name_of_queue(std::string_view queue) {
  if (queue == kHighQueue || queue == kJobQueue || queue == kLowQueue) return std::string(kDefaultQueue);
  if (const auto of = version_of(queue)) return text_of(*of);
  if (!queue.starts_with(kOwnPrefix)) return {};
  const auto name = queue.substr(kOwnPrefix.size());
  return is_own_queue(name) ? std::string(name) : std::string();
}

std::vector<std::string> queues_named(std::string_view name) {
  if (name == kDefaultQueue) return {std::string(kJobQueue), std::string(kHighQueue), std::string(kLowQueue)};
  if (is_own_queue(name)) return {own_queue(name)};
  const auto of = name.contains('@') ? kind_version_in(name) : std::nullopt;
  if (!of) return {};
  const auto [high, normal, low] = work_queues(*of);
  return {normal, high, low};
}

std::string text_of(const KindVersion& of) { return of.kind + "@" + std::to_string(of.version); }

std::optional<KindVersion> kind_version_in(std::string_view text) {
  const auto mark = text.find('@');
  const auto kind = text.substr(0, mark);
  const auto digits = mark == std::string_view::npos ? std::string_view("1") : text.substr(mark + 1);
  const auto version = parse_number<std::uint32_t>(digits, 1, kMaxKindVersion);
  if (!version || !is_own_kind_name(kind)) return std::nullopt;
  return KindVersion{std::string(kind), *version};
}

std::array<std::string, 3> work_queues(const KindVersion& of) {
  const auto normal = std::string(kWorkPrefix) + of.kind + std::string(kVersionMark) + std::to_string(of.version);
  return {normal + "-high", normal, normal + "-low"};
}

}  // namespace tidemark::jobs
