#include "workers/runtime/skip_log.h"

#include <algorithm>

namespace tidemark::workers {
namespace {

using nlohmann::json;

constexpr std::size_t kSamples = 5;
constexpr std::size_t kMaxSampleBytes = 300;

}  // namespace

SkipLog::Entry& SkipLog::entry(std::string_view reason) {
  for (auto& known : entries_) {
    if (known.reason == reason) return known;
  }
  entries_.push_back({std::string(reason), 0, json::array()});
  return entries_.back();
}

void SkipLog::add(std::string_view reason, const std::string& partition_key, const std::string& row_key,
                  std::uint64_t count) {
  auto& at = entry(reason);
  at.count += count;
  const bool fits = partition_key.size() + row_key.size() <= kMaxSampleBytes;
  if (fits && at.samples.size() < kSamples) at.samples.push_back(json::array({partition_key, row_key}));
}

void SkipLog::add(const SkipLog& other) {
  for (const auto& from : other.entries_) {
    auto& at = entry(from.reason);
    at.count += from.count;
    for (const auto& sample : from.samples) {
      if (at.samples.size() < kSamples) at.samples.push_back(sample);
    }
  }
}

std::uint64_t SkipLog::count() const {
  std::uint64_t sum = 0;
  for (const auto& at : entries_) sum += at.count;
  return sum;
}

json SkipLog::to_json() const {
  json out = json::array();
  for (const auto& at : entries_) out.push_back({{"reason", at.reason}, {"count", at.count}, {"samples", at.samples}});
  return out;
}

SkipLog SkipLog::from_json(const json& list) {
  SkipLog log;
  if (!list.is_array()) return log;
  for (const auto& item : list) {
    if (!item.is_object()) continue;
    const auto reason = item.find("reason");
    const auto count = item.find("count");
    if (reason == item.end() || !reason->is_string() || count == item.end() || !count->is_number_unsigned()) continue;
    auto& at = log.entry(reason->get<std::string>());
    at.count += count->get<std::uint64_t>();
    const auto samples = item.find("samples");
    if (samples != item.end() && samples->is_array()) at.samples = *samples;
  }
  return log;
}

std::string SkipLog::text() const {
  if (entries_.empty()) return {};
  return to_json().dump(-1, ' ', false, json::error_handler_t::ignore);
}

}  // namespace tidemark::workers
