// The engines of a store's shards, and functions for all of them at once. Thread safe as each engine is.
#pragma once
#include <memory>
#include <vector>

#include "common/kv/stored_engine.h"
#include "common/shards/shards.h"

namespace tidemark::shards {

class StoredShards {
 public:
  StoredShards() = default;
  /// Takes as many engines as the placement has shards.
  StoredShards(std::vector<std::unique_ptr<kv::StoredEngine>> engines, Placement placement)
      : engines_(std::move(engines)), placement_(placement) {}

  [[nodiscard]] std::size_t size() const { return engines_.size(); }
  [[nodiscard]] kv::StoredEngine& operator[](std::size_t shard) const { return *engines_[shard]; }
  [[nodiscard]] kv::StoredEngine& catalogue() const { return *engines_.front(); }
  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] auto begin() const { return engines_.begin(); }
  [[nodiscard]] auto end() const { return engines_.end(); }

  // These are as in engine.h and stored_engine.h.
  /// Returns kStorageFailure if any shard has that, otherwise the first failure of any shard.
  [[nodiscard]] std::optional<Error> failure() const;
  void refuse_writes(const std::optional<Error>& reason);
  void drain();
  Result<void> flush();
  /// When it returns, nothing is being written to any shard.
  Result<void> hold_writes(std::chrono::milliseconds at_most);
  /// Returns how long the shard that was held first was held.
  Result<std::chrono::microseconds> resume_writes();
  /// Copies a single shard into `directory` itself, and several shards into folders there (shard_folder).
  Result<void> checkpoint(const std::filesystem::path& directory);

 private:
  std::vector<std::unique_ptr<kv::StoredEngine>> engines_;
  Placement placement_;
};

/// Returns the folder of a shard in a store of `shards` shards.
std::filesystem::path shard_folder(const std::filesystem::path& folder, std::size_t shard, std::size_t shards);

}  // namespace tidemark::shards
