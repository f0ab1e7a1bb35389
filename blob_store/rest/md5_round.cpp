#include "blob_store/rest/md5_round.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "blob_store/rest/md5_lanes.h"
#include "common/base/mutex.h"

namespace tidemark::blob_store {
namespace {

/// Bodies that wait for the same computation. The turn that computes owns the round, so the round goes away with the
/// executor that all the bodies share.
class Round {
 public:
  using Tell = std::move_only_function<void(std::string)>;

  explicit Round(Executor executor) : executor_(std::move(executor)) {}
  /// Returns false, and takes nothing, if the computation has begun or the executor is another one.
  bool join(const Executor& executor, std::string_view body, Tell& tell) {
    MutexLock lock(mutex_);
    if (begun_ || executor != executor_) return false;
    bodies_.push_back(body);
    waiting_.push_back(std::move(tell));
    return true;
  }
  void finish() {
    std::vector<Tell> waiting;
    std::vector<std::string_view> bodies;
    {
      MutexLock lock(mutex_);
      begun_ = true;
      waiting.swap(waiting_);
      bodies.swap(bodies_);
    }
    auto sums = md5_of_all(bodies);
    for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i](std::move(sums[i]));
  }

 private:
  const Executor executor_;
  Mutex mutex_;
  bool begun_ GUARDED_BY(mutex_) = false;
  std::vector<std::string_view> bodies_ GUARDED_BY(mutex_);
  std::vector<Tell> waiting_ GUARDED_BY(mutex_);
};

thread_local std::weak_ptr<Round> next_round;  // only a hint: it may have begun

void wait_for_round(const Executor& executor, std::string_view body, Round::Tell tell) {
  if (const auto round = next_round.lock(); round && round->join(executor, body, tell)) return;
  auto round = std::make_shared<Round>(executor);
  round->join(executor, body, tell);
  next_round = round;
  asio::post(executor, [round = std::move(round)] { round->finish(); });
}

}  // namespace

Task<std::string> md5_with_others(std::string_view body) {
  auto initiate = [body](auto handler) {
    const Executor executor =
        asio::prefer(asio::get_associated_executor(handler), asio::execution::outstanding_work.tracked);
    auto tell = [executor, handler = std::move(handler)](std::string sum) mutable {
      asio::dispatch(executor,
                     [handler = std::move(handler), sum = std::move(sum)]() mutable { handler(std::move(sum)); });
    };
    wait_for_round(executor, body, std::move(tell));
  };
  return asio::async_initiate<decltype(asio::use_awaitable), void(std::string)>(initiate, asio::use_awaitable);
}

}  // namespace tidemark::blob_store
