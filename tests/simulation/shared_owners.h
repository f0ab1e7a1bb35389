// The owners of a store's shards, as one of the processes that share them sees them. It does the work of the product's
// ShardOwners by the same rules (common/shards/shard_claims.h), on the simulated database. One thread.
#pragma once
#include "common/shards/shard_claims.h"
#include "tests/simulation/shared_database.h"

namespace tidemark::simulation {

inline constexpr Duration kSharedLease = std::chrono::milliseconds(1500);

class SharedOwners final : public shards::ShardPlaces {
 public:
  struct Hooks {
    std::function<void(std::size_t shard)> gained, lost;
    std::function<void()> seen, moved;
  };

  /// All must outlive it; an engine for each shard. `address`: where other processes reach this one.
  SharedOwners(OwnedEngine::Parts parts, std::vector<std::unique_ptr<OwnedEngine>>& engines, std::string address);
  void start(Hooks hooks);
  /// Ends the ownership of a dead process.
  void leave() { gone_ = true; }

  [[nodiscard]] std::size_t shards() const override { return engines_.size(); }
  [[nodiscard]] Place place_of(std::size_t shard) const override;
  [[nodiscard]] bool leased(std::size_t shard) const override { return engines_[shard]->leased(); }
  [[nodiscard]] const std::string& process() const override { return process_; }
  [[nodiscard]] std::vector<shards::ProcessRow> processes() const override { return living_; }
  void look() override { look_soon_.notify_all(); }
  Result<void> wish(std::size_t, const std::string&) override { return fail(ErrorCode::kNotImplemented); }
  [[nodiscard]] std::string wished(std::size_t) const override { return {}; }

 private:
  static Task<void> run(SharedOwners& self);
  static Task<void> let_go(SharedOwners& self, std::size_t shard);
  Task<void> turn();
  Task<void> renew();
  Task<bool> claim(std::size_t shard, const shards::SeenOwner& seen);
  bool drop_lost(const shards::OwnersTable& table);
  void give_up(std::size_t shard, shards::Holding next);
  void publish(const shards::OwnersTable& table);
  /// Waits as long as a request or an answer is on its way to the database or back. False: the process has died.
  Task<bool> travel();
  [[nodiscard]] std::chrono::nanoseconds now() const { return life_.clock().monotonic(); }

  SharedDatabase& database_;
  Scheduler& scheduler_;
  Life& life_;
  std::vector<std::unique_ptr<OwnedEngine>>& engines_;
  const std::string address_, place_, process_;
  Hooks hooks_;
  shards::ShardClaims claims_;
  Signal look_soon_;
  std::vector<shards::Holding> holdings_;
  std::vector<bool> closing_;
  std::vector<std::string> addresses_;  // by shard: of its owner, if that is another process
  std::vector<shards::ProcessRow> living_;
  std::optional<Duration> renewed_at_;
  bool gone_ = false;
};

}  // namespace tidemark::simulation
