#include "api/rest/stored_figures.h"

#include "api/rest/api_routes.h"
#include "api/rest/feed_metrics.h"
#include "api/rest/index_metrics.h"
#include "common/process/failures.h"

namespace tidemark::api {
namespace {

constexpr Duration kFiguresPatience = std::chrono::seconds(1);

Task<std::string> collect(Api& api) {
  std::string text;
  for (auto* const read : {&index_metrics, &feed_metrics}) {
    auto figures = co_await read(api);
    if (figures) {
      text += *figures;
    } else {
      process::log_failed_task("api.metrics", figures.error());
    }
  }
  co_return text;
}

}  // namespace

Task<std::string> StoredFigures::read(Api& api) {
  const auto ticket = told_.ticket();
  bool asks = false;
  {
    MutexLock lock(mutex_);
    asks = !std::exchange(asking_, true);
  }
  if (asks) spawn(co_await asio::this_coro::executor, refresh(shared_from_this(), api));
  if (!co_await told_.wait(ticket, api.clock, kFiguresPatience)) co_return std::string();
  MutexLock lock(mutex_);
  co_return text_;
}

Task<void> StoredFigures::refresh(std::shared_ptr<StoredFigures> self, Api& api) {
  auto text = co_await collect(api);
  {
    MutexLock lock(self->mutex_);
    self->text_ = std::move(text);
    self->asking_ = false;
  }
  self->told_.notify_all();
}

}  // namespace tidemark::api
