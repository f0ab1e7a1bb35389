#include "common/kv/check.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/kv/key_codec.h"

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

Result<void> check_rows(const Reader& rows, const KeyRange& range, CheckRun& run, const CheckRow& row,
                        std::string where) {
  const auto cursor = rows.scan_long(range);
  for (; cursor->valid(); cursor->next()) {
    TRY(run.read_row(cursor->key(), cursor->value()));
    TRY(row(cursor->key(), cursor->value()));
  }
  auto whole = cursor->status();
  if (!whole.failed_with(ErrorCode::kCorruption)) return whole;
  run.found("checksum", std::move(where), "rows cannot be read: " + whole.error().detail);
  return {};
}

Result<void> RowCheck::walk(const std::vector<Kind>& kinds) {
  const auto look_at = [this](const KeyRange& range, const Kind& kind) {
    return check_rows(rows_, range, run_, [&](auto key, auto value) -> Result<void> {
      if (!kind.stray.empty()) wrong("stray", key, kind.stray);
      if (kind.look) kind.look(key, value);
      return {};
    });
  };
  std::string known;
  for (const auto& kind : kinds) {
    for (const char prefix : kind.prefixes) TRY(look_at(under(key(prefix)), kind));
    known += kind.prefixes;
  }
  std::ranges::sort(known);
  const Kind unknown{.prefixes = {}, .stray = "is of a kind that this version does not know"};
  KeyRange between;
  for (const char prefix : known) {
    between.upper = key(prefix);
    TRY(look_at(between, unknown));
    between.lower = prefix_end(between.upper);
  }
  return look_at({between.lower, {}}, unknown);
}

std::string row_name(std::string_view key) {
  if (key.empty()) return "row";
  return std::string("row ") + key.front() + " " + hex_encode(key.substr(1, kMaxNameBytes));
}

}  // namespace tidemark::kv
