// One run: the stores, the workers and the people of a plan, the faults that happen to them, and the checks when
// everything is quiet again.
#pragma once
#include <string>

#include "tests/simulation/trace.h"

namespace tidemark::simulation {

/// Rules that can be taken out of the stores, to see whether the oracles notice it.
struct Without {
  bool etag_guard = false;
  bool fence = false;
  bool put_if_newer = false;
  bool lease_epoch = false;
  bool one_transaction = false;  // a message ends before the messages that replace it are put
  bool arrival = false;          // a message that was brought from another shard is brought again
  bool notes = false;            // some changes of followed tables are not noted
  bool staleness = false;        // a follower is not told that changes are lost
  bool proof = false;            // lookups take changed entities for what their rows say
  bool freshness = false;        // lookups answer before the index is as fresh as they ask
  bool epoch = false;            // the database takes commits of former owners of a shard
  bool sync = false;             // the engines acknowledge commits that a crash still loses
  bool moments = false;          // an owner reads its own rows, even while others see a later commit of it
  bool steps = false;            // a step of a transaction that was taken is taken again
  bool rule_ids = false;         // a rule that reads a change again makes another job
  bool rule_place = false;       // a rule passes a change by before its job is durable
  bool record_epoch = false;     // a worker of a user's ends a job that a later delivery has
  bool witnesses = false;        // there are no witnesses, and seeds run as without them
};

struct RunOutcome {
  std::vector<std::string> violations;  // empty: the run was right
  std::uint64_t hash = 0;
  std::uint64_t notes = 0;
  std::uint64_t moves = 0;      // entities removed from the source by workers
  std::uint64_t changes = 0;    // by the people
  std::uint64_t callbacks = 0;  // requests that reached the endpoint
  std::uint64_t crashes = 0;
  std::uint64_t lookups = 0;
  std::uint64_t witnessed = 0;                               // operations in histories
  std::uint64_t by_lists = 0;                                // pages of queries that went by lists
  std::uint64_t carried = 0;                                 // messages from one shard to another
  std::uint64_t in_parts = 0;                                // messages that were put into parts of a spread queue
  std::uint64_t takeovers = 0;                               // of shards whose owner had not let go of them
  std::uint64_t refused = 0;                                 // commits of former owners
  std::uint64_t succeeded = 0, poisoned = 0, cancelled = 0;  // jobs
  std::uint64_t transfers = 0;                               // transactions that succeeded
  std::uint64_t shipments = 0;                               // jobs that a rule has made
  std::uint64_t taken_over = 0;                              // jobs that needed more than one delivery
  std::uint64_t virtual_ms = 0;
};

/// Takes the rules out of the stores of this process.
void set_switches(const Without& without);
RunOutcome run_seed(std::uint64_t seed, const Without& without, bool print);

}  // namespace tidemark::simulation
