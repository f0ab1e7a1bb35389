#include "tests/simulation/client_hosts.h"

#include "feeds/tokens/start_token.h"
#include "tests/simulation/index_oracle.h"
#include "tests/simulation/lookups.h"
#include "tests/simulation/own_workers.h"
#include "tests/simulation/table_oracle.h"
#include "tests/simulation/transfer_oracle.h"
#include "tests/simulation/witnesses.h"
#include "tests/support/seeded_random.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;
using table_store::Mutation;
using table_store::MutationKind;

workers::WorkerOptions worker_options(const Plan& plan, std::string name) {
  workers::WorkerOptions options;
  options.runner.worker_name = std::move(name);
  options.runner.lease = plan.lease;
  options.runner.retry.base = plan.retry_base;
  options.runner.retry.cap = 2s;
  options.concurrency = plan.concurrency;
  options.poll = plan.poll;
  return options;
}

}  // namespace

WorkerHost::WorkerHost(Network& network, Life& life, Stores stores, const Plan& plan, std::string name,
                       std::uint64_t seed)
    : life_(life),
      table_link_(network, life, stores.tables, false),
      queue_link_(network, life, stores.queues, false),
      tables_(table_link_, kAccount),
      queues_(queue_link_, kAccount),
      random_(make_seeded_random(seed)),
      jobs_(tables_, queues_, life.clock(), *random_),
      indexes_(tables_, life.clock(), *random_),
      on_changes_(tables_, life.clock(), *random_),
      endpoint_(network, life, stores.endpoint),
      loop_(workers::WorkerLoop::create(
          worker_options(plan, name),
          workers::JobServices{tables_, queues_, jobs_, life.clock(), *random_, &endpoint_.services()},
          life.executor())) {
  const workers::KeeperOptions options{
      .worker = std::move(name), .poll = 100ms, .beat = 300ms, .lost_after = plan.lease};
  if (plan.transfers.shipped) {
    rules_ = workers::OnChangeKeeper::create(
        options, workers::OnChangeServices{tables_,
                                           queues_,
                                           jobs_,
                                           on_changes_,
                                           life.clock(),
                                           *random_,
                                           nullptr,
                                           {},
                                           std::make_shared<workers::SharedPages>(tables_, life.clock())});
  }
  if (plan.indexes.empty()) return;
  workers::IndexServices services{tables_, indexes_, jobs_, life.clock(), *random_};
  services.page_entities = 3;  // so that walks read ahead
  services.room = std::make_shared<workers::WalkRoom>(2500);
  keeper_ = workers::IndexKeeper::create(options, services);
}

void WorkerHost::start() {
  auto task = begin(*this);
  spawn(life_.executor(), std::move(task));
}

Task<void> WorkerHost::begin(WorkerHost& self) {
  while (!self.life_.dead()) {
    auto done = co_await self.jobs_.ensure_ready();
    if (done) break;
    co_await sleep_for(self.life_.clock(), 100ms);
  }
  if (self.life_.dead()) co_return;
  self.loop_->start();
  if (self.keeper_) self.keeper_->start(self.life_.executor());
  if (self.rules_) self.rules_->start(self.life_.executor());
}

void WorkerHost::shut_down(std::function<void()> drained) {
  auto task = drain(*this, std::move(drained));
  spawn(loop_->strand(), std::move(task));
}

Task<void> WorkerHost::drain(WorkerHost& self, std::function<void()> drained) {
  if (self.keeper_) co_await self.keeper_->stop();
  if (self.rules_) co_await self.rules_->stop();
  co_await self.loop_->drain(200ms);
  if (!self.life_.dead()) drained();
}

void WorkerHost::unwind() {
  if (keeper_) {
    auto stopping = keeper_->stop();
    spawn(life_.executor(), std::move(stopping));
  }
  if (rules_) {
    auto stopping = rules_->stop();
    spawn(life_.executor(), std::move(stopping));
  }
  auto task = loop_->drain(Duration::zero());
  spawn(loop_->strand(), std::move(task));
}

PeopleHost::PeopleHost(Network& network, Life& life, Stores stores, const Plan& plan, PeopleNotes& notes,
                       LookupOracle& lookups, Testimony* testimony, std::uint64_t seed)
    : life_(life),
      plan_(plan),
      notes_(notes),
      dice_(seed),
      plain_table_link_(network, life, stores.tables, true),
      table_link_(network, life, stores.tables, false),
      queue_link_(network, life, stores.queues, false),
      source_(plain_table_link_, kAccount),
      tables_(table_link_, kAccount),
      queues_(queue_link_, kAccount),
      random_(make_seeded_random(seed)),
      jobs_(tables_, queues_, life.clock(), *random_),
      indexes_(tables_, life.clock(), *random_),
      lookups_(std::make_unique<Lookups>(network, life, stores, plan, notes, lookups, ~seed)) {
  if (testimony == nullptr) return;
  witnesses_ = std::make_unique<Witnesses>(network, life, stores, notes, *testimony, seed + 1);
}

PeopleHost::~PeopleHost() = default;

void PeopleHost::start() {
  auto task = fill(*this);
  spawn(life_.executor(), std::move(task));
}

Mutation PeopleHost::entity(const std::string& row_key) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = row_key;
  const auto group = dice_.below(kGroupNames.size());
  mutation.properties = {{"Number", next_number_++},
                         {"Group", static_cast<std::int32_t>(group)},
                         {"Name", std::string(kGroupNames[group])}};
  return mutation;
}

Mutation PeopleHost::any_change(const std::string& row_key) {
  auto mutation = entity(row_key);
  const auto choice = dice_.below(100);
  if (choice < 55) {
    mutation.kind = MutationKind::kReplace;  // only if the entity is there
    mutation.lenient = true;
  } else if (choice < 80) {
    mutation.kind = MutationKind::kErase;
    mutation.lenient = true;
    mutation.properties.clear();
  }
  return mutation;
}

/// Adds changes of a few more entities of the partition to the transaction.
void PeopleHost::add_others(const std::pair<std::string, std::string>& first, std::vector<Mutation>& mutations) {
  for (const auto& [partition, row] : plan_.keys) {
    if (mutations.size() == 4) return;
    if (partition == first.first && row != first.second && dice_.chance(3000)) mutations.push_back(any_change(row));
  }
}

Task<void> PeopleHost::make_table(PeopleHost& self, std::string table) {
  while (!self.life_.dead()) {
    const auto made = co_await self.source_.create_table(table);
    if (made || made.failed_with(ErrorCode::kTableAlreadyExists)) co_return;
    co_await sleep_for(self.life_.clock(), 50ms);
  }
}

Task<void> PeopleHost::fill(PeopleHost& self) {
  ++self.notes_.busy;
  co_await make_table(self, kSourceTable);
  std::map<std::string, std::vector<Mutation>> partitions;
  for (const auto& [partition, row] : self.plan_.keys) partitions[partition].push_back(self.entity(row));
  for (const auto& [partition, mutations] : partitions) {
    // There are no faults yet, but processes that share shards may not have claimed all of them.
    while (!self.life_.dead() && !co_await self.source_.mutate(kSourceTable, partition, mutations, std::nullopt)) {
      co_await sleep_for(self.life_.clock(), 50ms);
    }
  }
  if (!self.plan_.transfers.accounts.empty()) co_await open_accounts(self);
  self.notes_.ready = true;
  for (const auto& job : self.plan_.transfers.jobs) {
    auto submission = submit(self, job);
    spawn(self.life_.executor(), std::move(submission));
  }
  for (const auto& job : self.plan_.jobs) {
    auto submission = submit(self, job);
    spawn(self.life_.executor(), std::move(submission));
  }
  if (!self.plan_.group.name.empty()) {
    auto submission = submit_group(self);
    spawn(self.life_.executor(), std::move(submission));
  }
  for (const auto& index : self.plan_.indexes) {
    auto keeping = keep_index(self, index);
    spawn(self.life_.executor(), std::move(keeping));
  }
  if (self.plan_.index_jobs) {
    auto last = submit_last(self);
    spawn(self.life_.executor(), std::move(last));
  }
  self.lookups_->start();
  if (self.witnesses_) self.witnesses_->start();
  auto changes = change_entities(self);
  spawn(self.life_.executor(), std::move(changes));
  if (std::ranges::count(self.plan_.indexes, kDenormalisedIndex, &PlannedIndex::name) > 0) {
    co_await make_table(self, kReferringTable);
    auto changes_there = change_referring(self);
    spawn(self.life_.executor(), std::move(changes_there));
  }
  --self.notes_.busy;
}

Task<void> PeopleHost::open_accounts(PeopleHost& self) {
  co_await make_table(self, kBankTable);
  co_await make_table(self, kAuditTable);
  for (const auto& [partition, row] : self.plan_.transfers.accounts) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = {{"Cents", std::int64_t{100}}};
    std::vector<Mutation> mutations;
    mutations.push_back(std::move(mutation));
    while (!self.life_.dead() && !co_await self.source_.mutate(kBankTable, partition, mutations, std::nullopt)) {
      co_await sleep_for(self.life_.clock(), 50ms);
    }
  }
  while (!self.life_.dead() && !co_await self.queues_.ensure_queue(kMailQueue)) {
    co_await sleep_for(self.life_.clock(), 50ms);
  }
  if (self.plan_.transfers.shipped) co_await make_rule(self);
}

/// Has a job made of each entry in the audit table.
Task<void> PeopleHost::make_rule(PeopleHost& self) {
  for (const auto* table : {kShipTable, kWriteTable}) co_await make_table(self, table);
  const auto rule = feeds::parse_on_change(kShipRule);
  if (!rule) std::abort();
  feeds::OnChangeStore store(self.source_, self.life_.clock(), *self.random_);
  table_store::ChangeFeed feed;
  feed.old_values = feed.new_values = true;
  while (!self.life_.dead()) {
    const auto kept = co_await self.source_.put_feed(kAuditTable, feed);
    auto start = co_await feeds::token_for(self.source_, kAuditTable, rule->after);
    if (kept && start && co_await store.put(kAuditTable, "ship", rule->definition, std::move(*start))) co_return;
    co_await sleep_for(self.life_.clock(), 50ms);
  }
}

Task<void> PeopleHost::change_entities(PeopleHost& self) {
  ++self.notes_.busy;
  while (!self.notes_.stop && !self.life_.dead()) {
    const bool hot = self.dice_.chance(7000);
    const auto& key = self.plan_.keys[self.dice_.below(hot ? self.plan_.hot_keys : self.plan_.keys.size())];
    std::vector<Mutation> mutations;
    mutations.push_back(self.any_change(key.second));
    if (self.dice_.chance(2000)) self.add_others(key, mutations);
    std::string table = kSourceTable;
    auto done = co_await self.source_.mutate(table, key.first, std::move(mutations), std::nullopt);
    if (done) ++self.notes_.changes;
    for (std::size_t i = 0; done && i < done->size(); ++i) {
      self.notes_.last_version = std::max(self.notes_.last_version, (*done)[i].version);
    }
    co_await sleep_for(self.life_.clock(), self.dice_.between(100us, self.plan_.user_pause));
  }
  --self.notes_.busy;
}

/// Changes entities that refer to entities of the source, now to one and then to another.
Task<void> PeopleHost::change_referring(PeopleHost& self) {
  ++self.notes_.busy;
  std::string table = kReferringTable;
  while (!self.notes_.stop && !self.life_.dead()) {
    const auto& [partition, row] = self.plan_.keys[self.dice_.below(self.plan_.hot_keys)];
    Mutation mutation;
    mutation.row_key = "r" + std::to_string(self.dice_.below(20));
    mutation.lenient = true;
    mutation.kind = self.dice_.chance(2000)   ? MutationKind::kErase
                    : self.dice_.chance(5000) ? MutationKind::kInsertOrMerge
                                              : MutationKind::kInsertOrReplace;
    if (mutation.kind != MutationKind::kErase) {
      mutation.properties = {{"Mark", self.next_number_++}, {"Partition", partition}, {"Row", row}};
    }
    std::vector<Mutation> mutations;
    mutations.push_back(std::move(mutation));
    std::string own = "p" + std::to_string(self.dice_.below(2));
    std::ignore = co_await self.source_.mutate(table, std::move(own), std::move(mutations), std::nullopt);
    co_await sleep_for(self.life_.clock(), self.dice_.between(100us, self.plan_.user_pause));
  }
  --self.notes_.busy;
}

Task<void> PeopleHost::submit(PeopleHost& self, PlannedJob job) {
  ++self.notes_.busy;
  co_await sleep_for(self.life_.clock(), job.after);
  bool ready = false;
  bool done = false;
  std::string id;
  while (!done && !self.life_.dead()) {
    if (!ready) {
      auto outcome = co_await self.jobs_.ensure_ready();
      ready = outcome.has_value();
    } else if (job.spec.empty()) {
      std::string queue(jobs::kJobQueue);
      std::string text = "this is no job";
      auto placed = co_await self.queues_.put(queue, text, Duration::zero());
      done = true;  // whether or not the message arrived
    } else {
      auto spec = jobs::parse_job_spec(job.spec);
      if (!spec) std::abort();
      auto submitted = co_await self.jobs_.submit(std::move(*spec));
      done = submitted.has_value();
      if (done) id = submitted->job.id;
      if (done) self.notes_.submitted.push_back(id);
    }
    co_await sleep_for(self.life_.clock(), done ? job.cancel_after : Duration(100ms));
  }
  if (job.cancelled && !job.spec.empty() && !self.life_.dead()) {
    co_await cancel(self, id);
  }
  if (job.undone && !job.spec.empty() && !self.life_.dead()) {
    co_await undo(self, id);
  }
  --self.notes_.busy;
}

/// Drops the index once more: a declaration that got no answer may take effect after the index was dropped.
Task<void> PeopleHost::drop_what_came_late(PeopleHost& self, std::string index) {
  while (!self.notes_.stop && !self.life_.dead()) co_await sleep_for(self.life_.clock(), 1s);
  co_await sleep_for(self.life_.clock(), kLongestDelay);
  co_await ask(self, std::move(index), {.drop = true});
}

Task<void> PeopleHost::keep_index(PeopleHost& self, PlannedIndex index) {
  ++self.notes_.busy;
  co_await sleep_for(self.life_.clock(), index.after);
  co_await declare(self, index);
  bool dropped = false;
  for (const auto& [wish, pause] : index.wishes) {
    co_await sleep_for(self.life_.clock(), pause);
    indexes::IndexStore::Wish asked;
    if (wish == IndexWish::kPause) asked.paused = true;
    if (wish == IndexWish::kResume) asked.paused = false;
    asked.rebuild = wish == IndexWish::kRebuild;
    asked.scrub = wish == IndexWish::kScrub;
    asked.drop = dropped = wish == IndexWish::kDrop || wish == IndexWish::kReplace;
    if (dropped) self.notes_.indexes.erase(index.name);
    if (dropped) ++self.notes_.declared[index.name];
    co_await ask(self, index.name, asked);
    if (wish == IndexWish::kDrop) break;
    if (dropped) co_await declare(self, index);
  }
  if (!dropped || self.notes_.indexes.contains(index.name)) {
    indexes::IndexStore::Wish resumed;
    resumed.paused = false;
    co_await ask(self, index.name, resumed);
  } else {
    if (self.notes_.unanswered.contains(index.name)) co_await drop_what_came_late(self, index.name);
    self.notes_.dropped.insert(index.name);
  }
  --self.notes_.busy;
}

/// Declares the index; tries again as long as an index of this name is being dropped.
Task<void> PeopleHost::declare(PeopleHost& self, PlannedIndex index) {
  auto definition = indexes::parse_definition(std::string_view(simulated_indexes().at(index.name)));
  if (!definition) std::abort();
  if (index.max_changes > 0) definition->max_changes = index.max_changes;
  definition->answer_queries(self.plan_.queries);
  bool done = false;
  while (!done && !self.life_.dead()) {
    auto put = co_await self.indexes_.put(index.name, *definition);
    done = put.has_value();
    if (done) self.notes_.indexes.insert(index.name);
    if (done) ++self.notes_.declared[index.name];
    if (!done) self.notes_.unanswered.insert(index.name);
    if (!done) co_await sleep_for(self.life_.clock(), 100ms);
  }
}

/// Asks something of an index until that succeeds. The answer to a drop may be lost, so an absent index counts as
/// dropped.
Task<void> PeopleHost::ask(PeopleHost& self, std::string index, indexes::IndexStore::Wish wish) {
  bool done = false;
  while (!done && !self.life_.dead()) {
    auto outcome = co_await self.indexes_.ask(index, wish);
    done = outcome.has_value() || (wish.drop && outcome.failed_with(ErrorCode::kIndexNotFound));
    if (!done) co_await sleep_for(self.life_.clock(), 100ms);
  }
}

/// Submits the last index job, when the source does not change any more.
Task<void> PeopleHost::submit_last(PeopleHost& self) {
  ++self.notes_.left_for_the_end;
  while (!self.notes_.all_quiet && !self.life_.dead()) co_await sleep_for(self.life_.clock(), 500ms);
  PlannedJob job;
  job.spec = R"({"kind":"index","source":"Source","property":"Group","destination":"ByJob","idempotencyKey":"last"})";
  co_await submit(self, std::move(job));
  --self.notes_.left_for_the_end;
}

Task<void> PeopleHost::submit_group(PeopleHost& self) {
  ++self.notes_.busy;
  co_await sleep_for(self.life_.clock(), self.plan_.group.after);
  auto batch = jobs::parse_job_batch(self.plan_.group.batch);
  if (!batch) std::abort();
  bool done = false;
  while (!done && !self.life_.dead()) {
    auto submitted = co_await self.jobs_.submit_group(*batch);
    done =
        submitted && std::all_of(submitted->begin(), submitted->end(), [](const auto& one) { return one.has_value(); });
    if (done) {
      self.notes_.groups.insert(self.plan_.group.name);
      for (const auto& one : *submitted) self.notes_.submitted.push_back(one->job.id);
    }
    co_await sleep_for(self.life_.clock(), 100ms);
  }
  --self.notes_.busy;
}

Task<void> PeopleHost::undo(PeopleHost& self, std::string id) {
  bool ended = false;
  bool done = false;
  while (!done && !self.life_.dead()) {
    if (!ended) {
      auto record = co_await self.jobs_.find(id);
      ended = record && record->has_value() && jobs::is_terminal((*record)->state);
    } else {
      auto spec =
          jobs::parse_job_spec(R"({"kind":"undo","maxAttempts":20,"idempotencyKey":"undo","job":")" + id + "\"}");
      if (!spec) std::abort();
      spec->idempotency_key = "undo " + id;
      auto submitted = co_await self.jobs_.submit(std::move(*spec));
      done = submitted.has_value();
      if (done) self.notes_.submitted.push_back(submitted->job.id);
    }
    co_await sleep_for(self.life_.clock(), 200ms);
  }
}

Task<void> PeopleHost::cancel(PeopleHost& self, std::string id) {
  while (!self.life_.dead()) {
    auto record = co_await self.jobs_.cancel(id);
    if (record) {
      if (record->state == jobs::JobState::kCancelled) self.notes_.cancelled.insert(id);
      co_return;
    }
    if (record.failed_with(ErrorCode::kTransactionDecided)) co_return;
    co_await sleep_for(self.life_.clock(), 100ms);
  }
}

}  // namespace tidemark::simulation
