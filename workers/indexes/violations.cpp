#include "workers/indexes/violations.h"

#include <nlohmann/json.hpp>

#include "common/base/json.h"
#include "common/process/failures.h"
#include "jobs/store/endings.h"
#include "jobs/store/rows.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;

constexpr Duration kTellAgain = std::chrono::seconds(1);

}  // namespace

Task<void> ViolationsTeller::tell(const indexes::Index& index) {
  if (!to_tell_ || clock_.monotonic() < tell_at_) co_return;
  const auto* lists = std::get_if<indexes::ListsKind>(&index.definition.kind);
  to_tell_ = lists != nullptr && lists->on_violation;
  if (!to_tell_) co_return;
  auto told = co_await tell_some(index, *lists->on_violation);
  if (told) co_return;
  process::log_failed_task("worker.index.violations " + index.name, told.error());
  to_tell_ = true;
  tell_at_ = clock_.monotonic() + kTellAgain;
}

/// The id of each job follows from the note, so each owner that finds the note submits the same job.
Task<Result<void>> ViolationsTeller::tell_some(const indexes::Index& index, jobs::CallbackEndpoint endpoint) {
  const auto page = CO_TRY(co_await store_.untold(index.id));
  for (std::size_t i = 0; i < page.violations.size(); ++i) {
    const auto& violation = page.violations[i];
    const Time noted(Ticks(page.versions[i]));
    json data = {{"index", index.name}, {"group", violation.group}, {"count", violation.count}};
    data["examples"] = json_or_discarded(violation.examples);
    const json body = {{"type", "index.violated"}, {"timestamp", to_iso8601(noted)}, {"data", std::move(data)}};
    auto id = jobs::job_id_of_message(noted, "violation\n" + index.id + "\n" + violation.group);
    auto job = jobs::telling_job(endpoint, body, jobs::Priority::kNormal);
    CO_TRY(co_await jobs_.submit(std::move(job), std::move(id)));
    CO_TRY(co_await store_.note_told(index.id, violation.group, page.versions[i]));
  }
  to_tell_ = !page.continuation.empty();
  co_return Result<void>{};
}

}  // namespace tidemark::workers
