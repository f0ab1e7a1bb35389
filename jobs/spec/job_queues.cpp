#include "jobs/spec/job_queues.h"

#include "jobs/spec/job_spec.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::jobs {
namespace {

constexpr std::string_view kOwnPrefix = "tidemark-jobs-";

std::string_view queue_of(Priority priority) {
  if (priority == Priority::kHigh) return kHighQueue;
  return priority == Priority::kLow ? kLowQueue : kJobQueue;
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
  if (spec.queue.empty() || spec.queue == kDefaultQueue) return std::string(queue_of(spec.priority));
  return own_queue(spec.queue);
}

std::string_view name_of_queue(std::string_view queue) {
  if (queue == kHighQueue || queue == kJobQueue || queue == kLowQueue) return kDefaultQueue;
  if (!queue.starts_with(kOwnPrefix)) return {};
  const auto name = queue.substr(kOwnPrefix.size());
  return is_own_queue(name) ? name : std::string_view();
}

}  // namespace tidemark::jobs
