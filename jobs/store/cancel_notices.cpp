#include "jobs/store/cancel_notices.h"

#include <fmt/format.h>

#include "common/base/numbers.h"
#include "jobs/store/fields.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

constexpr std::tuple kNoticeFields{Field{"JobId", &CancelNotice::job_id}, Field{"Worker", &CancelNotice::worker},
                                   Field{"Epoch", &CancelNotice::epoch}};

constexpr std::size_t kVersionDigits = 20;

std::string row_from(table_store::Version version) { return fmt::format("{:020}", version); }

}  // namespace

Task<Result<void>> CancelNotices::put(JobRecord cancelled) {
  const CancelNotice notice{cancelled.version, cancelled.id, cancelled.worker, cancelled.epoch};
  table_store::Mutation mutation;
  mutation.kind = table_store::MutationKind::kInsertOrReplace;
  mutation.row_key = row_from(cancelled.version) + "-" + cancelled.id;
  add_properties(mutation.properties, notice, kNoticeFields);
  CO_TRY(co_await change_row(tables_, std::string(kCancelPartition), std::move(mutation)));
  co_return Result<void>{};
}

Task<Result<std::vector<CancelNotice>>> CancelNotices::since(table_store::Version version) {
  auto page = co_await tables_.query(rows_of(kCancelPartition, "RowKey ge '" + row_from(version) + "'"));
  std::vector<CancelNotice> out;
  if (page.failed_with(ErrorCode::kTableNotFound)) co_return out;
  for (const auto& row : CO_TRY(std::move(page)).entities) {
    auto& notice = out.emplace_back();
    notice.version = parse_number<table_store::Version>(row.row_key.substr(0, kVersionDigits)).value_or(0);
    read_properties(row, notice, kNoticeFields);
  }
  co_return out;
}

}  // namespace tidemark::jobs
