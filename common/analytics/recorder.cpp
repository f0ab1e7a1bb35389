#include "common/analytics/recorder.h"

namespace tidemark::analytics {
namespace {
/// The limit of metrics rows in memory. There are some dozens for each account and period; more gather only while the
/// disk takes no writes. Rows beyond the limit are not counted.
constexpr std::size_t kMaxRows = 20'000;
}  // namespace

void Recorder::want(const std::string& account, const Wanted& wanted) {
  const MutexLock lock(mutex_);
  if (wanted.anything()) {
    wanted_[account] = wanted;
  } else {
    wanted_.erase(account);
  }
  anybody_.store(!wanted_.empty(), std::memory_order_relaxed);
}

std::map<std::string, Wanted> Recorder::wanted() const {
  const MutexLock lock(mutex_);
  return wanted_;
}

Wanted Recorder::wanted_of(const std::string& account) const {
  const MutexLock lock(mutex_);
  const auto found = wanted_.find(account);
  return found == wanted_.end() ? Wanted() : found->second;
}

bool Recorder::wants(const std::string& account) const {
  return anybody_.load(std::memory_order_relaxed) && wanted_of(account).anything();
}

void Recorder::record(const std::string& account, const LogRecord& record, Time answered) {
  const auto wanted = wanted_of(account);
  if (wanted.logs(record.operation.access) && is_logged(record.http_status, record.login)) {
    log(account, record, wanted.log_version);
  }
  const MutexLock lock(mutex_);
  count(wanted.hour, {account, Grain::kHour, period_of(Grain::kHour, answered), {}}, record);
  count(wanted.minute, {account, Grain::kMinute, period_of(Grain::kMinute, answered), {}}, record);
}

void Recorder::count(const WantedMetrics& wanted, RowKey key, const LogRecord& record) {
  if (!wanted.enabled || recorded_.rows.size() >= kMaxRows) return;
  key.operation = kAllOperations;
  recorded_.rows[key].count(record);
  if (!wanted.of_operations) return;
  key.operation = record.operation.name;
  recorded_.rows[std::move(key)].count(record);
}

void Recorder::log(const std::string& account, const LogRecord& record, LogVersion version) {
  std::string line;
  append_log_line(line, record, version);
  bool half_full = false;
  {
    const MutexLock lock(mutex_);
    if (log_bytes_ + line.size() > max_log_bytes_) {
      ++lost_;
      return;
    }
    auto& parts = recorded_.logs[{account, hour_of(record.started)}];
    const bool begins =
        parts.empty() || parts.back().text.size() + line.size() > kMaxPartBytes || parts.back().version != version;
    if (begins) parts.push_back({.text = {}, .first = record.started, .last = record.started, .version = version});
    auto& part = parts.back();
    part.text += line;
    part.accesses = static_cast<std::uint8_t>(part.accesses | static_cast<std::uint8_t>(record.operation.access));
    part.first = std::min(part.first, record.started);
    part.last = std::max(part.last, record.started);
    ++part.lines;
    const auto half = max_log_bytes_ / 2;
    half_full = log_bytes_ < half && log_bytes_ + line.size() >= half;
    log_bytes_ += line.size();
  }
  if (half_full) filling_();
}

Recorded Recorder::take(Time now) {
  const MutexLock lock(mutex_);
  for (const auto& [account, wanted] : wanted_) {
    for (const auto& [grain, metrics] :
         {std::pair{Grain::kHour, &wanted.hour}, std::pair{Grain::kMinute, &wanted.minute}}) {
      if (metrics->enabled) {
        recorded_.rows.try_emplace({account, grain, period_of(grain, now), std::string(kAllOperations)});
      }
    }
  }
  log_bytes_ = 0;
  return std::exchange(recorded_, {});
}

}  // namespace tidemark::analytics
