// One of several processes that share the shards of a database (docs/scale.md, Owners): a thread reads the table of
// owners, renews the leases of this process in one statement, claims free shards up to its share, and lets go of shards
// that another process should have. Another thread closes engines, which may take as long as the database does. Thread
// safe.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/postgres/claimed_engine.h"
#include "common/shards/shard_claims.h"

namespace tidemark::kv {

namespace detail {
class OwnersTables;
}

class ShardOwners final : public shards::ShardPlaces {
 public:
  /// Called on the threads of ShardOwners; they must not block.
  struct Hooks {
    std::function<void(std::size_t shard)> gained = [](std::size_t) {};
    /// Also called before a shard is gained: data that this process remembers of it may be older than the former owner.
    std::function<void(std::size_t shard)> lost = [](std::size_t) {};
    /// The table was read: place_of() may have new answers.
    std::function<void()> seen = [] {};
    /// This process has claimed a shard, or let one go: the others should look.
    std::function<void()> moved = [] {};
  };

  /// Prepares the tables. `options`: those of any of the shards. The owner's name is made of `process`, a name that is
  /// never used twice and has no '#'. kConfigInvalid, kStorageFailure.
  static Result<std::unique_ptr<ShardOwners>> open(PostgresOptions options, std::string process, std::size_t shards);
  ~ShardOwners() override;

  /// Makes one engine for each shard; they must live until stop() has returned.
  [[nodiscard]] std::vector<std::unique_ptr<ClaimedEngine>> make_engines();
  /// Claims its free shards at once, and goes on until leave(). `address`: where the other processes reach this one.
  /// Fails if the database cannot be reached.
  Result<void> start(std::string address, Hooks hooks);
  void look() override;
  /// Claims nothing any more, and lets go of all shards in order, so that others need not wait. Goes on reading the
  /// table.
  void leave();
  /// Ends the threads. No hook is called afterwards.
  void stop();

  [[nodiscard]] std::size_t shards() const override { return count_; }
  [[nodiscard]] Place place_of(std::size_t shard) const override;
  [[nodiscard]] bool leased(std::size_t shard) const override;
  [[nodiscard]] const std::string& process() const override { return process_; }
  [[nodiscard]] std::vector<shards::ProcessRow> processes() const override;
  Result<void> wish(std::size_t shard, const std::string& process) override;
  [[nodiscard]] std::string wished(std::size_t shard) const override;
  /// Why the owners of the shards are unknown: the database cannot be reached.
  [[nodiscard]] std::optional<Error> failure() const;

  /// The state of a shard, for people and for metrics.
  struct Shown {
    std::string process;  // empty: none
    bool here = false;
    std::int64_t epoch = 0;
    std::string wish = {};                  // the process that should get it, by the table; empty: any
    std::chrono::nanoseconds lease_left{};  // this and the next: if the shard is here
    std::chrono::nanoseconds served_for{};
    std::uint64_t takeovers = 0;  // by this process, of shards that their owner had not let go
    std::shared_ptr<PostgresEngine> engine = {};
  };
  [[nodiscard]] std::vector<Shown> show() const;

 private:
  struct Shard {
    ClaimedEngine* engine = nullptr;
    shards::Holding holding = shards::Holding::kNothing;
    std::string process = {};             // as in the table
    std::int64_t epoch = 0;               // as in the table
    std::string wish = {};                // as in the table
    std::chrono::nanoseconds since = {};  // when this process began to serve it, by lease_clock()
    std::string address = {};
    std::uint64_t takeovers = 0;
  };
  /// An engine to be destroyed.
  struct Closing {
    std::size_t shard = 0;
    std::shared_ptr<PostgresEngine> engine;
  };

  ShardOwners(PostgresOptions options, std::string process, std::size_t shards);
  void run();
  Result<void> turn();
  Result<void> renew();
  bool drop_lost(const shards::OwnersTable& table);
  [[nodiscard]] bool is_closing(std::size_t shard) const;
  bool claim(const shards::OwnersTable& table, const std::vector<std::size_t>& wanted);
  Result<std::shared_ptr<PostgresEngine>> open_shard(std::size_t shard, const shards::SeenOwner& seen);
  void give_up(std::size_t shard, shards::Holding next);
  void publish(const shards::OwnersTable& table);
  void close_engines();
  [[nodiscard]] std::vector<shards::Holding> holdings() const;

  const PostgresOptions options_;
  const std::string process_;
  const std::size_t count_;
  std::string address_;
  Hooks hooks_;
  // These belong to the thread that looks, from start() on.
  std::unique_ptr<detail::OwnersTables> tables_;
  shards::ShardClaims claims_;
  std::chrono::nanoseconds renewed_at_{};
  std::uint64_t openings_ = 0;
  bool left_ = false;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Shard> shards_ GUARDED_BY(mutex_);
  std::vector<shards::ProcessRow> processes_ GUARDED_BY(mutex_);  // the living ones
  std::deque<Closing> closing_ GUARDED_BY(mutex_);
  std::deque<std::pair<std::size_t, std::string>> wishes_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  bool look_soon_ GUARDED_BY(mutex_) = false;
  bool leaving_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;  // no more engines will be added to closing_
  std::thread looks_;
  std::thread closes_;
};

}  // namespace tidemark::kv
