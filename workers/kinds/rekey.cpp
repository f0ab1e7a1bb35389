#include "jobs/kinds/rekey/rekey.h"

#include "workers/kinds/archive/mover.h"
#include "workers/kinds/archive/table_side.h"
#include "workers/kinds/rekey_side.h"

namespace tidemark::workers {

namespace {
constexpr std::size_t kVersionDigits = 20;
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::RekeySpec spec) {
  auto reach = spec.reach();
  Selected selected{reach.from.table, reach.selection.filter.value_or(""), ""};
  // A page's note also contains the new keys and two versions.
  selected.noted_bytes = [reach](const Entity& entity) {
    const auto key = reach.key_for(entity);
    return key ? key->partition_key.size() + key->row_key.size() + 2 * kVersionDigits : 0;
  };
  auto from = std::make_unique<TableSide>(context, std::move(selected), TableRole{});
  auto to = std::make_unique<RekeySide>(context, reach);
  co_return co_await run_move(context, std::move(reach), std::move(from), std::move(to));
}

}  // namespace tidemark::workers
