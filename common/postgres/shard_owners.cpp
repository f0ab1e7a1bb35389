#include "common/postgres/shard_owners.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/postgres/postgres_owners.h"

namespace tidemark::kv {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kLookEvery{500};
constexpr milliseconds kRenewEvery{2'000};
/// The least time between looks, however often they are asked for.
constexpr milliseconds kBetweenUseLooks{20};
/// The patience is a lease and this fraction of it more, since the clocks of two machines differ.
constexpr int kMarginOfLease = 6;
/// How often to check whether an engine that is being closed is still in use.
constexpr milliseconds kLetGoPoll{1};

nanoseconds patience_with(milliseconds lease) { return lease + lease / kMarginOfLease; }

}  // namespace

ShardOwners::ShardOwners(PostgresOptions options, std::string process, std::size_t shards)
    : options_(std::move(options)),
      process_(std::move(process)),
      count_(shards),
      claims_(process_, patience_with(options_.lease)),
      shards_(shards) {}

Result<std::unique_ptr<ShardOwners>> ShardOwners::open(PostgresOptions options, std::string process,
                                                       std::size_t shards) {
  options.renewed_elsewhere = true;
  TRY(detail::prepare_tables(options));
  std::unique_ptr<ShardOwners> owners(new ShardOwners(std::move(options), std::move(process), shards));
  owners->tables_ = std::make_unique<detail::OwnersTables>(TRY(detail::OwnersTables::open(owners->options_, shards)));
  return owners;
}

ShardOwners::~ShardOwners() { stop(); }

std::vector<std::unique_ptr<ClaimedEngine>> ShardOwners::make_engines() {
  const MutexLock lock(mutex_);
  std::vector<std::unique_ptr<ClaimedEngine>> engines;
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    auto options = options_;
    options.shard = static_cast<std::int64_t>(shard);
    engines.push_back(std::make_unique<ClaimedEngine>(std::move(options)));
    shards_[shard].engine = engines.back().get();
  }
  return engines;
}

Result<void> ShardOwners::start(std::string address, Hooks hooks) {
  address_ = std::move(address);
  hooks_ = std::move(hooks);
  // The predecessor of this process in the same place has ended.
  TRY(tables_->leave(process_));
  closes_ = std::thread([this] { close_engines(); });
  TRY(turn());
  looks_ = std::thread([this] { run(); });
  return {};
}

void ShardOwners::look() {
  const MutexLock lock(mutex_);
  look_soon_ = true;
  changed_.notify_all();
}

void ShardOwners::run() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      const auto begun = std::chrono::steady_clock::now();
      const auto until = begun + kLookEvery;
      while (!stopping_ && !look_soon_ && changed_.wait_until(mutex_, until) == std::cv_status::no_timeout) {
      }
      while (!stopping_ && changed_.wait_until(mutex_, begun + kBetweenUseLooks) == std::cv_status::no_timeout) {
      }
      if (stopping_) return;
      look_soon_ = false;
    }
    auto done = turn();
    const MutexLock lock(mutex_);
    if (done.has_value() == failure_.has_value()) {
      if (done) log_info("the table of owners can be read again");
      if (!done) log_error("the table of owners cannot be read reason=\"{}\"", done.error().detail);
    }
    failure_ = done
                   ? std::nullopt
                   : std::optional(make_error(ErrorCode::kServerBusy, "The database of this store cannot be reached."));
  }
}

Result<void> ShardOwners::turn() {
  std::deque<std::pair<std::size_t, std::string>> wishes;
  bool leaving = false;
  {
    const MutexLock lock(mutex_);
    wishes.swap(wishes_);
    leaving = leaving_;
  }
  for (const auto& [shard, process] : wishes) TRY(tables_->wish(shard, process));
  if (leaving && !left_) {
    TRY(tables_->leave(process_));
    left_ = true;
  }
  if (!leaving && lease_clock() - renewed_at_ >= kRenewEvery) TRY(renew());
  const auto begun = lease_clock();
  const auto table = TRY(tables_->read());
  const shards::ReadAt at{begun, lease_clock()};
  bool moved = drop_lost(table);
  const auto plan = claims_.plan(table, holdings(), at);
  if (!leaving) {
    moved = claim(table, plan.claim) || moved;
    if (plan.release) give_up(*plan.release, shards::Holding::kLeaves);
  }
  publish(table);
  for (const auto& process : claims_.forgotten(table, at)) TRY(tables_->forget(process));
  hooks_.seen();
  if (moved) hooks_.moved();
  return {};
}

/// A lease is valid from the moment at which its renewal was sent.
Result<void> ShardOwners::renew() {
  std::vector<std::pair<detail::HeldShard, std::shared_ptr<PostgresEngine>>> held;
  {
    const MutexLock lock(mutex_);
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      if (auto engine = shards_[shard].engine->own()) {
        const auto epoch = engine->epoch();
        held.emplace_back(detail::HeldShard{shard, epoch}, std::move(engine));
      }
    }
  }
  std::vector<detail::HeldShard> named;
  for (const auto& [shard, engine] : held) named.push_back(shard);
  const auto sent = lease_clock();
  const auto renewed = TRY(tables_->renew({process_, address_, 0}, named));
  renewed_at_ = sent;
  for (const auto& [shard, engine] : held) {
    if (std::ranges::find(renewed, shard.shard) != renewed.end()) engine->renewed(shard.epoch, sent);
  }
  return {};
}

/// Gives up shards that another process has taken, and engines that take nothing any more.
bool ShardOwners::drop_lost(const shards::OwnersTable& table) {
  bool any = false;
  for (std::size_t shard = 0; shard < table.shards.size(); ++shard) {
    const auto& row = table.shards[shard];
    std::shared_ptr<PostgresEngine> engine;
    {
      const MutexLock lock(mutex_);
      if (shards_[shard].holding == shards::Holding::kServes) engine = shards_[shard].engine->own();
    }
    if (!engine) continue;
    const bool taken = row.process != process_ && row.seen.epoch > engine->epoch();
    if (!taken && !engine->ended()) continue;
    log_warning("a shard was lost shard={} owner={} epoch={}", shard, row.process, row.seen.epoch);
    engine.reset();
    give_up(shard, shards::Holding::kNothing);
    any = true;
  }
  return any;
}

bool ShardOwners::is_closing(std::size_t shard) const {
  const MutexLock lock(mutex_);
  return std::ranges::find(closing_, shard, &Closing::shard) != closing_.end();
}

/// Claims the wanted shards, except those whose former engine is still being closed: its work must not meet that of the
/// next engine.
bool ShardOwners::claim(const shards::OwnersTable& table, const std::vector<std::size_t>& wanted) {
  bool any = false;
  for (const auto shard : wanted) {
    if (is_closing(shard)) continue;
    const auto& row = table.shards[shard];
    auto engine = open_shard(shard, row.seen);
    if (!engine) {
      log_info("a shard was not claimed shard={} reason=\"{}\"", shard, engine.error().message);
      continue;
    }
    const bool takeover = !row.released && row.process != process_;
    log_info("a shard was claimed shard={} epoch={} former_owner={} takeover={}", shard, (*engine)->epoch(),
             row.process.empty() ? "none" : row.process, takeover);
    bool leaving = false;
    hooks_.lost(shard);
    {
      const MutexLock lock(mutex_);
      auto& mine = shards_[shard];
      mine.engine->open(std::move(*engine));
      mine.since = lease_clock();
      mine.holding = shards::Holding::kServes;
      if (takeover) ++mine.takeovers;
      leaving = leaving_;
    }
    hooks_.gained(shard);
    if (leaving) give_up(shard, shards::Holding::kLeaves);
    any = true;
    if (lease_clock() - renewed_at_ >= kRenewEvery) static_cast<void>(renew().has_value());  // the turn will retry
  }
  return any;
}

Result<std::shared_ptr<PostgresEngine>> ShardOwners::open_shard(std::size_t shard, const shards::SeenOwner& seen) {
  auto options = options_;
  options.shard = static_cast<std::int64_t>(shard);
  options.owner = process_ + "#" + std::to_string(++openings_);
  options.seen = seen;
  return std::shared_ptr<PostgresEngine>(TRY(claim_postgres(options)));
}

void ShardOwners::give_up(std::size_t shard, shards::Holding next) {
  {
    const MutexLock lock(mutex_);
    auto& mine = shards_[shard];
    mine.holding = next;
    closing_.push_back({shard, mine.engine->close()});
    changed_.notify_all();
  }
  hooks_.lost(shard);
}

/// Destroys engines, which carries out the submitted transactions and lets go of the lease.
void ShardOwners::close_engines() {
  for (;;) {
    Closing next;
    {
      MutexLock lock(mutex_);
      while (closing_.empty() && !closed_) changed_.wait(mutex_);
      if (closing_.empty()) return;
      next = closing_.front();
      closing_.front().engine.reset();
    }
    if (next.engine) next.engine->drain();
    while (next.engine.use_count() > 1) std::this_thread::sleep_for(kLetGoPoll);
    next.engine.reset();
    {
      const MutexLock lock(mutex_);
      closing_.pop_front();
      if (shards_[next.shard].holding == shards::Holding::kLeaves)
        shards_[next.shard].holding = shards::Holding::kNothing;
      look_soon_ = true;
      changed_.notify_all();
    }
    hooks_.moved();
  }
}

std::vector<shards::Holding> ShardOwners::holdings() const {
  const MutexLock lock(mutex_);
  std::vector<shards::Holding> holdings;
  for (const auto& shard : shards_) holdings.push_back(shard.holding);
  return holdings;
}

void ShardOwners::publish(const shards::OwnersTable& table) {
  const MutexLock lock(mutex_);
  processes_.clear();
  std::map<std::string, std::string> addresses;
  for (const auto& process : table.processes) {
    if (!claims_.lives(process.name)) continue;
    processes_.push_back(process);
    addresses[process.name] = process.address;
  }
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    auto& mine = shards_[shard];
    const auto& row = table.shards[shard];
    mine.process = row.process;
    mine.epoch = row.seen.epoch;
    mine.wish = row.wish;
    mine.engine->know(row.seen.epoch);
    const auto owner = addresses.find(row.process);
    const bool elsewhere = row.process != process_ && owner != addresses.end() && !claims_.is_free(shard);
    mine.address = elsewhere ? owner->second : std::string();
  }
}

void ShardOwners::leave() {
  std::vector<std::size_t> served;
  {
    const MutexLock lock(mutex_);
    leaving_ = true;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      if (shards_[shard].holding == shards::Holding::kServes) served.push_back(shard);
    }
  }
  for (const auto shard : served) give_up(shard, shards::Holding::kLeaves);
  MutexLock lock(mutex_);
  look_soon_ = true;
  changed_.notify_all();
  while (!closing_.empty()) changed_.wait(mutex_);
}

void ShardOwners::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (looks_.joinable()) looks_.join();
  leave();
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  if (closes_.joinable()) closes_.join();
  if (tables_) static_cast<void>(tables_->leave(process_).has_value());  // else the others see it later
  tables_.reset();
}

ShardOwners::Place ShardOwners::place_of(std::size_t shard) const {
  const MutexLock lock(mutex_);
  const auto& mine = shards_[shard];
  if (mine.holding == shards::Holding::kServes) return {true, {}};
  return {false, mine.holding == shards::Holding::kLeaves ? std::string() : mine.address};
}

bool ShardOwners::leased(std::size_t shard) const {
  std::shared_ptr<PostgresEngine> engine;
  {
    const MutexLock lock(mutex_);
    engine = shards_[shard].engine->own();
  }
  return engine && lease_clock() < engine->lease_ends();
}

std::optional<Error> ShardOwners::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

std::vector<ShardOwners::Shown> ShardOwners::show() const {
  const auto now = lease_clock();
  const MutexLock lock(mutex_);
  std::vector<Shown> shown;
  for (const auto& mine : shards_) {
    Shown one{.process = mine.address.empty() ? std::string() : mine.process,
              .epoch = mine.epoch,
              .wish = mine.wish,
              .takeovers = mine.takeovers,
              .engine = mine.engine->own()};
    if (one.engine) {
      one.here = true;
      one.process = process_;
      one.epoch = one.engine->epoch();
      one.lease_left = one.engine->lease_ends() - now;
      one.served_for = now - mine.since;
    }
    shown.push_back(std::move(one));
  }
  return shown;
}

std::vector<shards::ProcessRow> ShardOwners::processes() const {
  const MutexLock lock(mutex_);
  return processes_;
}

std::string ShardOwners::wished(std::size_t shard) const {
  const MutexLock lock(mutex_);
  return shards_[shard].wish;
}

Result<void> ShardOwners::wish(std::size_t shard, const std::string& process) {
  const MutexLock lock(mutex_);
  if (shard >= shards_.size()) {
    return fail(ErrorCode::kInvalidInput, "There are shards 0 to " + std::to_string(shards_.size() - 1) + ".");
  }
  const auto named = [&](const shards::ProcessRow& row) { return row.name == process; };
  if (!process.empty() && std::ranges::none_of(processes_, named)) {
    std::string living;
    for (const auto& row : processes_) living += (living.empty() ? "" : ", ") + row.name;
    return fail(ErrorCode::kInvalidInput,
                "No process of this store that lives has the name " + process + ". These live: " + living + ".");
  }
  wishes_.emplace_back(shard, process);
  look_soon_ = true;
  changed_.notify_all();
  return {};
}

}  // namespace tidemark::kv
