// One of several processes that share the shards of a database (docs/scale.md, Owners): a thread reads the table of
// owners, renews the leases of this process in one statement, claims what its share has room for and nobody has, and
// lets go of what another is to have. Another thread closes engines, which may take as long as the database does.
// Thread safe.
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
#include "common/kv/claimed_engine.h"
#include "common/kv/shard_claims.h"

namespace tidemark::kv {

namespace detail {
class OwnersTables;
}

class ShardOwners final : public ShardPlaces {
 public:
  /// Called on the threads of the owners; they must not block.
  struct Hooks {
    std::function<void(std::size_t shard)> gained = [](std::size_t) {};
    /// Also before it is gained: whatever this process remembers of the shard was so before another one had it.
    std::function<void(std::size_t shard)> lost = [](std::size_t) {};
    /// The table was read: what place_of() says may be new.
    std::function<void()> seen = [] {};
    /// This process has claimed something, or let go of it: the others should look.
    std::function<void()> moved = [] {};
  };

  /// `options`: of any of the shards; their owner's name is made of the `process`, whose name is never used twice, and
  /// has no '#'. The tables are prepared. kConfigInvalid, kStorageFailure.
  static Result<std::unique_ptr<ShardOwners>> open(PostgresOptions options, std::string process, std::size_t shards);
  ~ShardOwners() override;

  /// One for each shard, which must live until stop() has returned.
  [[nodiscard]] std::vector<std::unique_ptr<ClaimedEngine>> make_engines();
  /// Claims what there is for it at once, and goes on until leave(). `address`: where the other processes reach this
  /// one. Fails if the database cannot be reached.
  Result<void> start(std::string address, Hooks hooks);
  void look() override;
  /// Claims nothing any more, and lets go of everything in order; others are told that they need not wait. Goes on
  /// looking for who has what.
  void leave();
  /// Ends the threads. No hook is called afterwards.
  void stop();

  [[nodiscard]] std::size_t shards() const override { return count_; }
  [[nodiscard]] Place place_of(std::size_t shard) const override;
  [[nodiscard]] bool leased(std::size_t shard) const override;
  [[nodiscard]] const std::string& process() const override { return process_; }
  [[nodiscard]] std::vector<ProcessRow> processes() const override;
  Result<void> wish(std::size_t shard, const std::string& process) override;
  [[nodiscard]] std::string wished(std::size_t shard) const override;
  /// Why nothing can be said about who owns what: the database cannot be reached.
  [[nodiscard]] std::optional<Error> failure() const;

  /// For people and for metrics.
  struct Shown {
    std::string process;  // empty: nobody
    bool here = false;
    std::int64_t epoch = 0;
    std::string wish = {};                  // the process that is to have it, as the table says; empty: any
    std::chrono::nanoseconds lease_left{};  // if it is here, as the next
    std::chrono::nanoseconds served_for{};
    std::uint64_t takeovers = 0;  // by this process, of what its owner had not let go
    std::shared_ptr<PostgresEngine> engine = {};
  };
  [[nodiscard]] std::vector<Shown> show() const;

 private:
  struct Shard {
    ClaimedEngine* engine = nullptr;
    Holding holding = Holding::kNothing;
    std::string process = {};             // as the table said
    std::int64_t epoch = 0;               // likewise
    std::string wish = {};                // likewise
    std::chrono::nanoseconds since = {};  // it is served, by lease_clock()
    std::string address = {};
    std::uint64_t takeovers = 0;
  };
  /// An engine that is to be destroyed.
  struct Closing {
    std::size_t shard = 0;
    std::shared_ptr<PostgresEngine> engine;
  };

  ShardOwners(PostgresOptions options, std::string process, std::size_t shards);
  void run();
  Result<void> turn();
  Result<void> renew();
  bool drop_lost(const OwnersTable& table);
  [[nodiscard]] bool is_closing(std::size_t shard) const;
  bool claim(const OwnersTable& table, const std::vector<std::size_t>& wanted);
  Result<std::shared_ptr<PostgresEngine>> open_shard(std::size_t shard, const SeenOwner& seen);
  void give_up(std::size_t shard, Holding next);
  void publish(const OwnersTable& table);
  void close_engines();
  [[nodiscard]] std::vector<Holding> holdings() const;

  const PostgresOptions options_;
  const std::string process_;
  const std::size_t count_;
  std::string address_;
  Hooks hooks_;
  // Of the thread that looks, from start() on.
  std::unique_ptr<detail::OwnersTables> tables_;
  ShardClaims claims_;
  std::chrono::nanoseconds renewed_at_{};
  std::uint64_t openings_ = 0;
  bool left_ = false;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Shard> shards_ GUARDED_BY(mutex_);
  std::vector<ProcessRow> processes_ GUARDED_BY(mutex_);  // that live
  std::deque<Closing> closing_ GUARDED_BY(mutex_);
  std::deque<std::pair<std::size_t, std::string>> wishes_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  bool look_soon_ GUARDED_BY(mutex_) = false;
  bool leaving_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;  // nothing more comes to be closed
  std::thread looks_;
  std::thread closes_;
};

}  // namespace tidemark::kv
