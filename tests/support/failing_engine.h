// An engine in memory that refuses transactions from some moment on, like a disk that fails while several shards are
// being changed.
#pragma once
#include <memory>
#include <optional>

#include "tests/support/memory_engine.h"

namespace tidemark::kv {

/// The number of transactions that several engines may still run altogether; nothing: no limit.
using Allowance = std::shared_ptr<std::optional<std::size_t>>;

class FailingEngine final : public Engine {
 public:
  explicit FailingEngine(Allowance left) : left_(std::move(left)) {}
  [[nodiscard]] std::shared_ptr<const Reader> snapshot() const override { return engine_->snapshot(); }
  void submit(TransactionBody body, Completion done) override {
    if (*left_ && **left_ == 0) return done(fail(ErrorCode::kServerBusy));
    if (*left_) --**left_;
    engine_->submit(std::move(body), std::move(done));
  }
  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override {
    engine_->erase_ranges(std::move(ranges), std::move(done));
  }
  [[nodiscard]] std::size_t queue_depth() const override { return 0; }

 private:
  Allowance left_;
  std::unique_ptr<Engine> engine_ = make_memory_engine();
};

}  // namespace tidemark::kv
