#include "blob_store/storage/collector.h"

#include <algorithm>
#include <ranges>

#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/kept_blobs.h"
#include "common/kv/generations.h"
#include "common/process/failures.h"

namespace tidemark::blob_store {
namespace {

const FailStep kCollectPayloadsStep("blob.collect_payloads");
const FailStep kAbandonStep("blob.abandon");
const FailStep kPurgeStep("blob.purge_deleted");
const FailStep kSettleStep("blob.settle_kept");
const FailStep kCollectGenerationStep("blob.collect_generation");

constexpr std::size_t kDeadPerStep = 256;
constexpr std::size_t kKeptPerStep = 256;
constexpr std::size_t kKeysPerStep = 2048;
constexpr std::size_t kSummariesPerTurn = 256;
constexpr std::size_t kExtentsPerStep = 1024;
constexpr Duration kStagedLifetime = std::chrono::hours(7 * 24);
constexpr Duration kUpkeepInterval = std::chrono::minutes(1);  // for work that becomes due with time
constexpr Duration kStagedCheck = std::chrono::hours(1);
constexpr Duration kLateCheck = std::chrono::hours(1);
// The pause after a failed pass; it doubles with each further failure.
constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::minutes(1);
constexpr std::size_t kLooksPerPass = 1024;  // the average number of waiting dead rows that a pass looks at
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

std::uint64_t ticks_of(Time time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }

using Entries = std::vector<std::pair<std::string, std::string>>;

// Reads at most `limit` entries; they are copied, since a cursor must not outlive a write.
Result<Entries> read_some(const kv::Reader& reader, const kv::KeyRange& range, std::size_t limit) {
  Entries found;
  const auto cursor = reader.scan(range);
  for (; cursor->valid() && found.size() < limit; cursor->next()) {
    found.emplace_back(cursor->key(), cursor->value());
  }
  TRY(cursor->status());
  return found;
}

Result<bool> any_row(const kv::Reader& reader, const kv::KeyRange& range) {
  const auto cursor = reader.scan(range);
  TRY(cursor->status());
  return cursor->valid();
}

/// Returns the oldest payload of a dead content.
Result<PayloadId> oldest_payload(const kv::Reader& reader, std::uint64_t content) {
  auto oldest = std::numeric_limits<PayloadId>::max();
  const auto cursor = reader.scan(blob_keys::extents(content));
  for (; cursor->valid(); cursor->next()) {
    oldest = std::min(oldest, TRY(records::kExtent.decode(cursor->value())).payload);
  }
  TRY(cursor->status());
  return oldest;
}

/// Buries a pending payload whose file may still be made.
Result<void> bury_unfinished(kv::Transaction& txn, PayloadId payload, std::uint64_t made_until) {
  if (!TRY(txn.get(blob_keys::pending(payload)))) return {};
  txn.put(blob_keys::late_file(payload), records::encode_number(made_until));
  return bury_pending(txn, payload);
}

/// Gives up the content of an entry of a dead generation.
Result<void> release_entry(kv::Transaction& txn, char kind, std::string_view value) {
  if (kind == 'B') return release(txn, TRY(records::kBlob.decode(value)).content);
  if (kind == blob_keys::kSnapshot || kind == blob_keys::kDeleted) {
    return release(txn, TRY(records::kKeptBlob.decode(value)).blob.content);
  }
  if (kind == 'K') return release_payload(txn, TRY(records::kStagedBlock.decode(value)).payload);
  return {};
}

/// Drops some keys of one kind of a dead generation. Returns how many.
Result<std::size_t> drop_keys(kv::Transaction& txn, char kind, std::uint64_t generation) {
  const auto found = TRY(read_some(txn, blob_keys::all(kind, generation), kKeysPerStep));
  for (const auto& [key, value] : found) {
    TRY(release_entry(txn, kind, value));
    txn.erase(key);
  }
  return found.size();
}

}  // namespace

void Collector::start(Former former) {
  rests_ = false;
  engine_.submit(
      [former, late = ticks_of(ages_.now() + kLongestUpload)](kv::Transaction& txn) -> Result<void> {
        auto found = TRY(read_some(txn, blob_keys::all('Q'), kMost));
        for (const auto& entry : found) {
          const auto payload = blob_keys::number(entry.first);
          TRY(former == Former::kMayWrite ? bury_unfinished(txn, payload, late) : bury_pending(txn, payload));
        }
        return {};
      },
      [this](const Result<void>& done) {
        if (!done && !rests_) process::log_failed_task("blob.collect_unfinished_uploads", done.error());
        kick();  // not earlier: the pass would find nothing
        woken_.notify_all();
      });
}

void Collector::rest() { rests_ = true; }

void Collector::stop() {
  stopping_ = true;
  woken_.notify_all();
}

void Collector::kick() {
  if (wanted_.fetch_add(1) == 0) spawn(background_, run(this));
}

void Collector::remind() {
  if (ages_.now().time_since_epoch().count() - last_pass_.load() > kUpkeepInterval.count()) kick();
}

Task<void> Collector::run(Collector* self) {
  auto pause = kFirstPause;
  while (!self->stopping_) {
    const int seen = self->wanted_.load();
    const auto ticket = self->woken_.ticket();
    const auto done = co_await self->collect();
    if (self->stopping_) co_return;
    if (!done) {
      if (!self->rests_) process::log_failed_task("blob.collect", done.error());
      co_await self->woken_.wait(ticket, self->clock_, pause);
      pause = std::min(2 * pause, kLongestPause);
      continue;
    }
    pause = kFirstPause;
    int expected = seen;
    if (self->wanted_.compare_exchange_strong(expected, 0)) co_return;
  }
}

Result<void> bury_pending(kv::Transaction& txn, PayloadId payload) {
  const auto pending = blob_keys::pending(payload);
  if (!TRY(txn.get(pending))) return {};
  txn.erase(pending);
  txn.put(blob_keys::dead(payload), records::kDead.encode({}));
  return {};
}

Task<Result<void>> Collector::give_up(std::vector<PayloadId> payloads) {
  const auto late = ticks_of(ages_.now() + kLongestUpload);
  return engine_.transact(
      [payloads = std::move(payloads), late](kv::Transaction& txn) -> Result<void> {
        for (const auto payload : payloads) TRY(bury_unfinished(txn, payload, late));
        return {};
      },
      &kAbandonStep);
}

void Collector::abandon(PayloadId payload) {
  {
    MutexLock lock(mutex_);
    abandoned_.push_back(payload);
  }
  kick();
}

/// Settles a bounded number of payloads at a time. Only the pass takes them out, and others are added at the end.
Task<Result<void>> Collector::settle_abandoned() {
  while (true) {
    std::vector<PayloadId> some;
    {
      MutexLock lock(mutex_);
      std::ranges::copy(abandoned_ | std::views::take(kDeadPerStep), std::back_inserter(some));
    }
    if (some.empty()) co_return Result<void>{};
    CO_TRY(co_await settle(some));
    MutexLock lock(mutex_);
    abandoned_.erase(abandoned_.begin(), abandoned_.begin() + std::ssize(some));
  }
}

Task<Result<void>> Collector::settle(const std::vector<PayloadId>& abandoned) {
  if (rests_) co_return tell_owner_ ? co_await tell_owner_(abandoned) : Result<void>();
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        for (const auto payload : abandoned) TRY(bury_pending(txn, payload));
        return {};
      },
      &kAbandonStep));
  // Payloads that were given up before may have got their files afterwards.
  std::vector<PayloadId> late;
  for (const auto payload : abandoned) {
    if (CO_TRY(engine_.get(blob_keys::late_file(payload)))) late.push_back(payload);
  }
  if (late.empty() || CO_TRY(co_await files_.remove(std::move(late)))) co_return Result<void>{};
  co_return fail(ErrorCode::kServerBusy, "A backup keeps the files.");
}

Task<Result<void>> Collector::collect() {
  CO_TRY(co_await settle_abandoned());
  if (rests_) co_return Result<void>{};
  last_pass_ = ages_.now().time_since_epoch().count();
  CO_TRY(co_await expire_staged());
  CO_TRY(co_await settle_kept());
  CO_TRY(co_await purge_deleted());
  const auto erase = [this](std::uint64_t generation) { return empty_generation(generation); };
  CO_TRY(co_await kv::collect_generations(engine_, blob_keys::kDroppedGeneration, erase, kCollectGenerationStep));
  CO_TRY(co_await collect_dead());
  co_return co_await remove_late_files();
}

Task<Result<void>> Collector::expire_staged() {
  const auto now = ages_.now();
  if (now - looked_for_staged_ < kStagedCheck) co_return Result<void>{};
  looked_for_staged_ = now;
  const auto executor = co_await asio::this_coro::executor;
  auto range = blob_keys::all('U');
  while (!range.lower.empty()) {
    const auto page = CO_TRY(read_some(*engine_.snapshot(), range, kSummariesPerTurn));
    range.lower = page.size() < kSummariesPerTurn ? std::string() : page.back().first + '\0';
    for (const auto& [key, value] : page) {
      const auto summary = CO_TRY(records::kStagedSummary.decode(value));
      const auto staged = blob_keys::named_key(key);
      if (!staged || now - summary.last_staged <= kStagedLifetime) continue;
      CO_TRY(co_await drop_old_staged(*staged, now));
    }
    co_await asio::post(executor, asio::use_awaitable);  // requests are served between the turns
  }
  co_return Result<void>{};
}

Task<Result<void>> Collector::settle_kept() {
  // Most passes find nothing, so they need no transaction.
  for (bool more = CO_TRY(any_row(*engine_.snapshot(), blob_keys::all(blob_keys::kKeptMark))); more;) {
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          more = TRY(settle_any(txn));
          return {};
        },
        &kSettleStep));
  }
  co_return Result<void>{};
}

Task<Result<void>> Collector::purge_deleted() {
  const auto now = ages_.now();  // the same in each run of a body, which reads up to this time
  const bool due = CO_TRY(any_row(*engine_.snapshot(), blob_keys::purges_until(now)));
  std::size_t purged = due ? kKeptPerStep : 0;
  while (purged == kKeptPerStep) {
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          purged = TRY(purge_kept(txn, now, kKeptPerStep));
          return {};
        },
        &kPurgeStep));
  }
  co_return Result<void>{};
}

Task<Result<void>> Collector::drop_old_staged(const blob_keys::NamedKey& staged, Time now) {
  return engine_.transact([&staged, now](kv::Transaction& txn) -> Result<void> {
    auto stored = TRY(txn.get(blob_keys::staged_summary(staged.generation, staged.name)));
    if (!stored) return {};
    auto summary = TRY(records::kStagedSummary.decode(*stored));
    // A block may have been added meanwhile.
    if (now - summary.last_staged <= kStagedLifetime) return {};
    return drop_staged(txn, staged.generation, staged.name);
  });
}

// Each pass removes dead rows that have no readers any more. Many rows may wait, so all of them are looked at only once
// in several passes. The same holds for rows that died meanwhile, since the walk passes all that wait.
Task<Result<void>> Collector::collect_dead() {
  ++passes_;
  const auto may_look_at_all = [this] { return passes_ * kLooksPerPass >= known_.size(); };
  // Files that a backup keeps are removed by the pass that begins when the backup lets them go.
  if (!CO_TRY(co_await remove(take_unread(may_look_at_all()))) || !may_look_at_all()) co_return Result<void>{};
  passes_ = 0;
  auto range = blob_keys::all(blob_keys::kDead);
  while (!range.lower.empty()) {
    if (!CO_TRY(co_await remove(CO_TRY(find_unread(range))))) break;
  }
  co_return Result<void>{};
}

/// Returns the unread ones of the first dead rows in the range; the others wait. Empties the lower end after the last.
Result<std::vector<Collector::DeadRow>> Collector::find_unread(kv::KeyRange& range) {
  const auto reader = engine_.snapshot();
  const auto rows = TRY(read_some(*reader, range, kDeadPerStep));
  range.lower = rows.size() < kDeadPerStep ? std::string() : rows.back().first + '\0';
  std::vector<DeadRow> unread;
  for (const auto& [key, value] : rows) {
    const auto dead = TRY(records::kDead.decode(value));
    DeadRow row{blob_keys::number(key), dead.kind};
    if (known_.contains(row.id)) continue;
    const bool read = dead.read_through != 0 && readers_.reads(dead.read_through);
    if (read && dead.read_through != row.id) row.oldest = TRY(oldest_payload(*reader, row.id));
    if (read && may_be_read(dead.read_through, row)) {
      known_.insert(row.id);
      waiting_[dead.read_through].push_back(row);
    } else {
      unread.push_back(row);
    }
  }
  return unread;
}

bool Collector::may_be_read(std::uint64_t content, const DeadRow& row) const {
  return row.id == content ? readers_.reads(content) : readers_.reads(content, row.oldest, row.id);
}

/// Rows that are not removed then are found by the next walk.
std::vector<Collector::DeadRow> Collector::take_unread(bool look_at_all) {
  std::vector<DeadRow> unread;
  for (auto& [content, rows] : waiting_) {
    if (!look_at_all && readers_.reads(content)) continue;
    const auto gone = std::ranges::partition(rows, [&](const DeadRow& row) { return may_be_read(content, row); });
    unread.insert(unread.end(), gone.begin(), gone.end());
    rows.erase(gone.begin(), gone.end());
  }
  std::erase_if(waiting_, [](const auto& of_content) { return of_content.second.empty(); });
  for (const auto& row : unread) known_.erase(row.id);
  return unread;
}

/// Returns false if a backup keeps files that should be removed.
Task<Result<bool>> Collector::remove(std::vector<DeadRow> rows) {
  std::vector<PayloadId> payloads;
  for (const auto& row : rows) {
    if (row.kind == Dead::Kind::kPayload) payloads.push_back(row.id);
    if (row.kind == Dead::Kind::kExtents && !CO_TRY(co_await dissolve(row.id))) co_return false;
  }
  co_return co_await remove_payloads(std::move(payloads));
}

Task<Result<void>> Collector::remove_late_files() {
  const auto now = ages_.now();
  if (now - looked_for_late_ < kLateCheck) co_return Result<void>{};
  looked_for_late_ = now;
  std::vector<PayloadId> due;
  const auto late = CO_TRY(read_some(*engine_.snapshot(), blob_keys::all(blob_keys::kLateFile), kMost));
  for (const auto& [key, when] : late) {
    if (CO_TRY(records::decode_number(when)) <= ticks_of(now)) due.push_back(blob_keys::number(key));
  }
  if (due.empty() || !CO_TRY(co_await files_.remove(due))) co_return Result<void>{};
  co_return co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        for (const auto payload : due) txn.erase(blob_keys::late_file(payload));
        return {};
      },
      &kCollectPayloadsStep);
}

Task<Result<bool>> Collector::remove_payloads(std::vector<PayloadId> payloads) {
  if (payloads.empty()) co_return true;
  std::vector<PayloadId> files;
  std::ranges::copy_if(payloads, std::back_inserter(files), &is_file);
  if (!files.empty() && !CO_TRY(co_await files_.remove(std::move(files)))) co_return false;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        for (const auto payload : payloads) {
          if (!is_file(payload)) txn.erase(blob_keys::payload(payload));
          txn.erase(blob_keys::dead(payload));
        }
        return {};
      },
      &kCollectPayloadsStep));
  co_return true;
}

// Removes a bounded part in each transaction, and then the files that died with it.
Task<Result<bool>> Collector::dissolve(std::uint64_t content) {
  std::vector<PayloadId> died;
  for (bool more = true; more;) {
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          died.clear();
          const auto some = TRY(read_some(txn, blob_keys::extents(content), kExtentsPerStep));
          for (const auto& [key, value] : some) {
            const auto payload = TRY(records::kExtent.decode(value)).payload;
            TRY(release_payload(txn, payload));
            if (TRY(txn.get(blob_keys::dead(payload)))) died.push_back(payload);
            txn.erase(key);
          }
          more = some.size() == kExtentsPerStep;
          if (!more) txn.erase(blob_keys::dead(content));
          return {};
        },
        &kCollectPayloadsStep));
    if (!CO_TRY(co_await remove_payloads(died))) co_return false;
  }
  co_return true;
}

// A container may hold much, so each transaction removes a bounded part of it.
Task<Result<void>> Collector::empty_generation(std::uint64_t generation) {
  for (bool more = true; more;) {
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          more = false;
          for (const char kind :
               {'B', 'T', 't', blob_keys::kSnapshot, blob_keys::kDeleted, blob_keys::kKeptMark, 'U', 'K'})
            more = TRY(drop_keys(txn, kind, generation)) > 0 || more;
          return {};
        },
        &kCollectGenerationStep));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::blob_store
