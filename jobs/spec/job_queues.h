// The queues in which jobs wait: one for each priority, which together are called "default", and those that people name
// themselves, tidemark-jobs-NAME, so that some work can have workers of its own. A message that any SDK writes to one
// of them is a job. What is given up is in one poison queue, wherever it came from. Pure.
#pragma once
#include <string>
#include <string_view>

namespace tidemark::jobs {

struct JobSpec;

inline constexpr std::string_view kHighQueue = "tidemark-jobs-high";
inline constexpr std::string_view kJobQueue = "tidemark-jobs";
inline constexpr std::string_view kLowQueue = "tidemark-jobs-low";
inline constexpr std::string_view kPoisonQueue = "tidemark-jobs-poison";
/// In specs, records and settings: the queues of the priorities.
inline constexpr std::string_view kDefaultQueue = "default";

/// Whether people may give a queue this name: 1 to 40 lower-case letters, digits and single hyphens inside, and no name
/// that is taken.
bool is_own_queue(std::string_view name);
/// is_own_queue() in words, for whoever gave another name.
inline constexpr std::string_view kQueueNameRule =
    "must have 1 to 40 lower-case letters, digits and single hyphens between them, and be none of high, low, poison "
    "and what ends with -poison; default stands for the queues of the priorities";
/// The queue that an own name stands for.
std::string own_queue(std::string_view name);
/// Where a job is put that says no more than this.
std::string queue_of(const JobSpec& spec);
/// "default", or the name that people gave it; empty if it is no queue of jobs.
std::string_view name_of_queue(std::string_view queue);
inline bool is_job_queue(std::string_view queue) { return !name_of_queue(queue).empty(); }

}  // namespace tidemark::jobs
