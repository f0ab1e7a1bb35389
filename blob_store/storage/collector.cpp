#include "blob_store/storage/collector.h"

#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "common/kv/generations.h"
#include "common/process/failures.h"

namespace tidemark::blob_store {
namespace {

const FailStep kCollectPayloadsStep("blob.collect_payloads");
const FailStep kCollectGenerationStep("blob.collect_generation");

constexpr std::size_t kPayloadsPerStep = 256;
constexpr std::size_t kKeysPerStep = 2048;
constexpr std::size_t kSummariesPerTurn = 256;
constexpr std::size_t kExtentListsPerStep = 64;
constexpr Duration kStagedLifetime = std::chrono::hours(7 * 24);
constexpr Duration kStagedCheck = std::chrono::hours(1);

void bury(kv::Transaction& txn, std::uint64_t payload) {
  if (payload != 0) txn.put(blob_keys::dead(payload), "");
}

using Entries = std::vector<std::pair<std::string, std::string>>;

// At most `limit` entries; copied, since a cursor must not outlive a write.
Result<Entries> read_some(const kv::Reader& reader, const kv::KeyRange& range, std::size_t limit) {
  Entries found;
  const auto cursor = reader.scan(range);
  for (; cursor->valid() && found.size() < limit; cursor->next()) {
    found.emplace_back(cursor->key(), cursor->value());
  }
  TRY(cursor->status());
  return found;
}

// Some keys of one kind of a dead generation: what they refer to dies with them. Returns how many there were.
Result<std::size_t> drop_keys(kv::Transaction& txn, char kind, std::uint64_t generation, std::size_t limit) {
  auto found = TRY(read_some(txn, blob_keys::all(kind, generation), limit));
  for (const auto& [key, value] : found) {
    if (kind == 'X') {
      auto extents = TRY(records::kExtents.decode(value));
      for (const auto& extent : extents) bury(txn, extent.payload);
    } else if (kind == 'K') {
      auto block = TRY(records::kStagedBlock.decode(value));
      bury(txn, block.payload);
    }
    txn.erase(key);
  }
  return found.size();
}

}  // namespace

void Collector::start() {
  engine_.submit(
      [](kv::Transaction& txn) -> Result<void> {
        auto found = TRY(read_some(txn, blob_keys::all('Q'), std::numeric_limits<std::size_t>::max()));
        for (const auto& [key, value] : found) {
          bury(txn, blob_keys::number(key));
          txn.erase(key);
        }
        return {};
      },
      [](const Result<void>& done) {
        if (!done) process::log_failed_task("blob.collect_unfinished_uploads", done.error());
      });
  kick();
}

void Collector::kick() {
  if (wanted_.fetch_add(1) == 0) spawn(background_, run(this));
}

Task<void> Collector::run(Collector* self) {
  while (true) {
    const int seen = self->wanted_.load();
    if (const auto done = co_await self->collect(); !done) process::log_failed_task("blob.collect", done.error());
    int expected = seen;
    if (self->wanted_.compare_exchange_strong(expected, 0)) co_return;
  }
}

void bury_pending(kv::Transaction& txn, std::uint64_t payload) {
  txn.erase(blob_keys::pending(payload));
  bury(txn, payload);
}

void Collector::abandon_later(std::uint64_t payload) {
  MutexLock lock(mutex_);
  abandoned_.push_back(payload);
}

Task<Result<void>> Collector::bury_abandoned() {
  std::vector<std::uint64_t> some;
  {
    MutexLock lock(mutex_);
    some = abandoned_;
  }
  if (some.empty()) co_return Result<void>{};
  CO_TRY(co_await engine_.transact([&](kv::Transaction& txn) -> Result<void> {
    for (const auto payload : some) bury_pending(txn, payload);
    return {};
  }));
  MutexLock lock(mutex_);
  abandoned_.erase(abandoned_.begin(), abandoned_.begin() + static_cast<std::ptrdiff_t>(some.size()));
  co_return Result<void>{};
}

Task<Result<void>> Collector::collect() {
  CO_TRY(co_await bury_abandoned());
  CO_TRY(co_await expire_staged());
  const auto erase = [this](std::uint64_t generation) { return empty_generation(generation); };
  CO_TRY(co_await kv::collect_generations(engine_, blob_keys::kDroppedGeneration, erase, kCollectGenerationStep));
  while (CO_TRY(co_await collect_payloads()) > 0) {
  }
  co_return Result<void>{};
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
      const auto staged = blob_keys::staged_blob(key);
      if (!staged || now - summary.last_staged <= kStagedLifetime) continue;
      CO_TRY(co_await drop_old_staged(*staged, now));
    }
    co_await asio::post(executor, asio::use_awaitable);  // requests go on between the turns
  }
  co_return Result<void>{};
}

Task<Result<void>> Collector::drop_old_staged(const blob_keys::StagedBlob& staged, Time now) {
  return engine_.transact([&staged, now](kv::Transaction& txn) -> Result<void> {
    auto stored = TRY(txn.get(blob_keys::staged_summary(staged.generation, staged.name)));
    if (!stored) return {};
    auto summary = TRY(records::kStagedSummary.decode(*stored));
    // One may have been added meanwhile.
    if (now - summary.last_staged <= kStagedLifetime) return {};
    return drop_staged(txn, staged.generation, staged.name);
  });
}

Task<Result<std::size_t>> Collector::collect_payloads() {
  const auto entries = CO_TRY(read_some(*engine_.snapshot(), blob_keys::all('D'), kPayloadsPerStep));
  if (entries.empty()) co_return std::size_t{0};
  std::vector<kv::KeyRange> chunks;
  for (const auto& entry : entries) chunks.push_back(blob_keys::chunks(blob_keys::number(entry.first)));
  CO_TRY(co_await engine_.erase(std::move(chunks)));
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        for (const auto& entry : entries) txn.erase(entry.first);
        return {};
      },
      &kCollectPayloadsStep));
  co_return entries.size();
}

// A container may hold much: a bounded part of it in each transaction.
Task<Result<void>> Collector::empty_generation(std::uint64_t generation) {
  for (bool more = true; more;) {
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          more = false;
          for (const char kind : {'B', 'U', 'K', 'X'}) {
            // An extent list may be long: only a few of them in one transaction.
            const auto dropped =
                TRY(drop_keys(txn, kind, generation, kind == 'X' ? kExtentListsPerStep : kKeysPerStep));
            more = more || dropped > 0;
          }
          return {};
        },
        &kCollectGenerationStep));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::blob_store
