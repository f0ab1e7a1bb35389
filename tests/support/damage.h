// Damages rows of an engine, and reads a check's report. For tests of the checks.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/kv/check.h"

namespace tidemark::kv {

/// Not a row of any kind.
inline const std::string kGarbage = "\x7fgarbage of ten";

inline void change_rows(Engine& engine, const std::function<void(Transaction&)>& change) {
  engine.submit(
      [&](Transaction& txn) {
        change(txn);
        return Result<void>();
      },
      [](Result<void> done) { EXPECT_TRUE(done); });
  engine.drain();
}
inline void put_row(Engine& engine, const std::string& key, const std::string& value) {
  change_rows(engine, [&](Transaction& txn) { txn.put(key, value); });
}
inline void erase_row(Engine& engine, const std::string& key) {
  change_rows(engine, [&](Transaction& txn) { txn.erase(key); });
}
/// Reads a row by its format, changes it and puts it back.
template <class Format, class Change>
void edit_row(Engine& engine, const std::string& key, const Format& format, Change change) {
  auto record = format.decode(engine.get(key)->value());
  ASSERT_TRUE(record);
  change(*record);
  put_row(engine, key, format.encode(*record));
}
inline std::vector<std::string> keys_under(const Engine& engine, const std::string& prefix) {
  std::vector<std::string> keys;
  const auto rows = engine.snapshot();
  for (const auto cursor = rows->scan({prefix, prefix + std::string(32, '\xff')}); cursor->valid(); cursor->next()) {
    keys.emplace_back(cursor->key());
  }
  return keys;
}

/// Returns "kind: what" of each finding, sorted, without repeats.
inline std::vector<std::string> told(const CheckReport& report) {
  std::vector<std::string> out;
  for (const auto& finding : report.findings) out.push_back(finding.kind + ": " + finding.what);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace tidemark::kv
