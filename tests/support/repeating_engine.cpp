#include "tests/support/repeating_engine.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "common/base/encoding.h"
#include "common/base/mutex.h"
#include "common/kv/write_overlay.h"

namespace tidemark::kv {
namespace {

/// One of so many first reads of a body fails, in turn.
constexpr std::size_t kFailingReads = 5;
constexpr std::size_t kNever = ~std::size_t{0};

class FailedCursor final : public Cursor {
 public:
  bool valid() const override { return false; }
  void next() override {}
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  Result<void> status() const override { return fail(ErrorCode::kServerBusy); }
};

/// Keeps writes to itself.
class Trial final : public Transaction {
 public:
  Trial(const Reader& below, std::size_t failing_read) : below_(below), left_(failing_read) {}
  Result<std::optional<std::string>> get(std::string_view key) const override {
    if (fails()) return fail(ErrorCode::kServerBusy);
    if (const auto* written = writes_.find(key)) return *written;
    return below_.get(key);
  }
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    if (fails()) return std::make_unique<FailedCursor>();
    return overlaid({&writes_, nullptr}, below_.scan(range, direction), range, direction);
  }
  void put(std::string_view key, std::string_view value) override { writes_.put(key, value); }
  void erase(std::string_view key) override { writes_.erase(key); }
  [[nodiscard]] const WriteOverlay::Rows& writes() const { return writes_.rows(); }

 private:
  [[nodiscard]] bool fails() const { return left_-- == 0; }

  const Reader& below_;
  mutable std::size_t left_;
  WriteOverlay writes_;
};

std::string told(const std::string& key, const WriteOverlay::Value& value) {
  return hex_encode(key) + (value ? " = " + hex_encode(*value) : " erased");
}

[[noreturn]] void complain(const Trial& first, const Result<void>& before, const Trial& second,
                           const Result<void>& after) {
  std::fprintf(stderr, "a transaction's body did one thing when it was run, and another when it was run again:\n");
  const auto outcome = [](const char* which, const Result<void>& of) {
    std::fprintf(stderr, "  %s: %s\n", which, of ? "done" : of.error().message.c_str());
  };
  outcome("first", before);
  outcome("then", after);
  for (const auto& row : first.writes()) {
    const auto other = second.writes().find(row.first);
    if (other != second.writes().end() && other->second == row.second) continue;
    std::fprintf(stderr, "  first: %s\n", told(row.first, row.second).c_str());
  }
  for (const auto& row : second.writes()) {
    const auto other = first.writes().find(row.first);
    if (other != first.writes().end() && other->second == row.second) continue;
    std::fprintf(stderr, "  then: %s\n", told(row.first, row.second).c_str());
  }
  std::abort();
}

/// State while a body of this thread is run several times.
struct Repetition {
  Repetition() { current = this; }
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;
  ~Repetition() { current = nullptr; }
  std::optional<Time> time;
  static thread_local Repetition* current;
};
thread_local Repetition* Repetition::current = nullptr;

class RepeatableClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override {
    auto* const repetition = Repetition::current;
    if (repetition == nullptr) return system_->now();
    if (!repetition->time) repetition->time = system_->now();
    return *repetition->time;
  }
  [[nodiscard]] Duration monotonic() const override { return system_->monotonic(); }
  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) override {
    return system_->call_after(delay, std::move(executor), std::move(fn));
  }

 private:
  const std::unique_ptr<Clock> system_ = make_system_clock();
};

class RepeatingEngine final : public Engine {
 public:
  explicit RepeatingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  std::shared_ptr<const Reader> snapshot() const override { return engine_->snapshot(); }
  Result<std::optional<std::string>> get(std::string_view key) const override { return engine_->get(key); }
  void submit(TransactionBody body, Completion done) override {
    const auto failing = submitted_++ % kFailingReads;
    TransactionBody repeated = [body = std::move(body), failing, earlier = before_the_latest()](Transaction& txn) {
      return repeat(body, txn, *earlier, failing);
    };
    engine_->submit(std::move(repeated), std::move(done));
  }
  void refuse_writes(std::optional<Error> why) override { engine_->refuse_writes(std::move(why)); }
  std::optional<Error> failure() const override { return engine_->failure(); }
  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override {
    engine_->erase_ranges(std::move(ranges), std::move(done));
  }
  std::size_t queue_depth() const override { return engine_->queue_depth(); }
  EngineMemory memory() const override { return engine_->memory(); }

 private:
  static Result<void> repeat(const TransactionBody& body, Transaction& txn, const Reader& earlier,
                             std::size_t failing) {
    Trial first(txn, kNever), early(earlier, kNever), interrupted(txn, failing), last(txn, kNever);
    Repetition repetition;
    const auto before = body(first);
    static_cast<void>(body(early).has_value());
    static_cast<void>(body(interrupted).has_value());
    auto after = body(last);
    const bool same =
        before.has_value() == after.has_value() &&
        (after ? first.writes() == last.writes()
               : before.error().code == after.error().code && before.error().message == after.error().message);
    if (!same) complain(first, before, last, after);
    TRY(after);
    for (const auto& [key, value] : last.writes()) {
      if (value) {
        txn.put(key, *value);
      } else {
        txn.erase(key);
      }
    }
    return {};
  }

  /// Returns the contents at the time when the transaction before this one was submitted.
  std::shared_ptr<const Reader> before_the_latest() {
    MutexLock lock(mutex_);
    auto earlier = std::exchange(now_, engine_->snapshot());
    return earlier ? earlier : now_;
  }

  const std::unique_ptr<Engine> engine_;
  std::atomic<std::size_t> submitted_{0};
  Mutex mutex_;
  std::shared_ptr<const Reader> now_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Clock> make_repeatable_clock() { return std::make_unique<RepeatableClock>(); }

std::unique_ptr<Engine> repeat_bodies(std::unique_ptr<Engine> engine) {
  return std::make_unique<RepeatingEngine>(std::move(engine));
}

}  // namespace tidemark::kv
