#include "common/kv/check.h"

#include "common/base/encoding.h"

namespace tidemark::kv {
namespace {

constexpr std::uint64_t kPaceBytes = 64UL << 10;
constexpr std::size_t kMaxNameBytes = 200;

}  // namespace

void CheckRun::found(std::string_view kind, std::string where, std::string what) {
  ++report_.found;
  if (report_.findings.size() >= kMaxFindings) return;
  report_.findings.push_back({std::string(kind), std::move(where), std::move(what)});
  if (tell_) tell_(report_.findings.back());
}

Result<void> CheckRun::read_row(std::string_view key, std::string_view value) {
  ++report_.rows;
  report_.bytes += key.size() + value.size();
  return take_turn((key.size() + value.size()) / kRowsAreFaster);
}

Result<void> CheckRun::read_bytes(std::uint64_t bytes) {
  report_.bytes += bytes;
  return take_turn(bytes);
}

Result<void> CheckRun::take_turn(std::uint64_t weight) {
  unpaced_ += weight;
  if (unpaced_ < kPaceBytes) return {};
  return pace_ && !pace_(std::exchange(unpaced_, 0)) ? fail(ErrorCode::kCancelled) : Result<void>();
}

Result<void> check_rows(const Reader& rows, const KeyRange& range, CheckRun& run, const CheckRow& row) {
  const auto cursor = rows.scan_long(range);
  for (; cursor->valid(); cursor->next()) {
    TRY(run.read_row(cursor->key(), cursor->value()));
    TRY(row(cursor->key(), cursor->value()));
  }
  auto whole = cursor->status();
  if (!whole.failed_with(ErrorCode::kCorruption)) return whole;
  run.found("checksum", range.lower.empty() ? "rows" : row_name(range.lower.substr(0, 1)),
            "rows cannot be read: " + whole.error().detail);
  return {};
}

std::string row_name(std::string_view key) {
  if (key.empty()) return "row";
  return std::string("row ") + key.front() + " " + hex_encode(key.substr(1, kMaxNameBytes));
}

}  // namespace tidemark::kv
