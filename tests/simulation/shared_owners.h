// One of several processes that share the shards of a store, as ShardOwners is in the product: it goes by the same
// rules (common/kv/shard_claims.h), on the simulated database. One thread.
#pragma once
#include "common/kv/shard_claims.h"
#include "tests/simulation/shared_database.h"

namespace tidemark::simulation {

inline constexpr Duration kSharedLease = std::chrono::milliseconds(1500);

class SharedOwners final : public kv::ShardPlaces {
 public:
  struct Hooks {
    std::function<void(std::size_t shard)> gained, lost;
    std::function<void()> seen, moved;
  };

  /// All must outlive it; an engine for each shard. `address`: as the others know it.
  SharedOwners(OwnedEngine::Parts parts, std::vector<std::unique_ptr<OwnedEngine>>& engines, std::string address);
  void start(Hooks hooks);
  /// The process is dead: nobody is to go on as an owner.
  void leave() { gone_ = true; }

  [[nodiscard]] std::size_t shards() const override { return engines_.size(); }
  [[nodiscard]] Place place_of(std::size_t shard) const override;
  [[nodiscard]] bool leased(std::size_t shard) const override { return engines_[shard]->leased(); }
  [[nodiscard]] const std::string& process() const override { return process_; }
  [[nodiscard]] std::vector<kv::ProcessRow> processes() const override { return living_; }
  void look() override { look_soon_.notify_all(); }
  Result<void> wish(std::size_t, const std::string&) override { return fail(ErrorCode::kNotImplemented); }
  [[nodiscard]] std::string wished(std::size_t) const override { return {}; }

 private:
  static Task<void> run(SharedOwners& self);
  static Task<void> let_go(SharedOwners& self, std::size_t shard);
  Task<void> turn();
  Task<void> renew();
  Task<bool> claim(std::size_t shard, const kv::SeenOwner& seen);
  bool drop_lost(const kv::OwnersTable& table);
  void give_up(std::size_t shard, kv::Holding next);
  void publish(const kv::OwnersTable& table);
  /// Between this process and the database. False: it has died.
  Task<bool> travel();
  [[nodiscard]] std::chrono::nanoseconds now() const { return life_.clock().monotonic(); }

  SharedDatabase& database_;
  Scheduler& scheduler_;
  Life& life_;
  std::vector<std::unique_ptr<OwnedEngine>>& engines_;
  const std::string address_, place_, process_;
  Hooks hooks_;
  kv::ShardClaims claims_;
  Signal look_soon_;
  std::vector<kv::Holding> holdings_;
  std::vector<bool> closing_;
  std::vector<std::string> addresses_;  // of the owners of shards that are elsewhere
  std::vector<kv::ProcessRow> living_;
  std::optional<Duration> renewed_at_;
  bool gone_ = false;
};

}  // namespace tidemark::simulation
