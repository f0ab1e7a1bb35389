// The plan of a seed: sizes, times, jobs, and how often each fault happens. It is drawn before the run, so that it can
// be printed with it. Each kind of fault is absent in some seeds, or else one would always hide another.
#pragma once
#include <string>
#include <vector>

#include "tests/simulation/endpoint.h"
#include "tests/simulation/faults.h"

namespace tidemark::simulation {

struct PlannedJob {
  std::string spec;  // JSON; empty: only a message, which is no job
  Duration after{};
  bool cancelled = false;
  bool undone = false;  // another job undoes it once it has ended
  Duration cancel_after{};
};

/// A group of jobs, with one callback at the end of all.
struct PlannedGroup {
  std::string name;  // empty: there is no group
  std::string batch;
  Duration after{};
};

/// Requests to an index that exists.
enum class IndexWish : std::uint8_t { kPause, kResume, kRebuild, kScrub, kReplace, kDrop, kLast = kDrop };

/// One of simulated_indexes() (index_oracle.h).
struct PlannedIndex {
  std::string name;
  Duration after{};
  std::uint64_t max_changes = 0;                       // the changes that may wait before it is stale; 0: no limit
  std::vector<std::pair<IndexWish, Duration>> wishes;  // one after the other; in the end it is resumed
};

/// Transactions that move money between accounts (transfer_oracle.h).
struct PlannedTransfers {
  std::vector<std::pair<std::string, std::string>> accounts;  // their keys; empty: there are no transfers
  std::vector<PlannedJob> jobs;
  bool shipped = false;  // a rule makes a job of each that succeeds, for a worker of users' own (own_workers.h)
};

struct Plan {
  int workers = 2;
  std::size_t concurrency = 1;
  Duration lease{};
  Duration poll{};
  Duration retry_base{};
  std::vector<std::pair<std::string, std::string>> keys;  // of the entities in the source
  std::size_t hot_keys = 1;
  Duration user_pause{};
  std::vector<PlannedJob> jobs;
  PlannedGroup group;
  PlannedTransfers transfers;
  std::vector<PlannedIndex> indexes;
  bool queries = false;         // people's queries go by the lists of an index, in every second seed
  std::size_t piece_units = 0;  // the limit of a list's piece: a few keys, in half of the seeds
  bool index_jobs = false;      // there are index jobs, the last one when all else is quiet
  EndpointFaults endpoint;
  Duration faults_last{};
  LinkFaults link;
  FaultGaps gaps;
  Duration skew{};
  std::size_t table_shards = 1, queue_shards = 1;
  int table_processes = 1, queue_processes = 1;  // the processes that share the shards
  std::uint32_t job_parts = 1;                   // the parts over which the queue of jobs is spread
};

Plan make_plan(Dice& dice, std::uint64_t seed);
std::string describe(const Plan& plan);

}  // namespace tidemark::simulation
