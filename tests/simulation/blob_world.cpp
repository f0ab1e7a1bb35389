#include "tests/simulation/blob_world.h"

#include "blob_store/storage/blob_check.h"
#include "tests/simulation/blob_people.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/store_hosts.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTimeToEnd = 10min;
constexpr Duration kTimeToCollect = 2min;  // for the removal of dead payloads

struct BlobPlan {
  std::size_t shards = 1, processes = 2, blobs = 1;
  Duration faults_last{}, skew{};
  LinkFaults link;
  FaultGaps gaps;
};

BlobPlan make_blob_plan(Dice& dice) {
  const auto rate = [&dice](std::uint64_t most) { return dice.chance(3000) ? 0 : dice.below(most + 1); };
  BlobPlan plan;
  plan.shards = 1 + dice.below(4);
  plan.processes = 2 + dice.below(2);
  plan.blobs = 1 + dice.below(6);
  plan.faults_last = dice.between(4s, 15s);
  plan.link = {rate(500), rate(700), rate(2500), rate(2000), rate(500), dice.between(1ms, 25ms)};
  if (!dice.chance(2500)) plan.gaps.crash = dice.between(100ms, 4s);
  if (!dice.chance(4000)) plan.gaps.freeze = dice.between(500ms, 5s);
  if (dice.chance(5000)) plan.gaps.jump = dice.between(300ms, 5s);
  if (dice.chance(5000)) plan.skew = dice.between(0ms, 5s);
  return plan;
}

class BlobWorld {
 public:
  BlobWorld(std::uint64_t seed, const Without& without, bool print)
      : trace_(print),
        scheduler_(seed, trace_),
        plan_(make_blob_plan(scheduler_.dice())),
        database_(plan_.shards, without.epoch ? EpochCheck::kNone : EpochCheck::kEachCommit,
                  [this](std::size_t shard, const Committed& committed) { oracle_.committed(shard, committed); }) {
    people_ = scheduler_.add_host("people");
    for (std::size_t i = 1; i <= plan_.processes; ++i)
      stores_.push_back(scheduler_.add_host("blob-" + std::to_string(i)));
    scheduler_.on_crash = [this](int host) {
      ++crashes_;
      network_.connections_broke(host);
      scheduler_.after(scheduler_.dice().between(20ms, 2s), [this, host] { start(host); });
    };
  }
  ~BlobWorld() { scheduler_.end_all(); }
  BlobWorld(const BlobWorld&) = delete;
  BlobWorld& operator=(const BlobWorld&) = delete;

  RunOutcome run() {
    const auto begun = scheduler_.now();
    for (int i = 0; i < scheduler_.host_count(); ++i) start(i);
    if (!reach(kTimeToEnd, [this] { return notes_.ready; })) return outcome("the run did not begin");
    begin_faults();
    const auto limit = plan_.faults_last + kTimeToEnd;
    if (!reach(limit, [this] { return faults_.calm() && at_rest(); })) return outcome("the writers did not end");
    look_at_all();
    if (!reach(kTimeToEnd, [this] { return at_rest(); })) return outcome("not everything can be read");
    scheduler_.run_until(scheduler_.now() + kTimeToCollect, [this] { return violated(); });
    if (!violated()) check_rows();
    auto end = outcome("");
    end.virtual_ms = static_cast<std::uint64_t>((scheduler_.now() - begun) / 1ms);
    return end;
  }

 private:
  void start(int host) {
    const auto skew = plan_.skew == Duration::zero() ? plan_.skew : scheduler_.dice().between(-plan_.skew, plan_.skew);
    const auto seed = scheduler_.dice().next();
    auto& life = scheduler_.start_life(host, skew);
    if (host == people_) {
      auto people = std::make_unique<BlobPeople>(network_, life, stores_, plan_.blobs, notes_, oracle_, seed);
      people->start();
      life.program = std::move(people);
    } else {
      life.program = std::make_unique<SharedBlobHost>(network_, OwnedEngine::Parts{database_, scheduler_, life}, seed);
    }
  }

  void begin_faults() {
    std::vector<std::pair<int, Duration>> freezable;
    for (const auto store : stores_) freezable.emplace_back(store, kSharedLease);
    const auto crash = [this](int host) {
      if (host != people_) scheduler_.host(host).doom = static_cast<int>(scheduler_.dice().below(8));
    };
    faults_.start(crash, std::move(freezable));
    scheduler_.after(plan_.faults_last, [this] {
      faults_.stop();
      network_.stop_faults();
      notes_.stop = true;
    });
  }

  [[nodiscard]] bool violated() const { return !trace_.violations().empty(); }
  [[nodiscard]] bool at_rest() const { return notes_.busy == 0 && network_.in_flight() == 0; }
  bool reach(Duration limit, const std::function<bool()>& done) {
    return scheduler_.run_until(scheduler_.now() + limit, [&] { return violated() || done(); });
  }
  void look_at_all() {
    if (!violated()) static_cast<BlobPeople&>(*scheduler_.host(people_).life->program).look_at_all();
  }

  /// Checks that every row can be read, and that nothing is left of payloads that were given up.
  void check_rows() {
    std::vector<const kv::Engine*> shards;
    for (std::size_t shard = 0; shard < plan_.shards; ++shard) shards.push_back(&database_.rows(shard));
    kv::CheckRun check;
    const auto done = blob_store::check_blobs(shards, {plan_.shards, {}}, "/nonexistent", check);
    if (!done) complain("B5: the rows cannot be checked");
    for (const auto& finding : check.report().findings) complain("B5: " + finding.where + ": " + finding.what);
    for (std::size_t shard = 0; shard < plan_.shards; ++shard) {
      for (const char kind : {'Q', 'D'}) {
        const auto rows = database_.snapshot(shard);
        if (rows->scan(blob_store::blob_keys::all(kind))->valid())
          complain("B5: something is left of what was given up");
      }
    }
  }

  void complain(std::string text) { trace_.violation(scheduler_.now(), std::move(text)); }

  RunOutcome outcome(const std::string& complaint) {
    if (!complaint.empty() && !violated()) complain(complaint);
    oracle_.judge();
    RunOutcome outcome;
    outcome.violations = trace_.violations();
    outcome.hash = trace_.hash();
    outcome.notes = trace_.notes();
    outcome.changes = oracle_.operations();
    outcome.lookups = oracle_.reads();
    outcome.crashes = crashes_;
    outcome.takeovers = database_.takeovers();
    outcome.refused = database_.refused();
    return outcome;
  }

  Trace trace_;
  Scheduler scheduler_;
  BlobPlan plan_;
  BlobOracle oracle_{scheduler_};
  SharedDatabase database_;
  Network network_{scheduler_, plan_.link};
  Faults faults_{scheduler_, plan_.gaps, kSharedLease};
  int people_ = 0;
  std::vector<int> stores_;
  BlobNotes notes_;
  std::uint64_t crashes_ = 0;
};

}  // namespace

RunOutcome run_blob_seed(std::uint64_t seed, const Without& without, bool print) {
  set_switches(without);
  return BlobWorld(seed, without, print).run();
}

}  // namespace tidemark::simulation
