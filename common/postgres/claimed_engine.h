// The engine of a shard that several processes share. The shard belongs to this process while it owns it, and otherwise
// to another. Transactions are for the owner alone, and fail with kServerBusy elsewhere. Reads elsewhere ask the
// database at that moment, so they are as current as with the owner, which in turn shows nothing that is older. Thread
// safe.
#pragma once
#include <memory>
#include <optional>

#include "common/base/mutex.h"
#include "common/postgres/postgres_engine.h"

namespace tidemark::kv {

namespace detail {
class Reads;
}

class ClaimedEngine final : public StoredEngine {
 public:
  /// `options`: those for reading only.
  explicit ClaimedEngine(PostgresOptions options);

  /// Null while another process owns the shard, or none does.
  [[nodiscard]] std::shared_ptr<PostgresEngine> own() const;
  void open(std::shared_ptr<PostgresEngine> engine);
  /// From now on the shard belongs to another process. Earlier transactions are still carried out, until the engine is
  /// destroyed.
  std::shared_ptr<PostgresEngine> close();

  /// The shard has this epoch, no matter which process owns it: a database server with a lower one is not read.
  void know(std::int64_t epoch);

  [[nodiscard]] std::shared_ptr<const Reader> snapshot() const override;
  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override;
  void submit(TransactionBody body, Completion done) override;
  void refuse_writes(std::optional<Error> why) override;
  /// Never kStorageFailure: the code that claims shards opens such an engine again.
  [[nodiscard]] std::optional<Error> failure() const override;
  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override;
  [[nodiscard]] std::size_t queue_depth() const override;
  [[nodiscard]] EngineMemory memory() const override;

  Result<void> flush() override { return no_files(); }
  Result<void> hold_writes(std::chrono::milliseconds) override { return no_files(); }
  Result<std::chrono::microseconds> resume_writes() override { return no_files(); }
  Result<void> checkpoint(const std::filesystem::path&) override { return no_files(); }
  [[nodiscard]] std::optional<std::uint64_t> estimate_bytes(const KeyRange&) const override { return std::nullopt; }
  [[nodiscard]] Result<std::vector<StoredFile>> files() const override { return std::vector<StoredFile>(); }

 private:
  static std::unexpected<Error> no_files();

  const std::shared_ptr<detail::Reads> reads_;
  mutable Mutex mutex_;
  std::shared_ptr<PostgresEngine> own_ GUARDED_BY(mutex_);
  std::optional<Error> refusal_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::kv
