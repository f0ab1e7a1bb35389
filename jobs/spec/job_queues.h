// The queues in which jobs wait: one for each priority, which together are called "default", and those that users name,
// tidemark-jobs-NAME, so that some work can have workers of its own. A message that any SDK writes to one of them is a
// job. Jobs that are given up are in one poison queue, regardless of the queue that they came from. Pure.
#pragma once
#include <string>
#include <string_view>

namespace tidemark::jobs {

struct JobSpec;

inline constexpr std::string_view kHighQueue = "tidemark-jobs-high";
inline constexpr std::string_view kJobQueue = "tidemark-jobs";
inline constexpr std::string_view kLowQueue = "tidemark-jobs-low";
inline constexpr std::string_view kPoisonQueue = "tidemark-jobs-poison";
/// The name of the queues of the priorities in specs, records and settings.
inline constexpr std::string_view kDefaultQueue = "default";

/// Tells whether users may give a queue this name: 1 to 40 lower-case letters, digits and single hyphens inside, except
/// names that are taken.
bool is_own_queue(std::string_view name);
inline constexpr std::size_t kMaxQueueName = 40;
inline constexpr const char* kQueueNamePattern = "^[a-z0-9]+(-[a-z0-9]+)*$";
/// The rule of is_own_queue() in words, for a message about another name.
inline constexpr std::string_view kQueueNameRule =
    "must have 1 to 40 lower-case letters, digits and single hyphens between them, and be none of high, low, poison "
    "and what ends with -poison; default stands for the queues of the priorities";
/// Returns the queue for the name that a user gave it.
std::string own_queue(std::string_view name);
/// Returns the queue for a job.
std::string queue_of(const JobSpec& spec);
/// Returns "default", or the name that a user gave the queue; empty if it is not a queue of jobs.
std::string_view name_of_queue(std::string_view queue);
inline bool is_job_queue(std::string_view queue) { return !name_of_queue(queue).empty(); }

}  // namespace tidemark::jobs
