// The database that several processes of a store share in the simulation (docs/scale.md, Owners): the rows and the
// owner of each shard, and the processes that live. It never fails; requests take effect at once, in the order of their
// arrival. One thread.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/shards/shard_claims.h"
#include "tests/simulation/watched_engine.h"

namespace tidemark::simulation {

struct HeldShard {
  std::size_t shard = 0;
  std::int64_t epoch = 0;
};

enum class EpochCheck : std::uint8_t { kEachCommit = 1, kNone = 2 };  // kNone: a broken database

class SharedDatabase {
 public:
  using Watcher = std::function<void(std::size_t shard, const Committed&)>;

  SharedDatabase(std::size_t shards, EpochCheck check, Watcher watcher);
  /// Breaks the engines: an owner reads its own state even while its commit, which others may already see, is on its
  /// way.
  bool owners_are_behind = false;
  /// Some owners hear late that the database has taken their commit.
  bool answers_are_late = false;

  [[nodiscard]] std::size_t shards() const { return shards_.size(); }
  [[nodiscard]] std::shared_ptr<const kv::Reader> snapshot(std::size_t shard) const {
    return shards_[shard].rows->snapshot();
  }

  [[nodiscard]] const kv::Engine& rows(std::size_t shard) const { return *shards_[shard].rows; }

  /// `place`: the host of the process that asks; processes that ran there before have ended.
  [[nodiscard]] shards::OwnersTable read(const std::string& place) const;
  /// Returns the epoch of the new owner; nothing if the owner has changed since it was seen.
  std::optional<std::int64_t> claim(std::size_t shard, const shards::SeenOwner& seen, const std::string& process,
                                    const std::string& place);
  /// Returns the shards that the process still owns.
  std::vector<std::size_t> renew(const shards::ProcessRow& process, const std::string& place,
                                 const std::vector<HeldShard>& held);
  /// Removes the process that ran at the place before.
  void enter(const std::string& place);
  void forget(const shards::ProcessRow& process);
  void let_go(const HeldShard& held);
  /// Returns false, and writes nothing, if the shard has another owner by now.
  bool commit(const HeldShard& held, const std::vector<Committed>& group);
  /// The number of shards that were taken from an owner that had not let go of them.
  [[nodiscard]] std::uint64_t takeovers() const { return takeovers_; }
  /// The number of refused commits of former owners.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Shard {
    std::unique_ptr<kv::Engine> rows;
    shards::OwnerRow owner;
    std::string place;
  };
  struct Process {
    shards::ProcessRow row;
    std::string place;
  };

  const EpochCheck check_;
  const Watcher watcher_;
  std::vector<Shard> shards_;
  std::map<std::string, Process> processes_;
  std::uint64_t takeovers_ = 0, refused_ = 0;
};

/// The engine of a shard in one of the processes, which may own it. Groups of transactions are carried out on the rows
/// that the owner knows and are sent to the database; they arrive there some time later, even if the owner is dead by
/// then, and some time after that the owner hears of it. The owner reads its own rows while its lease is good and
/// nothing is on its way; every other read goes to the database.
class OwnedEngine final : public kv::Engine {
 public:
  struct Parts {
    SharedDatabase& database;
    Scheduler& scheduler;
    Life& life;
  };
  OwnedEngine(Parts parts, std::size_t shard, ExpectedCause& expected);

  void open(std::int64_t epoch, Duration lease_ends);
  /// Takes no more transactions; those that were submitted are still carried out.
  void close() { open_ = false; }
  void renewed(std::int64_t epoch, Duration lease_ends);
  [[nodiscard]] bool idle() const { return waiting_.empty() && !under_way_; }
  /// Tells whether the database has refused a commit of this owner.
  [[nodiscard]] bool lost() const { return lost_; }
  [[nodiscard]] bool leased() const;
  [[nodiscard]] HeldShard held() const { return {shard_, epoch_}; }

  [[nodiscard]] std::shared_ptr<const kv::Reader> snapshot() const override;
  void submit(kv::TransactionBody body, kv::Completion done) override;
  void erase_ranges(std::vector<kv::KeyRange> ranges, kv::Completion done) override;
  [[nodiscard]] std::size_t queue_depth() const override { return waiting_.size(); }

  void abandon();

 private:
  struct Waiting {
    kv::TransactionBody body;
    kv::Completion done;
    Cause cause;
  };
  struct Group {
    std::vector<Committed> committed;
    std::vector<std::pair<kv::Completion, Result<void>>> outcomes;
  };
  void later(std::function<void()> step, Duration longest);
  [[nodiscard]] Duration longest_answer() const;
  void execute_waiting();
  void send(std::shared_ptr<Group> group);
  void end(const std::shared_ptr<Group>& group, bool taken);

  SharedDatabase& database_;
  Scheduler& scheduler_;
  Life& life_;
  const std::size_t shard_;
  ExpectedCause& expected_;
  bool open_ = false, lost_ = false;
  std::int64_t epoch_ = 0;
  Duration lease_ends_{};
  std::unique_ptr<kv::Engine> ahead_, known_;  // the rows with the group under way, and those that are committed
  std::deque<Waiting> waiting_;
  std::shared_ptr<Group> under_way_;  // one at a time
};

}  // namespace tidemark::simulation
