#include "api/rest/work_facts.h"

namespace tidemark::api {
namespace {

constexpr Duration kFactsGoodFor = std::chrono::seconds(1);

}  // namespace

Task<Result<WorkFacts>> WorkFactReader::look() {
  WorkFacts out;
  out.kinds = CO_TRY(co_await kinds_.all());
  for (const auto& limit : CO_TRY(co_await limits_.list())) {
    if (limit.target.scope == jobs::LimitScope::kKind && limit.paused) out.paused.insert(limit.target.name);
  }
  for (auto& worker : CO_TRY(co_await workers_.list(1000, {})).workers) {
    if (worker.own && worker.quiet) out.quiet.insert(std::move(worker.name));
  }
  co_return out;
}

Task<Result<std::shared_ptr<const WorkFacts>>> WorkFactReader::read(bool fresh) {
  const auto now = clock_.monotonic();
  if (known_ && !fresh && now - read_at_ < kFactsGoodFor) co_return known_;
  if (known_) read_at_ = now;  // one caller reads; the others go on with the facts of before
  auto seen = co_await look();
  if (!seen && !known_) co_return fail(std::move(seen.error()));
  if (seen) {
    known_ = std::make_shared<const WorkFacts>(std::move(*seen));
    read_at_ = now;
  }
  co_return known_;
}

}  // namespace tidemark::api
