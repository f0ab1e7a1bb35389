#include "common/postgres/postgres_reads.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "common/postgres/postgres_hosts.h"

namespace tidemark::kv::detail {
namespace {

constexpr std::size_t kMostIdle = 16;
// The rows that a walk fetches: few at first, since most walks end soon, then as many as have about this many bytes.
constexpr std::size_t kFirstRows = 16;
constexpr std::size_t kMostRows = 1024;
constexpr std::size_t kBytesAtOnce = 1UL << 20;
constexpr std::size_t kKeysAtOnce = 64;

const Prepared kGet{"get", "SELECT value FROM entries WHERE shard = $1::bigint AND key = $2::bytea"};
const Prepared kGetAll{"get_all", "SELECT key, value FROM entries WHERE shard = $1::bigint AND key = ANY($2::bytea[])"};
const Prepared kBegin{"begin", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
const Prepared kTakeSnapshot{"take_snapshot", "SELECT 1"};  // the first statement takes the snapshot, not BEGIN
const Prepared kEnd{"end", "COMMIT"};
const Prepared kEpoch{"epoch", "SELECT epoch FROM owners WHERE shard = $1::bigint"};

std::optional<std::string> value_in(const SqlRows& rows) {
  return rows.size() == 0 ? std::nullopt : std::optional(std::string(rows.bytes(0, 0)));
}

}  // namespace

/// A transaction of PostgreSQL, which sees the commits up to its beginning.
class Reads::Moment {
 public:
  Moment(std::shared_ptr<Reads> reads, Link link, std::uint64_t changes)
      : reads_(std::move(reads)), changes_(changes), link_(std::move(link)) {}
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  ~Moment() {
    link_->send({kEnd});
    reads_->give_back(std::move(link_));
    MutexLock lock(reads_->mutex_);
    --reads_->moments_;
  }

  Result<SqlRows> run(const Statement& statement) {
    MutexLock lock(mutex_);
    auto rows = link_->run(statement, reads_->options_.read_patience);
    if (link_->lost()) lost_ = true;
    return rows;
  }
  /// True if nothing more can be read.
  [[nodiscard]] bool lost() const { return lost_; }
  /// True if it shows all that any reader can see now: no change was on its way when it began, and none was sent since.
  [[nodiscard]] bool shows(std::uint64_t changes) const { return changes_ == changes && changes % 2 == 0; }
  [[nodiscard]] std::int64_t shard() const { return reads_->options_.shard; }

 private:
  const std::shared_ptr<Reads> reads_;
  const std::uint64_t changes_;  // the count when it began
  std::atomic<bool> lost_{false};
  Mutex mutex_;
  Link link_ GUARDED_BY(mutex_);
};

class Reads::Walk final : public Cursor {
 public:
  Walk(Result<std::shared_ptr<Moment>> moment, KeyRange range, Direction direction)
      : moment_(std::move(moment)), left_(std::move(range)), direction_(direction) {
    fetch();
  }
  bool valid() const override { return rows_ && row_ < rows_->size(); }
  std::string_view key() const override { return rows_->bytes(row_, 0); }
  std::string_view value() const override { return rows_->bytes(row_, 1); }
  Result<void> status() const override { return failure_ ? fail(*failure_) : Result<void>(); }
  void next() override {
    bytes_ += key().size() + value().size();
    ++row_;
    if (row_ < rows_->size() || row_ < limit_) return;
    const auto last = rows_->bytes(row_ - 1, 0);
    if (direction_ == Direction::kForward) {
      left_.lower.assign(last).push_back('\0');
    } else {
      left_.upper.assign(last);
    }
    const auto average = bytes_ / row_ + 1;
    limit_ = std::clamp(std::min(4 * limit_, kBytesAtOnce / average), std::size_t{1}, kMostRows);
    bytes_ = 0;
    fetch();
  }

 private:
  void fetch() {
    rows_.reset();
    row_ = 0;
    if (!moment_) {
      failure_ = moment_.error();
      return;
    }
    // No key is before the empty key, and an empty upper bound would mean "to the end".
    const bool at_the_end = begun_ && direction_ == Direction::kReverse && left_.upper.empty();
    begun_ = true;
    if (at_the_end || (!left_.upper.empty() && left_.upper <= left_.lower)) return;
    auto fetched = (*moment_)->run(range_statement((*moment_)->shard(), left_, direction_, limit_));
    if (fetched) {
      rows_.emplace(std::move(*fetched));
    } else {
      failure_ = fetched.error();
    }
  }

  const Result<std::shared_ptr<Moment>> moment_;
  KeyRange left_;
  const Direction direction_;
  std::size_t limit_ = kFirstRows;
  std::optional<SqlRows> rows_;
  std::size_t row_ = 0;
  std::size_t bytes_ = 0;  // of the rows of this fetch
  bool begun_ = false;
  std::optional<Error> failure_;
};

class Reads::Snapshot final : public Reader {
 public:
  explicit Snapshot(Result<std::shared_ptr<Moment>> moment) : moment_(std::move(moment)) {}
  Result<std::optional<std::string>> get(std::string_view key) const override {
    const auto moment = TRY(moment_);
    return value_in(TRY(moment->run({kGet, Parameters().number(moment->shard()).bytes(key)})));
  }
  Result<void> get_all(std::span<const std::string> keys, const Told& told) const override {
    const auto moment = TRY(moment_);
    for (std::size_t first = 0; first < keys.size(); first += kKeysAtOnce) {
      const auto some = keys.subspan(first, std::min(kKeysAtOnce, keys.size() - first));
      const auto rows =
          TRY(moment->run({kGetAll, Parameters().number(moment->shard()).list({some.begin(), some.end()})}));
      std::map<std::string_view, std::string_view> found;
      for (std::size_t row = 0; row < rows.size(); ++row) found.emplace(rows.bytes(row, 0), rows.bytes(row, 1));
      for (std::size_t i = 0; i < some.size(); ++i) {
        const auto at = found.find(some[i]);
        TRY(told(first + i, at == found.end() ? std::nullopt : std::optional(at->second)));
      }
    }
    return {};
  }
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override {
    return std::make_unique<Walk>(moment_, range, direction);
  }

 private:
  const Result<std::shared_ptr<Moment>> moment_;
};

Result<std::optional<std::string>> Reads::get(std::string_view key) {
  const Statement statement{kGet, Parameters().number(options_.shard).bytes(key)};
  for (int tries = 1;; ++tries) {
    auto link = TRY(take());
    auto found = link->run(statement, options_.read_patience);
    const bool stale = !found && link->lost() && tries == 1;  // the server was restarted while the link was idle
    give_back(std::move(link));
    if (stale) continue;
    return value_in(TRY(std::move(found)));
  }
}

std::shared_ptr<const Reader> Reads::snapshot() {
  auto shared = shared_moment();
  return std::make_shared<Snapshot>(shared ? Begun(std::move(shared)) : next_moment());
}

std::shared_ptr<const Reader> Reads::fresh_snapshot() { return std::make_shared<Snapshot>(next_moment()); }

/// Returns null if no moment shows all that any reader may have seen by now.
std::shared_ptr<Reads::Moment> Reads::shared_moment() {
  std::shared_ptr<Moment> latest;  // outlives the lock, which its destructor takes
  const MutexLock lock(mutex_);
  latest = latest_.lock();
  return latest && latest->shows(changes_) && !latest->lost() ? latest : nullptr;
}

/// Begins one moment at a time, for all threads that asked before: each time a change is on its way, many ask at once.
Reads::Begun Reads::next_moment() {
  std::shared_ptr<Beginning> mine;  // outlives the lock, as above
  MutexLock lock(mutex_);
  if (!next_) next_ = std::make_shared<Beginning>();
  mine = next_;
  while (beginning_ && !mine->outcome) begun_.wait(mutex_);
  if (!mine->outcome) {
    next_.reset();
    beginning_ = true;
    lock.unlock();
    auto begun = begin_moment();
    lock.lock();
    beginning_ = false;
    mine->outcome = std::move(begun);
    begun_.notify_all();
  }
  return *mine->outcome;
}

Reads::Begun Reads::begin_moment() {
  const auto changes = changes_.load();
  {
    const MutexLock lock(mutex_);
    if (moments_ >= options_.max_snapshots) {
      return fail(error_for_log(ErrorCode::kServerBusy, "too many snapshots of the database are open"));
    }
    ++moments_;
  }
  auto link = begin_transaction();
  const MutexLock lock(mutex_);
  if (!link) {
    --moments_;
    return fail(std::move(link.error()));
  }
  auto moment = std::make_shared<Moment>(shared_from_this(), std::move(*link), changes);
  latest_ = moment;
  return moment;
}

Result<Reads::Link> Reads::begin_transaction() {
  for (int tries = 1;; ++tries) {
    auto link = TRY(take());
    const Statement statements[] = {{kBegin}, {kTakeSnapshot}};
    auto begun = link->run(statements, options_.read_patience);
    if (begun) return link;
    const bool stale = link->lost() && tries == 1;
    give_back(std::move(link));
    if (!stale) return fail(std::move(begun.error()));
  }
}

void Reads::know(std::int64_t epoch) {
  auto known = epoch_.load();
  while (known < epoch && !epoch_.compare_exchange_weak(known, epoch)) {
  }
}

Result<Reads::Link> Reads::take() {
  const auto known = epoch_.load();
  const auto& hosts = DatabaseHosts::of_process();
  const auto silences = hosts.silences(options_.url);
  {
    MutexLock lock(mutex_);
    std::erase_if(idle_, [&](const Link& link) { return link.epoch < known || link.silences < silences; });
    if (!idle_.empty()) {
      auto link = std::move(idle_.back());
      idle_.pop_back();
      return link;
    }
  }
  // The calling thread has other clients to serve.
  if (hosts.seems_away(options_.url, std::chrono::steady_clock::now())) {
    return fail(ErrorCode::kServerBusy, "The database of this store cannot be reached.");
  }
  Link link{TRY(connect(options_)), silences};
  const auto found = TRY(link->run({kEpoch, Parameters().number(options_.shard)}, options_.read_patience));
  if (found.size() > 0) link.epoch = found.number(0, 0);
  if (link.epoch < epoch_.load()) {
    return fail(error_for_log(ErrorCode::kServerBusy, "this server of the database is not the leader any more"));
  }
  know(link.epoch);
  return link;
}

void Reads::give_back(Link link) {
  if (link->lost()) return DatabaseHosts::of_process().fell_silent(options_.url);
  MutexLock lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(link));
}

}  // namespace tidemark::kv::detail
