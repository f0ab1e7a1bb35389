#include "common/analytics/backlog.h"

#include "common/base/fail_points.h"
#include "common/base/record.h"
#include "common/kv/key_codec.h"

namespace tidemark::analytics {
namespace {

using kv::Text;

const FailStep kKeepStep("analytics.keep");
const FailStep kSettleStep("analytics.settle");

constexpr std::size_t kMaxCollectedBytes = 3UL << 20;
constexpr std::size_t kMaxCollectedRows = 500;
constexpr Duration kKeepNumbers = std::chrono::hours(48);

constexpr auto kPartRecord = record_format<LogPart>(1, "log part", [](auto& io, auto& part) {
  io.u8(part.accesses);
  io.time(part.first);
  io.time(part.last);
  io.u8(part.version);
  io.varint(part.lines);
  io.string(part.text);
});

struct StoredRow {
  std::uint64_t version = 0;
  std::uint64_t settled = 0;  // the version that has been written to its destination
  std::string counters;
};
constexpr auto kStoredRow = record_format<StoredRow>(1, "metrics row", [](auto& io, auto& row) {
  io.varint(row.version);
  io.varint(row.settled);
  io.string(row.counters);
});

struct NextNumber {
  std::uint64_t next = 0;
};
constexpr auto kNextNumber =
    record_format<NextNumber>(1, "log number", [](auto& io, auto& row) { io.varint(row.next); });

std::uint64_t ticks(Time time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); }
Time time_of(std::uint64_t ticks) { return Time(Ticks(static_cast<std::int64_t>(ticks))); }

std::string log_key(std::string_view account, Time hour, std::uint64_t number) {
  return kv::key(kAnalyticsKeys, 'l', Text{account}, ticks(hour), number);
}
std::string number_key(std::string_view account, Time hour) {
  return kv::key(kAnalyticsKeys, 'n', Text{account}, ticks(hour));
}
std::string row_key(std::string_view account, Grain grain, Time period, std::string_view operation) {
  return kv::key(kAnalyticsKeys, 'r', Text{account}, static_cast<std::uint64_t>(grain), ticks(period), Text{operation});
}
kv::KeyRange all_logs() { return kv::under(kv::key(kAnalyticsKeys, 'l')); }
kv::KeyRange all_rows() { return kv::under(kv::key(kAnalyticsKeys, 'r')); }

std::unexpected<Error> bad_key() { return fail(error_for_log(ErrorCode::kCorruption, "bad analytics key")); }

Result<LogBatch> read_log(std::string_view key, std::string_view value) {
  key.remove_prefix(2);
  auto account = kv::take_text(key);
  const auto hour = account ? kv::take_u64(key) : std::nullopt;
  const auto number = hour ? kv::take_u64(key) : std::nullopt;
  if (!number) return bad_key();
  auto part = TRY(kPartRecord.decode(value));
  return LogBatch{std::move(*account),
                  time_of(*hour),
                  *number,
                  part.accesses,
                  part.first,
                  part.last,
                  part.version == LogVersion::k2,
                  std::move(part.text)};
}

Result<MetricsRow> read_row(std::string_view key, StoredRow row) {
  key.remove_prefix(2);
  auto account = kv::take_text(key);
  const auto grain = account ? kv::take_u64(key) : std::nullopt;
  const auto period = grain ? kv::take_u64(key) : std::nullopt;
  auto operation = period ? kv::take_text(key) : std::nullopt;
  if (!operation) return bad_key();
  return MetricsRow{std::move(*account), static_cast<Grain>(*grain), time_of(*period), std::move(*operation),
                    row.version,         std::move(row.counters)};
}

bool is_closed(Grain grain, Time period, Time now) { return end_of_period(grain, period) + kOpenAfterEnd <= now; }

/// Erases the numbers of hours whose logs are complete.
Result<void> forget_numbers(kv::Transaction& txn, const std::string& account, Time now) {
  const auto old = number_key(account, hour_of(now) - kKeepNumbers);
  std::vector<std::string> keys;
  {
    const auto cursor = txn.scan({number_key(account, Time()), old});
    for (; cursor->valid(); cursor->next()) keys.emplace_back(cursor->key());
    TRY(cursor->status());
  }
  for (const auto& key : keys) txn.erase(key);
  return {};
}

/// Returns the size of the logs in bytes.
Result<std::uint64_t> write_logs(kv::Transaction& txn, const Recorded& recorded, Time now) {
  std::uint64_t bytes = 0;
  for (const auto& [key, parts] : recorded.logs) {
    const auto place = number_key(key.account, key.hour);
    const auto stored = TRY(txn.get(place));
    auto next = stored ? TRY(kNextNumber.decode(*stored)) : NextNumber();
    if (!stored) TRY(forget_numbers(txn, key.account, now));
    for (const auto& part : parts) {
      const auto value = kPartRecord.encode(part);
      bytes += value.size();
      txn.put(log_key(key.account, key.hour, next.next++), value);
    }
    txn.put(place, kNextNumber.encode(next));
  }
  return bytes;
}

Result<void> write_rows(kv::Transaction& txn, const Recorded& recorded, Time now) {
  for (const auto& [key, counters] : recorded.rows) {
    if (is_closed(key.grain, key.period, now)) continue;  // its row may be erased already, and would restart from zero
    const auto place = row_key(key.account, key.grain, key.period, key.operation);
    const auto stored = TRY(txn.get(place));
    auto row = stored ? TRY(kStoredRow.decode(*stored)) : StoredRow();
    auto sum = stored ? TRY(decode_counters(row.counters)) : Counters();
    if (stored && counters == Counters()) continue;
    sum.add(counters);
    row.counters = encode_counters(sum);
    ++row.version;
    txn.put(place, kStoredRow.encode(row));
  }
  return {};
}

std::uint64_t lines_of(const Recorded& recorded) {
  std::uint64_t lines = 0;
  for (const auto& [key, parts] : recorded.logs) {
    for (const auto& part : parts) lines += part.lines;
  }
  return lines;
}

}  // namespace

Backlog::Backlog(kv::Engine& engine, std::size_t max_log_bytes) : engine_(engine), max_log_bytes_(max_log_bytes) {
  const auto snapshot = engine_.snapshot();
  for (const auto cursor = snapshot->scan_long(all_logs()); cursor->valid(); cursor->next()) {
    log_bytes_ += cursor->value().size();
  }
}

Task<Result<std::uint64_t>> Backlog::keep(const Recorded& recorded, Time now) {
  const bool with_logs = !full();
  std::uint64_t bytes = 0;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        if (with_logs) bytes = TRY(write_logs(txn, recorded, now));
        return write_rows(txn, recorded, now);
      },
      &kKeepStep));
  log_bytes_ += bytes;
  co_return with_logs ? 0 : lines_of(recorded);
}

void Backlog::keep_at_end(Recorded recorded, Time now) {
  engine_.submit(
      [recorded = std::make_shared<const Recorded>(std::move(recorded)), now,
       with_logs = !full()](kv::Transaction& txn) -> Result<void> {
        if (with_logs) TRY(write_logs(txn, *recorded, now));
        return write_rows(txn, *recorded, now);
      },
      [](const Result<void>&) {});
}

Task<Result<Collected>> Backlog::collect(Time now) {
  Collected out;
  std::vector<std::string> over;
  {
    const auto snapshot = engine_.snapshot();
    std::size_t bytes = 0;
    const auto logs = snapshot->scan(all_logs());
    for (; logs->valid() && bytes < kMaxCollectedBytes; logs->next()) {
      bytes += logs->value().size();
      out.logs.push_back(CO_TRY(read_log(logs->key(), logs->value())));
    }
    CO_TRY(logs->status());
    const auto rows = snapshot->scan(all_rows());
    for (; rows->valid() && out.rows.size() < kMaxCollectedRows && over.size() < kMaxCollectedRows; rows->next()) {
      auto stored = CO_TRY(kStoredRow.decode(rows->value()));
      const bool settled = stored.settled == stored.version;
      auto row = CO_TRY(read_row(rows->key(), std::move(stored)));
      if (!settled) {
        out.rows.push_back(std::move(row));
      } else if (is_closed(row.grain, row.period, now)) {
        over.emplace_back(rows->key());
      }
    }
    CO_TRY(rows->status());
  }
  // Nothing is added to these rows any more.
  if (!over.empty()) {
    CO_TRY(co_await engine_.transact([&](kv::Transaction& txn) -> Result<void> {
      for (const auto& key : over) txn.erase(key);
      return {};
    }));
  }
  co_return out;
}

Task<Result<void>> Backlog::settle(calls::Settle settled) {
  std::uint64_t freed = 0;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        freed = 0;
        for (const auto& each : settled.logs) {
          const auto key = log_key(each.account, each.hour, each.number);
          if (const auto stored = TRY(txn.get(key))) freed += stored->size();
          txn.erase(key);
        }
        for (const auto& each : settled.rows) {
          const auto key = row_key(each.account, each.grain, each.period, each.operation);
          const auto stored = TRY(txn.get(key));
          if (!stored) continue;
          auto row = TRY(kStoredRow.decode(*stored));
          row.settled = std::max(row.settled, each.version);
          txn.put(key, kStoredRow.encode(row));
        }
        return {};
      },
      &kSettleStep));
  log_bytes_ -= freed;
  co_return Result<void>();
}

}  // namespace tidemark::analytics
