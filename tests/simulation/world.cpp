#include "tests/simulation/world.h"

#include "common/shards/operation_ledgers.h"
#include "common/shards/shards.h"
#include "indexes/rows/list_piece.h"
#include "jobs/store/test_switches.h"
#include "queue_service/client/queue_calls.h"
#include "queue_service/storage/test_switches.h"
#include "table_store/storage/test_switches.h"
#include "tests/simulation/callback_oracle.h"
#include "tests/simulation/client_hosts.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/index_oracle.h"
#include "tests/simulation/lookup_oracle.h"
#include "tests/simulation/own_workers.h"
#include "tests/simulation/queue_oracle.h"
#include "tests/simulation/ship_oracle.h"
#include "tests/simulation/store_hosts.h"
#include "tests/simulation/table_oracle.h"
#include "tests/simulation/transfer_oracle.h"
#include "tests/simulation/witnesses.h"
#include "tests/support/stored_entities.h"
#include "workers/on_change/test_switches.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTimeToSettle = std::chrono::minutes(30);
constexpr Duration kTimeToStayQuiet = 40s;
/// A request takes effect within this time after its delivery.
constexpr Duration kTimeToTakeEffect = 1s;

class World {
 public:
  World(std::uint64_t seed, const Without& without, bool print)
      : trace_(print),
        scheduler_(seed, trace_),
        plan_(make_plan(scheduler_.dice(), seed)),
        durability_(without.sync ? Durability::kAcknowledgedBefore : Durability::kSynced) {
    notes_.breaks_freshness = without.freshness;
    indexes::piece_units() = plan_.piece_units;
    if (!without.witnesses) testimony_.emplace();
    const bool of_transfers = without.steps || without.rule_ids || without.rule_place || without.record_epoch;
    if (without.witnesses && !of_transfers) plan_.transfers = {};
    if (print) std::printf("plan %s\n", describe(plan_).c_str());
    const auto check = without.epoch ? EpochCheck::kNone : EpochCheck::kEachCommit;
    if (plan_.table_processes > 1) {
      table_database_.emplace(plan_.table_shards, check, [this](std::size_t shard, const Committed& committed) {
        tables_.committed_on(shard, committed);
        transfers_.committed(committed);
        ships_.committed(committed);
        indexes_.committed(committed.noted.changes);
      });
      table_database_->owners_are_behind = without.moments;
      table_database_->answers_are_late = testimony_.has_value();
    }
    if (plan_.queue_processes > 1) {
      queue_database_.emplace(plan_.queue_shards, check, [this](std::size_t shard, const Committed& committed) {
        queues_.committed(shard, committed);
      });
    } else {
      for (std::size_t i = 0; i < plan_.queue_shards; ++i) queue_disks_.push_back(kv::make_memory_disk());
    }
    scheduler_.on_crash = [this](int host) { crashed(host); };
    queues_.on_departure = [this] { message_departed(); };
    scheduler_.add_host("people");
    for (int i = 0; i < plan_.workers; ++i) scheduler_.add_host("worker-" + std::to_string(i + 1));
    for (int i = 1; i <= plan_.table_processes; ++i) {
      stores_.tables.push_back(scheduler_.add_host("table-" + std::to_string(i)));
    }
    for (int i = 1; i <= plan_.queue_processes; ++i) {
      stores_.queues.push_back(scheduler_.add_host("queue-" + std::to_string(i)));
    }
    stores_.endpoint = scheduler_.add_host("endpoint");
    if (plan_.transfers.shipped) own_worker_ = scheduler_.add_host("own-worker");
  }
  ~World() { scheduler_.end_all(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  RunOutcome run();

 private:
  void start(int host);
  void crashed(int host);
  void crash_soon(int host);
  void message_departed();
  void queue_call(int host, const Cause& cause);
  [[nodiscard]] std::vector<std::pair<int, Duration>> freezable() const;
  void calm_down();
  [[nodiscard]] bool is_table(int host) const { return std::ranges::count(stores_.tables, host) > 0; }
  [[nodiscard]] bool is_queue(int host) const { return std::ranges::count(stores_.queues, host) > 0; }
  [[nodiscard]] bool violated() const { return !trace_.violations().empty(); }
  /// Returns a reason why the run is not done yet; empty: there is none.
  [[nodiscard]] std::string unsettled() const;
  bool at_rest();
  void check_quiet();
  void check_poison();
  void check_disk();
  void check_testimony();
  void complain(std::string text) { trace_.violation(scheduler_.now(), std::move(text)); }

  Trace trace_;
  Scheduler scheduler_;
  Plan plan_;
  Durability durability_;
  Network network_{scheduler_, plan_.link};
  Faults faults_{scheduler_, plan_.gaps, plan_.lease};
  Stores stores_;
  static constexpr int kPeople = 0;  // the hosts of the workers come next
  std::shared_ptr<kv::MemoryDisk> table_disk_ = kv::make_memory_disk();
  std::vector<std::shared_ptr<kv::MemoryDisk>> queue_disks_;       // of each shard, if one process has them all
  std::optional<SharedDatabase> table_database_, queue_database_;  // if several processes share the shards
  TableOracle tables_{scheduler_, kPeople, plan_.table_shards};
  LookupOracle lookups_{scheduler_};
  IndexOracle indexes_{scheduler_, lookups_, plan_.table_shards};
  QueueOracle queues_{scheduler_};
  CallbackOracle callbacks_{scheduler_, tables_};
  TransferOracle transfers_{scheduler_};
  ShipOracle ships_{scheduler_};
  std::optional<int> own_worker_;
  PeopleNotes notes_;
  std::optional<Testimony> testimony_;
  std::uint64_t crashes_ = 0;
  std::optional<Time> last_delivery_;  // of a request that was delayed before the calm
};

void World::start(int host) {
  const auto skew = plan_.skew == Duration::zero() ? plan_.skew : scheduler_.dice().between(-plan_.skew, plan_.skew);
  const auto seed = scheduler_.dice().next();
  auto& life = scheduler_.start_life(host, skew);
  if (is_table(host) && table_database_) {
    life.program =
        std::make_unique<SharedTableHost>(network_, OwnedEngine::Parts{*table_database_, scheduler_, life}, seed);
  } else if (is_table(host)) {
    life.program = std::make_unique<TableHost>(EngineParts{table_disk_, scheduler_, life, durability_}, seed,
                                               [this](const Committed& committed) {
                                                 tables_.committed(committed);
                                                 transfers_.committed(committed);
                                                 ships_.committed(committed);
                                                 indexes_.committed(committed.noted.changes);
                                               });
  } else if (is_queue(host) && queue_database_) {
    life.program = std::make_unique<SharedQueueHost>(
        network_, OwnedEngine::Parts{*queue_database_, scheduler_, life}, seed,
        [this, host](const Cause& cause) { queue_call(host, cause); }, plan_.job_parts);
  } else if (is_queue(host)) {
    std::vector<EngineParts> parts;
    for (const auto& disk : queue_disks_) parts.push_back({disk, scheduler_, life, durability_});
    life.program = std::make_unique<QueueHost>(
        parts, seed,
        QueueWatcher{.begun = [this, host](const Cause& cause) { queue_call(host, cause); },
                     .committed = [this](std::size_t shard,
                                         const Committed& committed) { queues_.committed(shard, committed); }},
        plan_.job_parts);
  } else if (host == stores_.endpoint) {
    life.program = std::make_unique<EndpointHost>(life, plan_.endpoint, callbacks_, seed);
  } else if (host == own_worker_) {
    auto worker = std::make_unique<OwnWorkerHost>(network_, life, stores_, plan_, seed);
    worker->start();
    life.program = std::move(worker);
  } else if (host == kPeople) {
    auto people = std::make_unique<PeopleHost>(network_, life, stores_, plan_, notes_, lookups_,
                                               testimony_ ? &*testimony_ : nullptr, seed);
    people->start();
    life.program = std::move(people);
  } else {
    auto name = scheduler_.host(host).name + "." + std::to_string(life.number());
    auto worker = std::make_unique<WorkerHost>(network_, life, stores_, plan_, std::move(name), seed);
    worker->start();
    life.program = std::move(worker);
  }
}

void World::crashed(int host) {
  ++crashes_;
  if (is_table(host) || is_queue(host) || host == stores_.endpoint) network_.connections_broke(host);
  scheduler_.after(scheduler_.dice().between(20ms, 2s), [this, host] { start(host); });
}

void World::crash_soon(int host) {
  if (host == kPeople) return;
  auto& dice = scheduler_.dice();
  const bool worker = host > kPeople && host <= kPeople + plan_.workers;
  if (worker && dice.chance(2000)) {
    auto& life = *scheduler_.host(host).life;
    trace_.note(scheduler_.now(), "shut down", scheduler_.host(host).name, nullptr);
    static_cast<WorkerHost&>(*life.program).shut_down([this, host, number = life.number()] {
      scheduler_.after(0ms, [this, host, number] {
        if (scheduler_.find_life(host, number) != nullptr) scheduler_.crash(host);
      });
    });
  } else {
    // The crash comes somewhere in the next handlers.
    scheduler_.host(host).doom = static_cast<int>(dice.below(8));
  }
}

/// Makes a crash likely while a message is between two shards. There, and where the successors of a job take the place
/// of its message (queue_call()), a crash does most harm.
void World::message_departed() {
  faults_.strike(stores_.queues[scheduler_.dice().below(stores_.queues.size())], 5000, 16);
}

void World::queue_call(int host, const Cause& cause) {
  queues_.begun(cause);
  if (cause.method == queue_service::calls::Finish::kMethod) faults_.strike(host, 3000, 5);
}

/// Returns the workers and the processes that share shards, each with the lease that it may lose.
std::vector<std::pair<int, Duration>> World::freezable() const {
  std::vector<std::pair<int, Duration>> hosts;
  for (const auto queue : queue_database_ ? stores_.queues : std::vector<int>())
    hosts.emplace_back(queue, kSharedLease);
  for (const auto table : table_database_ ? stores_.tables : std::vector<int>())
    hosts.emplace_back(table, kSharedLease);
  for (int i = 1; i <= plan_.workers; ++i) hosts.emplace_back(kPeople + i, plan_.lease);
  if (own_worker_) hosts.emplace_back(*own_worker_, plan_.lease);
  return hosts;
}

void World::calm_down() {
  trace_.note(scheduler_.now(), "calm", "", nullptr);
  faults_.stop();
  notes_.stop = true;
  network_.stop_faults();
  plan_.endpoint = {};
}

std::string World::unsettled() const {
  if (notes_.busy > 0) return "people are busy";
  for (const auto queue : {jobs::kHighQueue, jobs::kJobQueue, jobs::kLowQueue}) {
    if (queues_.messages(std::string(queue)) > 0) return "messages are in " + std::string(queue);
  }
  if (auto index = indexes_.unsettled(notes_.indexes); !index.empty()) return index;
  if (!indexes_.gone(notes_.dropped)) return "a dropped index has rows";
  for (const auto& [id, job] : tables_.jobs()) {
    if (!jobs::is_terminal(job.state)) return "job " + id + " has not ended";
  }
  if (own_worker_ && queues_.messages(ship_queue()) > 0) return "messages are in " + ship_queue();
  if (own_worker_ && ships_.waits(tables_.jobs())) return "the rule has not made all jobs";
  return {};
}

/// Tells whether all is done, including the work that waits for everything else, which this starts.
bool World::at_rest() {
  if (!faults_.calm() || network_.in_flight() > 0) return false;
  if (!last_delivery_) last_delivery_ = scheduler_.now();
  if (scheduler_.now() - *last_delivery_ < kTimeToTakeEffect || !unsettled().empty()) return false;
  if (notes_.left_for_the_end == 0) return true;
  notes_.all_quiet = true;
  return false;
}

void World::check_poison() {
  std::set<std::string> expected;
  for (const auto& [id, job] : tables_.jobs()) {
    if (job.state == jobs::JobState::kPoisoned) expected.insert(job.message_id);
  }
  if (queues_.ids(std::string(jobs::kPoisonQueue)) != expected) {
    complain("the poison queue does not hold the messages of the poisoned jobs, each once");
  }
}

/// Checks that the stored rows are those that the commits wrote.
void World::check_disk() {
  std::vector<std::shared_ptr<const kv::Reader>> shards;
  for (std::size_t shard = 0; table_database_ && shard < table_database_->shards(); ++shard) {
    shards.push_back(table_database_->snapshot(shard));
  }
  if (!table_database_) shards.push_back(kv::make_memory_engine(table_disk_)->snapshot());
  std::map<std::uint64_t, std::string> names;
  for (auto cursor = shards.front()->scan({"t", "u"}, kv::Direction::kForward); cursor->valid(); cursor->next()) {
    auto table = table_store::kTableRecord.decode(cursor->value());
    if (table) names[table->generation] = table->name;
  }
  std::size_t in_source = 0;
  std::size_t in_destination = 0;
  for (const auto& [generation, name] : names) {
    if (name != kSourceTable && name != kDestinationTable) continue;
    const kv::KeyRange rows{table_store::entity_prefix(generation), table_store::entity_prefix(generation + 1)};
    for (shards::MergedScan cursor(shards, rows); cursor.valid(); cursor.next()) {
      const auto parts = table_store::parse_entity_key(cursor.key());
      const auto versions = table_store::view_entity(cursor.value());
      if (!parts || !versions) return complain("a stored entity cannot be read");
      const TableOracle::Key key{parts->partition_key, parts->row_key};
      if (name == kSourceTable) {
        ++in_source;
        const auto known = tables_.source().find(key);
        if (known == tables_.source().end() || known->second.version != versions->version) {
          complain("the source holds something that was not committed");
        }
      } else {
        ++in_destination;
        const auto known = tables_.copies().find(key);
        if (known == tables_.copies().end() || known->second.source_version != versions->source_version) {
          complain("the destination holds something that was not committed");
        }
      }
    }
  }
  const auto alive = std::count_if(tables_.source().begin(), tables_.source().end(),
                                   [](const auto& state) { return state.second.version.has_value(); });
  if (in_source != static_cast<std::size_t>(alive) || in_destination != tables_.copies().size()) {
    complain("something committed is not stored any more");
  }
}

void World::check_testimony() {
  const bool one_time = plan_.skew == Duration::zero() && plan_.gaps.jump == Duration::zero();
  for (auto& wrong : testimony_->judge(one_time ? Duration(1ms) : Duration(24h))) complain(std::move(wrong));
}

void World::check_quiet() {
  tables_.check_quiet();
  for (const auto& id : notes_.submitted) {
    if (!tables_.jobs().contains(id)) complain("Q1: job " + id + " was acknowledged and is gone");
  }
  for (const auto& id : notes_.cancelled) {
    const auto job = tables_.jobs().find(id);
    if (job == tables_.jobs().end() || job->second.state != jobs::JobState::kCancelled) {
      complain("job " + id + " was cancelled and is not");
    }
  }
  callbacks_.check_quiet(notes_.groups);
  transfers_.check_quiet(tables_.jobs(), queues_.ids(kMailQueue).size());
  if (own_worker_) ships_.check_quiet(tables_.jobs());
  indexes_.check_quiet(notes_.indexes);
  if (plan_.index_jobs) indexes_.check_job();
  check_poison();
  check_disk();
  if (testimony_) check_testimony();
}

RunOutcome World::run() {
  const auto begun = scheduler_.now();
  for (int i = 0; i < scheduler_.host_count(); ++i) start(i);
  scheduler_.run_until(begun + 5min, [this] { return notes_.ready || violated(); });
  if (!notes_.ready) complain("the run did not begin");
  faults_.start([this](int host) { crash_soon(host); }, freezable());
  scheduler_.after(plan_.faults_last, [this] { calm_down(); });
  const auto limit = scheduler_.now() + plan_.faults_last + kTimeToSettle;
  const bool came_to_rest = scheduler_.run_until(limit, [this] { return violated() || at_rest(); });
  if (!came_to_rest)
    complain("not quiet " + std::to_string(kTimeToSettle / 1min) + " minutes after the last fault: " + unsettled());
  if (!violated()) scheduler_.run_until(scheduler_.now() + kTimeToStayQuiet, [this] { return violated(); });
  if (!violated() && !unsettled().empty()) complain("quiet, and then not any more: " + unsettled());
  if (!violated()) check_quiet();
  RunOutcome outcome;
  outcome.violations = trace_.violations();
  outcome.hash = trace_.hash();
  outcome.notes = trace_.notes();
  outcome.moves = tables_.moves();
  outcome.changes = notes_.changes;
  outcome.callbacks = callbacks_.deliveries();
  outcome.transfers = transfers_.succeeded();
  outcome.shipments = ships_.made();
  outcome.crashes = crashes_;
  outcome.lookups = lookups_.judged();
  if (testimony_) outcome.witnessed = testimony_->operations();
  outcome.by_lists = notes_.queries_by_lists;
  outcome.carried = queues_.carried();
  outcome.in_parts = queues_.in_parts();
  for (const auto* database : {&table_database_, &queue_database_}) {
    if (!*database) continue;
    outcome.takeovers += (*database)->takeovers();
    outcome.refused += (*database)->refused();
  }
  for (const auto& [id, job] : tables_.jobs()) {
    if (job.state == jobs::JobState::kSucceeded) ++outcome.succeeded;
    if (job.state == jobs::JobState::kPoisoned) ++outcome.poisoned;
    if (job.state == jobs::JobState::kCancelled) ++outcome.cancelled;
    if (job.epoch > 1) ++outcome.taken_over;
  }
  outcome.virtual_ms = static_cast<std::uint64_t>((scheduler_.now() - begun) / 1ms);
  return outcome;
}

}  // namespace

void set_switches(const Without& without) {
  table_store::test_switches().ignore_if_version = without.etag_guard;
  shards::test_switches::ignore_fence = without.fence;
  table_store::test_switches().ignore_source_version = without.put_if_newer;
  table_store::test_switches().leave_out_notes = without.notes;
  table_store::test_switches().hide_staleness = without.staleness;
  queue_service::test_switches::ignore_epoch = without.lease_epoch;
  queue_service::test_switches::finish_in_two = without.one_transaction;
  queue_service::test_switches::arrive_again = without.arrival;
  table_store::test_switches().prove_all = without.proof;
  table_store::test_switches().forget_steps = without.steps;
  workers::test_switches::new_job_ids = without.rule_ids;
  workers::test_switches::place_first = without.rule_place;
  jobs::test_switches::ignore_record_epoch = without.record_epoch;
}

RunOutcome run_seed(std::uint64_t seed, const Without& without, bool print) {
  set_switches(without);
  World world(seed, without, print);
  return world.run();
}

}  // namespace tidemark::simulation
