// Knows the contents of the table store, from its commits, and checks each of them against the promises of the archive:
//   A1  a worker removes an entity from the source only if the destination has it
//   A2  an archived copy is the source at the version that it names, and that version never goes down
//   A3  a worker removes only the version that is archived, never a newer one
//   A5  a job takes back only a copy of its own, and only if no job has removed the entity because of that copy
//   C1, C2  the same for denormalised copies: a version that existed, and that never goes down
//   D1  a delete job removes only entities that its filter selects
//   A4  no effect of an operation lands once it is closed, nor of a delivery that was overtaken
// and in the jobs' records: a terminal state stays, epochs and progress only rise, and counters equal the moves.
// One thread.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/kv/key_codec.h"
#include "common/shards/shards.h"
#include "jobs/store/job_record.h"
#include "table_store/model/mutation.h"
#include "tests/simulation/store_hosts.h"

namespace tidemark::simulation {

inline constexpr const char* kSourceTable = "Source";
inline constexpr const char* kDestinationTable = "Archive";
inline constexpr const char* kCopiesTable = "Copies";

/// Returns the generation of the table whose entity has this key.
inline std::uint64_t generation_in(std::string_view key) {
  key.remove_prefix(1);
  return kv::take_u64(key).value_or(0);
}
/// Returns a key for messages, cut off because keys may be long.
inline std::string shown(const std::pair<std::string, std::string>& key) {
  return key.first.substr(0, 6) + "/" + key.second.substr(0, 6);
}

class TableOracle {
 public:
  using Key = std::pair<std::string, std::string>;
  struct SourceState {
    std::optional<table_store::Version> version;
    std::string bytes;
    table_store::Entity entity;
    std::map<table_store::Version, std::string> history;
    std::optional<table_store::Version> restored_from;  // the archived version that was restored
    std::uint64_t births = 0;                           // how often the entity began to exist
    std::map<table_store::Version, std::uint64_t> birth_of;
    std::optional<table_store::Version> moved_to;  // of the copy that was there when a job last removed the entity
  };
  struct Copy {
    table_store::Version source_version = 0;
    std::string operation;     // the last operation that wrote it
    std::uint64_t births = 0;  // of the source's entity when the copy was written
  };
  struct Operation {
    table_store::OperationLedger ledger;
    std::uint64_t moved = 0;
  };

  /// `user`: the host of the people, whose writes are not those of a worker.
  TableOracle(Scheduler& scheduler, int user, std::size_t shards)
      : scheduler_(scheduler), user_(user), placement_(shards, {}) {}

  void committed(const Committed& committed);
  /// Does the same as committed() for a shard that several processes share: the commit shows its operation, but not the
  /// delivery.
  void committed_on(std::size_t shard, const Committed& committed);
  /// Checks, when everything is at rest, that each key is in one place, and that records and ledgers agree.
  void check_quiet();

  [[nodiscard]] const std::map<std::string, jobs::JobRecord>& jobs() const { return jobs_; }
  [[nodiscard]] const std::map<Key, SourceState>& source() const { return source_; }
  [[nodiscard]] const std::map<Key, Copy>& copies() const { return copies_; }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }

 private:
  struct Context {
    std::size_t shard = 0;
    bool by_user = false;
    std::string operation;               // empty: the transaction has no fence
    std::optional<std::uint64_t> epoch;  // of the fence, if it is known
    bool counts = false;                 // the transaction counts its effects
    std::uint64_t moved = 0;
  };
  void look_at(const std::vector<RowChange>& changes, Context& context);
  [[nodiscard]] bool counts_more(const std::vector<RowChange>& changes, const Context& context) const;
  void entity_changed(const RowChange& change, Context& context);
  void source_changed(const Key& key, const std::optional<table_store::Entity>& now, Context& context);
  void destination_changed(const Key& key, const std::optional<table_store::Entity>& now, Context& context);
  void check_removed(const Key& key, const SourceState& state, const Context& context);
  void check_taken_back(const Key& key, const Context& context);
  void check_restored(const Key& key, const table_store::Entity& now);
  void denormalised_changed(const Key& key, const std::optional<table_store::Entity>& now, Context& context);
  void record_changed(const Key& key, const std::optional<table_store::Entity>& now);
  void ledger_changed(const RowChange& change, const Context& context);
  void check_job(const jobs::JobRecord& job);
  void violated(std::string text);

  Scheduler& scheduler_;
  int user_;
  shards::Placement placement_;
  std::map<std::uint64_t, std::string> tables_;  // by generation
  std::map<Key, SourceState> source_;
  std::map<Key, Copy> copies_;
  std::map<Key, table_store::Version> denormalised_;
  std::map<std::pair<std::string, std::size_t>, Operation> operations_;  // by id and shard
  std::map<std::string, jobs::JobRecord> jobs_;
  std::uint64_t moves_ = 0;
};

}  // namespace tidemark::simulation
