#include "api/cli/poison_selection.h"

#include <CLI/CLI.hpp>

#include "api/cli/answers.h"
#include "api/cli/short_ids.h"

namespace tidemark::cli {

void PoisonQueue::declare(CLI::App& command) {
  command.add_option("--queue", name, "a queue of yours, whose poison is in NAME-poison; without it, the jobs' own");
}

Result<std::string> PoisonQueue::path(const GlobalOptions& options, const std::string& id,
                                      const std::string& ending) const {
  auto api = TRY(ApiClient::create(options));
  return item_path("poison", TRY(whole(api, id)), ending) + query_of({{"queue", name}});
}

Result<std::string> PoisonQueue::whole(ApiClient& api, const std::string& id) const {
  return whole_id(api, "/v1/poison" + query_of({{"queue", name}}), "poison", id);
}

void PoisonFilter::declare(CLI::App& command) {
  command.add_option("--kind", kind, "of this kind of job; unknown if it is not a job");
  command.add_option("--source", source, "of jobs that read this table");
  command.add_option("--fingerprint", fingerprint, "with this kind of failure, as shown by `poison groups`");
  accept_local_time(*command.add_option("--moved-after", moved_after, "that became poison at or after this time"));
  accept_local_time(*command.add_option("--moved-before", moved_before, "and before this time"));
}

bool PoisonFilter::empty() const {
  return kind.empty() && source.empty() && fingerprint.empty() && moved_after.empty() && moved_before.empty();
}

std::string PoisonFilter::query(const PoisonQueue& queue) const {
  return query_of({{"kind", kind},
                   {"source", source},
                   {"fingerprint", fingerprint},
                   {"movedAfter", moved_after},
                   {"movedBefore", moved_before},
                   {"queue", queue.name}});
}

void PoisonSelection::declare(CLI::App& command) {
  command.add_option("id", ids, "the message's id, or the job's; several at once, or none with a filter");
  queue.declare(command);
  filter.declare(command);
  command.add_flag("--all", all, "all poison messages there are");
  command.add_flag("--yes", yes, "do not ask");
}

std::string PoisonSelection::problem() const {
  if (!queue.name.empty() && !filter.empty()) {
    return "the messages of a queue of yours are selected by their ids, or by --all: nothing else is known of them";
  }
  const auto ways = (ids.empty() ? 0 : 1) + (filter.empty() ? 0 : 1) + (all ? 1 : 0);
  if (ways > 1) return "ids, a filter and --all exclude each other";
  if (ways == 1) return {};
  return "name messages, or select them by --kind, --source, --fingerprint, --moved-after and --moved-before, or take "
         "--all";
}

}  // namespace tidemark::cli
