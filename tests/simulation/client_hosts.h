// The callers of the simulation: workers, which run the real worker loop, and the people. One of them changes the
// source over a plain link, another submits and cancels jobs over a faulty one, as the api does.
#pragma once
#include <map>

#include "jobs/store/job_store.h"
#include "tests/simulation/endpoint.h"
#include "tests/simulation/plan.h"
#include "workers/indexes/keeper.h"
#include "workers/on_change/on_change_owner.h"
#include "workers/runtime/worker_loop.h"

namespace tidemark::simulation {

struct Stores {
  std::vector<int> tables = {}, queues = {};  // the hosts of each store; several hosts share its shards
  int endpoint = 0;
};

class WorkerHost final : public Program {
 public:
  WorkerHost(Network& network, Life& life, Stores stores, const Plan& plan, std::string name, std::uint64_t seed);
  void start();
  /// Shuts down as on SIGTERM; calls `drained` when nothing runs any more.
  void shut_down(std::function<void()> drained);
  void unwind() override;

 private:
  static Task<void> begin(WorkerHost& self);
  static Task<void> drain(WorkerHost& self, std::function<void()> drained);
  Life& life_;
  SpreadTransport table_link_, queue_link_;
  table_store::TableClient tables_;
  queue_service::QueueClient queues_;
  std::unique_ptr<Random> random_;
  jobs::JobStore jobs_;
  indexes::IndexStore indexes_;
  feeds::OnChangeStore on_changes_;
  EndpointLink endpoint_;
  std::shared_ptr<workers::WorkerLoop> loop_;
  std::shared_ptr<workers::IndexKeeper> keeper_;
  std::shared_ptr<workers::OnChangeKeeper> rules_;
};

/// The notes of the people, by which the run knows how long to wait, and what to check.
struct PeopleNotes {
  bool ready = false;                     // the source is filled
  bool stop = false;                      // no more changes are to begin
  std::size_t busy = 0;                   // coroutines that still have something to do
  std::vector<std::string> submitted;     // acknowledged
  std::set<std::string> cancelled;        // acknowledged
  std::set<std::string> groups;           // acknowledged
  std::set<std::string> indexes;          // acknowledged
  std::set<std::string> dropped;          // acknowledged: nothing may be left of them in the end
  std::set<std::string> unanswered;       // indexes for which some declaration got no answer
  std::map<std::string, int> declared;    // how often an index was declared, or asked to be dropped
  table_store::Version last_version = 0;  // of an entity of the source; acknowledged
  bool breaks_freshness = false;          // lookups do not say how fresh their answers have to be
  bool all_quiet = false;                 // all is done but the work that waits for this
  std::size_t left_for_the_end = 0;       // coroutines that wait for all_quiet
  std::size_t changes = 0;
  std::uint64_t queries_by_lists = 0;  // the pages of queries that went by lists
};

class LookupOracle;
class Lookups;
class Witnesses;
struct Testimony;

class PeopleHost final : public Program {
 public:
  /// `testimony`: the notes of the witnesses; null: there are no witnesses.
  PeopleHost(Network& network, Life& life, Stores stores, const Plan& plan, PeopleNotes& notes, LookupOracle& lookups,
             Testimony* testimony, std::uint64_t seed);
  ~PeopleHost() override;
  void start();

 private:
  static Task<void> make_table(PeopleHost& self, std::string table);
  static Task<void> fill(PeopleHost& self);
  static Task<void> open_accounts(PeopleHost& self);
  static Task<void> make_rule(PeopleHost& self);
  static Task<void> change_entities(PeopleHost& self);
  static Task<void> change_referring(PeopleHost& self);
  static Task<void> submit(PeopleHost& self, PlannedJob job);
  static Task<void> submit_group(PeopleHost& self);
  void add_others(const std::pair<std::string, std::string>& first, std::vector<table_store::Mutation>& mutations);
  static Task<void> drop_what_came_late(PeopleHost& self, std::string index);
  static Task<void> keep_index(PeopleHost& self, PlannedIndex index);
  static Task<void> declare(PeopleHost& self, PlannedIndex index);
  static Task<void> ask(PeopleHost& self, std::string index, indexes::IndexStore::Wish wish);
  static Task<void> submit_last(PeopleHost& self);
  static Task<void> undo(PeopleHost& self, std::string id);
  static Task<void> cancel(PeopleHost& self, std::string id);
  table_store::Mutation entity(const std::string& row_key);
  table_store::Mutation any_change(const std::string& row_key);

  Life& life_;
  const Plan& plan_;
  PeopleNotes& notes_;
  Dice dice_;
  SpreadTransport plain_table_link_, table_link_, queue_link_;
  table_store::TableClient source_, tables_;
  queue_service::QueueClient queues_;
  std::unique_ptr<Random> random_;
  jobs::JobStore jobs_;
  indexes::IndexStore indexes_;
  std::unique_ptr<Lookups> lookups_;
  std::unique_ptr<Witnesses> witnesses_;
  std::int32_t next_number_ = 0;
};

}  // namespace tidemark::simulation
