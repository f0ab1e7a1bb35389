#include "tests/simulation/shared_owners.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;
using shards::Holding;

constexpr Duration kLookEvery = 100ms;
constexpr Duration kBetweenTurns = 5ms;  // at least, no matter how often a turn is asked for
constexpr Duration kRenewEvery = 400ms;
constexpr Duration kLongestAsked = 3ms;
constexpr Duration kLookWhetherIdle = 5ms;

}  // namespace

SharedOwners::SharedOwners(OwnedEngine::Parts parts, std::vector<std::unique_ptr<OwnedEngine>>& engines,
                           std::string address)
    : database_(parts.database),
      scheduler_(parts.scheduler),
      life_(parts.life),
      engines_(engines),
      address_(std::move(address)),
      place_(parts.scheduler.host(parts.life.host()).name),
      process_(place_ + "." + std::to_string(parts.life.number())),
      claims_(process_, kSharedLease + kSharedLease / 6),
      holdings_(engines.size(), Holding::kNothing),
      closing_(engines.size()),
      addresses_(engines.size()) {}

void SharedOwners::start(Hooks hooks) {
  hooks_ = std::move(hooks);
  auto task = run(*this);
  spawn(life_.executor(), std::move(task));
}

Task<bool> SharedOwners::travel() {
  co_await sleep_for(life_.clock(), scheduler_.dice().between(0ms, kLongestAsked));
  co_return !life_.dead();
}

Task<void> SharedOwners::run(SharedOwners& self) {
  if (co_await self.travel()) self.database_.enter(self.place_);
  while (!self.life_.dead()) {
    const auto ticket = self.look_soon_.ticket();
    co_await self.turn();
    co_await sleep_for(self.life_.clock(), kBetweenTurns);
    co_await self.look_soon_.wait(ticket, self.life_.clock(), kLookEvery);
  }
}

Task<void> SharedOwners::turn() {
  if (!renewed_at_ || life_.clock().monotonic() - *renewed_at_ >= kRenewEvery) co_await renew();
  const auto begun = now();
  if (!co_await travel()) co_return;
  const auto table = database_.read(place_);
  if (!co_await travel()) co_return;
  bool moved = drop_lost(table);
  const auto plan = claims_.plan(table, holdings_, {begun, now()});
  for (const auto shard : plan.claim) moved = co_await claim(shard, table.shards[shard].seen) || moved;
  if (life_.dead()) co_return;
  if (plan.release) give_up(*plan.release, Holding::kLeaves);
  publish(table);
  for (const auto& process : claims_.forgotten(table, {begun, now()})) database_.forget(process);
  hooks_.seen();
  if (moved) hooks_.moved();
}

/// Renews the leases. A lease counts from the moment at which its renewal was sent.
Task<void> SharedOwners::renew() {
  std::vector<HeldShard> held;
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    if (holdings_[shard] == Holding::kServes) held.push_back(engines_[shard]->held());
  }
  const auto sent = life_.clock().monotonic();
  if (!co_await travel()) co_return;
  const auto renewed = database_.renew({process_, address_, 0}, place_, held);
  if (!co_await travel()) co_return;
  renewed_at_ = sent;
  for (const auto& [shard, epoch] : held) {
    if (std::ranges::find(renewed, shard) != renewed.end()) engines_[shard]->renewed(epoch, sent + kSharedLease);
  }
}

bool SharedOwners::drop_lost(const shards::OwnersTable& table) {
  bool any = false;
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    const auto& row = table.shards[shard];
    if (holdings_[shard] != Holding::kServes) continue;
    const bool taken = row.process != process_ && row.seen.epoch > engines_[shard]->held().epoch;
    if (!taken && !engines_[shard]->lost()) continue;
    give_up(shard, Holding::kNothing);
    any = true;
  }
  return any;
}

Task<bool> SharedOwners::claim(std::size_t shard, const shards::SeenOwner& seen) {
  if (closing_[shard]) co_return false;
  const auto sent = life_.clock().monotonic();
  if (!co_await travel()) co_return false;
  const auto epoch = database_.claim(shard, seen, process_, place_);
  if (!co_await travel() || !epoch) co_return false;
  hooks_.lost(shard);
  engines_[shard]->open(*epoch, sent + kSharedLease);
  holdings_[shard] = Holding::kServes;
  hooks_.gained(shard);
  co_return true;
}

void SharedOwners::give_up(std::size_t shard, Holding next) {
  engines_[shard]->close();
  holdings_[shard] = next;
  closing_[shard] = true;
  hooks_.lost(shard);
  auto task = let_go(*this, shard);
  spawn(life_.executor(), std::move(task));
}

Task<void> SharedOwners::let_go(SharedOwners& self, std::size_t shard) {
  while (!self.engines_[shard]->idle() && !self.life_.dead()) {
    co_await sleep_for(self.life_.clock(), kLookWhetherIdle);
  }
  if (!co_await self.travel()) co_return;
  self.database_.let_go(self.engines_[shard]->held());
  self.closing_[shard] = false;
  if (self.holdings_[shard] == Holding::kLeaves) self.holdings_[shard] = Holding::kNothing;
  self.hooks_.moved();
}

void SharedOwners::publish(const shards::OwnersTable& table) {
  living_.clear();
  std::map<std::string, std::string> addresses;
  for (const auto& process : table.processes) {
    if (!claims_.lives(process.name)) continue;
    living_.push_back(process);
    addresses[process.name] = process.address;
  }
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    const auto& row = table.shards[shard];
    const auto owner = addresses.find(row.process);
    const bool elsewhere = row.process != process_ && owner != addresses.end() && !claims_.is_free(shard);
    addresses_[shard] = elsewhere ? owner->second : std::string();
  }
}

shards::ShardPlaces::Place SharedOwners::place_of(std::size_t shard) const {
  if (gone_) return {false, {}};
  if (holdings_[shard] == Holding::kServes) return {true, {}};
  return {false, holdings_[shard] == Holding::kLeaves ? std::string() : addresses_[shard]};
}

}  // namespace tidemark::simulation
