#include "tests/simulation/shared_database.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongestWay = 2ms, kLate = 200ms;
constexpr Duration kLookAgain = 5ms;  // whether a frozen host goes on

std::unexpected<Error> elsewhere() { return fail(ErrorCode::kServerBusy, "Another process serves this shard."); }

std::unique_ptr<kv::Engine> copy_of(const kv::Reader& rows) {
  auto engine = kv::make_memory_engine();
  copy_rows(rows, *engine);
  return engine;
}

}  // namespace

SharedDatabase::SharedDatabase(std::size_t shards, EpochCheck check, Watcher watcher)
    : check_(check), watcher_(std::move(watcher)), shards_(shards) {
  for (auto& shard : shards_) shard.rows = kv::make_memory_engine();
}

shards::OwnersTable SharedDatabase::read(const std::string& place) const {
  shards::OwnersTable table;
  for (const auto& shard : shards_) {
    table.shards.push_back(shard.owner);
    table.shards.back().ended = shard.place == place;
  }
  for (const auto& [name, process] : processes_) table.processes.push_back(process.row);
  return table;
}

std::optional<std::int64_t> SharedDatabase::claim(std::size_t number, const shards::SeenOwner& seen,
                                                  const std::string& process, const std::string& place) {
  auto& shard = shards_[number];
  if (shard.owner.seen != seen) return std::nullopt;
  if (!shard.owner.released) ++takeovers_;
  ++shard.owner.seen.epoch;
  shard.owner.process = process;
  shard.owner.released = false;
  shard.place = place;
  return shard.owner.seen.epoch;
}

std::vector<std::size_t> SharedDatabase::renew(const shards::ProcessRow& process, const std::string& place,
                                               const std::vector<HeldShard>& held) {
  std::vector<std::size_t> renewed;
  for (const auto& [number, epoch] : held) {
    auto& seen = shards_[number].owner.seen;
    if (seen.epoch != epoch) continue;
    ++seen.renewals;
    renewed.push_back(number);
  }
  auto& known = processes_[process.name];
  const auto renewals = known.row.renewals + 1;
  known = {process, place};
  known.row.renewals = renewals;
  return renewed;
}

void SharedDatabase::enter(const std::string& place) {
  std::erase_if(processes_, [&](const auto& process) { return process.second.place == place; });
}

void SharedDatabase::forget(const shards::ProcessRow& process) {
  const auto found = processes_.find(process.name);
  if (found != processes_.end() && found->second.row.renewals == process.renewals) processes_.erase(found);
}

void SharedDatabase::let_go(const HeldShard& held) {
  auto& owner = shards_[held.shard].owner;
  if (owner.seen.epoch == held.epoch) owner.released = true;
}

bool SharedDatabase::commit(const HeldShard& held, const std::vector<Committed>& group) {
  auto& shard = shards_[held.shard];
  if (shard.owner.seen.epoch != held.epoch) {
    ++refused_;
    if (check_ == EpochCheck::kEachCommit) return false;
  }
  for (const auto& committed : group) {
    write_rows(*shard.rows, committed.noted.changes);
    watcher_(held.shard, committed);
  }
  return true;
}

OwnedEngine::OwnedEngine(Parts parts, std::size_t shard, ExpectedCause& expected)
    : database_(parts.database),
      scheduler_(parts.scheduler),
      life_(parts.life),
      shard_(shard),
      expected_(expected),
      ahead_(kv::make_memory_engine()),
      known_(kv::make_memory_engine()) {}

void OwnedEngine::open(std::int64_t epoch, Duration lease_ends) {
  const auto rows = database_.snapshot(shard_);
  ahead_ = copy_of(*rows);
  known_ = copy_of(*rows);
  epoch_ = epoch;
  lease_ends_ = lease_ends;
  open_ = true;
  lost_ = false;
}

void OwnedEngine::renewed(std::int64_t epoch, Duration lease_ends) {
  if (open_ && epoch == epoch_) lease_ends_ = lease_ends;
}

bool OwnedEngine::leased() const { return open_ && !lost_ && life_.clock().monotonic() < lease_ends_; }

std::shared_ptr<const kv::Reader> OwnedEngine::snapshot() const {
  const bool knows_all = !under_way_ || database_.owners_are_behind;
  return leased() && knows_all ? known_->snapshot() : database_.snapshot(shard_);
}

void OwnedEngine::submit(kv::TransactionBody body, kv::Completion done) {
  if (life_.dead() || !open_ || lost_) {
    body = nullptr;
    return done(elsewhere());
  }
  waiting_.push_back({std::move(body), std::move(done), expected_.take()});
  if (waiting_.size() == 1 && !under_way_) later([this] { execute_waiting(); }, kLongestWay);
}

/// Erases the ranges in one transaction, which reads the keys that are there.
void OwnedEngine::erase_ranges(std::vector<kv::KeyRange> ranges, kv::Completion done) {
  if (life_.dead() || !open_ || lost_) return done(elsewhere());
  kv::TransactionBody body = [ranges = std::move(ranges)](kv::Transaction& txn) -> Result<void> {
    for (const auto& range : ranges) {
      std::vector<std::string> keys;
      for (auto cursor = txn.scan(range, kv::Direction::kForward); cursor->valid(); cursor->next()) {
        keys.emplace_back(cursor->key());
      }
      for (const auto& key : keys) txn.erase(key);
    }
    return {};
  };
  submit(std::move(body), std::move(done));
}

/// Carries out the step after some time, at this host, once it is not frozen.
void OwnedEngine::later(std::function<void()> step, Duration longest) {
  scheduler_.after(scheduler_.dice().between(0ms, longest), [this, step = std::move(step), scheduler = &scheduler_,
                                                             host = life_.host(), number = life_.number()]() mutable {
    if (scheduler->find_life(host, number) == nullptr) return;
    if (!scheduler->host(host).frozen) return step();
    scheduler->after(kLookAgain, [this, step = std::move(step), scheduler, host, number]() mutable {
      if (scheduler->find_life(host, number) != nullptr) later(std::move(step), kLongestWay);
    });
  });
}

Duration OwnedEngine::longest_answer() const {
  return database_.answers_are_late && scheduler_.dice().chance(2500) ? kLate : kLongestWay;
}

void OwnedEngine::execute_waiting() {
  auto group = std::make_shared<Group>();
  for (auto& transaction : std::exchange(waiting_, {})) {
    Committed committed;
    Result<void> outcome;
    ahead_->submit(watched(transaction.body, committed.noted),
                   [&outcome](Result<void> result) { outcome = std::move(result); });
    committed.cause = std::move(transaction.cause);
    if (outcome && !committed.noted.changes.empty()) group->committed.push_back(std::move(committed));
    group->outcomes.emplace_back(std::move(transaction.done), std::move(outcome));
  }
  under_way_ = group;
  later([this, group] { send(group); }, kLongestWay);
}

/// Sends a group to the database, where it arrives even if this process is frozen or dead by then.
void OwnedEngine::send(std::shared_ptr<Group> group) {
  scheduler_.after(scheduler_.dice().between(0ms, kLongestWay),
                   [this, group = std::move(group), database = &database_, held = held(), scheduler = &scheduler_,
                    host = life_.host(), number = life_.number()] {
                     const bool taken = group->committed.empty() || database->commit(held, group->committed);
                     if (scheduler->find_life(host, number) == nullptr) return;
                     later([this, group, taken] { end(group, taken); }, longest_answer());
                   });
}

void OwnedEngine::end(const std::shared_ptr<Group>& group, bool taken) {
  under_way_.reset();
  if (!taken) lost_ = true;
  for (const auto& committed : group->committed) {
    if (taken) write_rows(*known_, committed.noted.changes);
  }
  for (auto& [done, outcome] : group->outcomes) done(taken ? std::move(outcome) : Result<void>(elsewhere()));
  if (lost_) return abandon();
  if (!waiting_.empty()) later([this] { execute_waiting(); }, kLongestWay);
}

void OwnedEngine::abandon() {
  for (auto& transaction : std::exchange(waiting_, {})) {
    transaction.body = nullptr;
    transaction.done(elsewhere());
  }
  if (const auto group = std::exchange(under_way_, nullptr)) {
    for (auto& [done, outcome] : std::exchange(group->outcomes, {})) done(elsewhere());
  }
}

}  // namespace tidemark::simulation
