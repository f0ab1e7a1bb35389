// The queues in which jobs wait: one for each priority, which together are called "default", and those that users name,
// tidemark-jobs-NAME, so that some work can have workers of its own. A message that any SDK writes to one of them is a
// job. Jobs of a kind that users have declared wait in queues of their own, tidemark-work-KIND-vVERSION and for the
// other priorities ...-high and ...-low, which together are called "KIND@VERSION". Jobs that are given up are in one
// poison queue, regardless of the queue that they came from. Pure.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
/// Returns "default", the name that a user gave the queue, or "KIND@VERSION"; empty if it is not a queue of jobs.
std::string name_of_queue(std::string_view queue);
/// Returns the queues of a name that name_of_queue() returns; the one for the priority normal comes first.
std::vector<std::string> queues_named(std::string_view name);

/// A version of a kind that users have declared.
struct KindVersion {
  std::string kind;
  std::uint32_t version = 1;
  auto operator<=>(const KindVersion&) const = default;
};
/// Returns "KIND@VERSION".
std::string text_of(const KindVersion& of);
/// Parses "KIND@VERSION", or "KIND", which stands for version 1.
std::optional<KindVersion> kind_version_in(std::string_view text);
/// Returns its queues, in the order high, normal, low.
std::array<std::string, 3> work_queues(const KindVersion& of);
/// The beginning of the names of all such queues.
inline constexpr std::string_view kWorkPrefix = "tidemark-work-";

inline bool is_job_queue(std::string_view queue) { return !name_of_queue(queue).empty(); }

}  // namespace tidemark::jobs
