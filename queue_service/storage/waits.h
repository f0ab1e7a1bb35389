// The waits under way: how many, and those that can be cancelled by a token. A cancellation that comes before its wait
// is remembered for it, the latest thousand of them. Thread safe.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "common/base/mutex.h"
#include "queue_service/storage/arrivals.h"

namespace tidemark::queue_service {

class Waits {
 public:
  /// One wait, from its construction on.
  class Ticket {
   public:
    Ticket(Waits& waits, std::string token, std::shared_ptr<Arrivals::Gate> gate)
        : waits_(waits), token_(std::move(token)) {
      waits_.count_.fetch_add(1);
      if (token_.empty()) return;
      MutexLock lock(waits_.mutex_);
      cancelled_->store(std::erase(waits_.early_, token_) > 0);
      waits_.by_token_.insert_or_assign(token_, Entry{cancelled_, std::move(gate)});
    }
    ~Ticket() {
      waits_.count_.fetch_sub(1);
      if (token_.empty()) return;
      MutexLock lock(waits_.mutex_);
      const auto found = waits_.by_token_.find(token_);
      if (found != waits_.by_token_.end() && found->second.cancelled == cancelled_) waits_.by_token_.erase(found);
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    [[nodiscard]] bool cancelled() const { return cancelled_->load(); }

   private:
    Waits& waits_;
    std::string token_;
    std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  };

  void cancel(const std::string& token) {
    std::shared_ptr<Arrivals::Gate> gate;
    {
      MutexLock lock(mutex_);
      const auto found = by_token_.find(token);
      if (found == by_token_.end()) {
        early_.push_back(token);
        if (early_.size() > kMaxEarly) early_.pop_front();
        return;
      }
      found->second.cancelled->store(true);
      gate = found->second.gate;
    }
    gate->changed();
  }
  [[nodiscard]] std::size_t count() const { return count_.load(); }

 private:
  struct Entry {
    std::shared_ptr<std::atomic<bool>> cancelled;
    std::shared_ptr<Arrivals::Gate> gate;
  };
  std::atomic<std::size_t> count_{0};
  Mutex mutex_;
  std::map<std::string, Entry> by_token_ GUARDED_BY(mutex_);
  static constexpr std::size_t kMaxEarly = 1000;
  std::deque<std::string> early_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::queue_service
