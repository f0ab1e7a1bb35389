// Shared by the engine tests: a directory of their own, and transactions run to their outcome.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "common/kv/rocksdb_engine.h"

namespace tidemark::kv::testing {

class TempDir {
 public:
  TempDir() {
    auto name = (std::filesystem::temp_directory_path() / "tidemark-kv-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline RocksDbOptions small_options(const std::filesystem::path& path) {
  RocksDbOptions options;
  options.path = path;
  options.block_cache_bytes = 4UL << 20;
  options.write_buffer_bytes = 256UL << 10;
  return options;
}

inline std::future<Result<void>> start(Engine& engine, TransactionBody body) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto outcome = promise->get_future();
  engine.submit(std::move(body), [promise](Result<void> result) { promise->set_value(std::move(result)); });
  return outcome;
}

inline Result<void> run(Engine& engine, TransactionBody body) { return start(engine, std::move(body)).get(); }

inline Result<void> put(Engine& engine, std::string key, std::string value) {
  return run(engine, [key, value](Transaction& txn) -> Result<void> {
    txn.put(key, value);
    return {};
  });
}

inline Result<void> erase_range(Engine& engine, KeyRange range) {
  std::promise<Result<void>> promise;
  engine.erase_ranges({std::move(range)}, [&promise](Result<void> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

using Entries = std::vector<std::pair<std::string, std::string>>;

/// For bodies, which pass failures on and may be run again.
inline Result<Entries> try_entries(const Reader& reader, const KeyRange& range = {},
                                   Direction direction = Direction::kForward) {
  Entries out;
  auto cursor = reader.scan(range, direction);
  for (; cursor->valid(); cursor->next()) out.emplace_back(cursor->key(), cursor->value());
  TRY(cursor->status());
  return out;
}

inline Entries entries(const Reader& reader, const KeyRange& range = {}, Direction direction = Direction::kForward) {
  auto out = try_entries(reader, range, direction);
  EXPECT_TRUE(out.has_value());
  return out ? *out : Entries();
}

/// For bodies, like try_entries().
inline Result<std::string> try_value_of(const Reader& reader, std::string_view key) {
  return TRY(reader.get(key)).value_or("<none>");
}

inline std::string value_of(const Reader& reader, std::string_view key) {
  return try_value_of(reader, key).value_or("<failed>");
}

}  // namespace tidemark::kv::testing
