// An engine in memory that refuses transactions on demand, like a shard whose disk is full.
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "tests/support/memory_engine.h"

namespace tidemark::kv {

class RefusingEngine final : public Engine {
 public:
  explicit RefusingEngine(std::shared_ptr<MemoryDisk> disk = make_memory_disk())
      : engine_(make_memory_engine(std::move(disk))) {}

  [[nodiscard]] std::shared_ptr<const Reader> snapshot() const override { return engine_->snapshot(); }
  void submit(TransactionBody body, Completion done) override {
    if (refusing) return done(fail(ErrorCode::kServerBusy));
    if (auto before = std::exchange(before_next, nullptr)) before();
    engine_->submit(std::move(body), std::move(done));
  }
  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override {
    if (keeping) return done(fail(ErrorCode::kServerBusy));
    engine_->erase_ranges(std::move(ranges), std::move(done));
  }
  [[nodiscard]] std::size_t queue_depth() const override { return 0; }

  bool refusing = false;
  bool keeping = false;               // erases no ranges
  std::function<void()> before_next;  // is called before the next transaction, once

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace tidemark::kv
