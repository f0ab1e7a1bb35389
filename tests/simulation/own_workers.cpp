#include "tests/simulation/own_workers.h"

#include <nlohmann/json.hpp>

#include "jobs/spec/job_queues.h"
#include "table_store/model/user_operations.h"
#include "tests/support/seeded_random.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::uint32_t kMostAtOnce = 3;

std::string row_of(const jobs::ClaimedJob& job) {
  const auto& own = std::get<jobs::OwnSpec>(job.spec.work);
  return json::parse(own.input).at("of").get<std::string>();
}

/// Returns the steps of an end: one in each of two partitions, which mean something else if they are taken twice.
jobs::TransactionSpec steps_for(const std::string& row, std::uint64_t epoch) {
  auto steps = json::array();
  for (const auto* part : kShipParts) {
    steps.push_back({{"merge",
                      {{"table", kShipTable},
                       {"partitionKey", part},
                       {"rowKey", row},
                       {"orInsert", true},
                       {"set", {{"Epoch", epoch}}},
                       {"add", {{"Times", 1}}}}}});
  }
  auto spec = jobs::parse_job_spec(json{{"kind", "transaction"}, {"steps", std::move(steps)}}.dump());
  if (!spec) std::abort();
  return std::get<jobs::TransactionSpec>(std::move(spec->work));
}

}  // namespace

jobs::OwnKinds ship_kinds() {
  jobs::OwnKind kind;
  kind.name = kShipKind;
  kind.lease_seconds = 1;
  kind.steps = true;
  return {kind};
}

std::string ship_queue() { return jobs::work_queues({kShipKind, 1})[1]; }

OwnWorkerHost::OwnWorkerHost(Network& network, Life& life, Stores stores, const Plan& plan, std::uint64_t seed)
    : life_(life),
      lease_(plan.lease),
      name_("own." + std::to_string(life.number())),
      dice_(seed),
      table_link_(network, life, stores.tables, false),
      queue_link_(network, life, stores.queues, false),
      tables_(table_link_, kAccount),
      queues_(queue_link_, kAccount),
      random_(make_seeded_random(seed)),
      jobs_(tables_, queues_, life.clock(), *random_),
      work_({jobs_, queues_, tables_, life.clock(), *random_}) {}

void OwnWorkerHost::start() {
  auto task = run(*this);
  spawn(life_.executor(), std::move(task));
}

Task<void> OwnWorkerHost::run(OwnWorkerHost& self) {
  while (!self.life_.dead()) {
    const auto most = static_cast<std::uint32_t>(1 + self.dice_.below(kMostAtOnce));
    auto messages = co_await self.queues_.receive_some(ship_queue(), self.lease_, most, {});
    if (!messages || messages->empty()) {
      co_await sleep_for(self.life_.clock(), 200ms);
      continue;
    }
    std::vector<jobs::TakenMessage> taken;
    for (auto& message : *messages) taken.push_back({std::move(message), self.name_});
    for (auto& job : co_await self.work_.claim(ship_queue(), std::move(taken))) {
      if (!job) continue;
      auto task = do_job(self, std::move(*job));
      spawn(self.life_.executor(), std::move(task));
    }
  }
}

Task<void> OwnWorkerHost::do_job(OwnWorkerHost& self, jobs::ClaimedJob job) {
  jobs::JobBeat beat;
  beat.id = job.record.id;
  beat.epoch = job.record.epoch;
  if (!co_await self.keep(std::move(beat))) co_return;
  const auto end = self.end_of(job);
  if (end.kind == jobs::EndKind::kResult && !co_await self.write(end, row_of(job))) co_return;
  for (bool repeats = self.dice_.chance(2000); !self.life_.dead(); repeats = false) {
    auto ended = co_await self.work_.end({end}, ship_kinds());
    const bool answered = ended.front() || ended.front().failed_with(ErrorCode::kFenced);
    if (answered && !repeats) co_return;
    co_await sleep_for(self.life_.clock(), self.dice_.between(10ms, 500ms));
  }
}

Task<bool> OwnWorkerHost::keep(jobs::JobBeat beat) {
  for (auto left = dice_.below(3); left > 0; --left) {
    co_await sleep_for(life_.clock(), dice_.between(Duration::zero(), lease_));
    std::vector<jobs::JobBeat> beats;
    beats.push_back(beat);
    const auto answers = co_await work_.beat(std::move(beats), ship_kinds());
    const bool lost = answers && answers->front() != jobs::BeatAnswer::kHeld;
    if (life_.dead() || (lost && dice_.chance(5000))) co_return false;
  }
  co_return true;
}

jobs::WorkEnd OwnWorkerHost::end_of(const jobs::ClaimedJob& job) {
  jobs::WorkEnd end;
  end.id = job.record.id;
  end.epoch = job.record.epoch;
  end.result = json{{"epoch", end.epoch}}.dump();
  const auto choice = dice_.below(100);
  if (choice < 10) {
    end.kind = jobs::EndKind::kError;
    end.message = "tried in vain";
  } else if (choice < 20) {
    end.kind = jobs::EndKind::kRelease;
  } else if (choice < 60) {
    end.kind = jobs::EndKind::kSteps;
    end.transaction = steps_for(row_of(job), end.epoch);
  }
  return end;
}

/// Writes under the fence of the delivery that the worker has, as its own program would with the headers of the claim.
Task<Result<void>> OwnWorkerHost::write(const jobs::WorkEnd& end, const std::string& row) {
  table_store::Mutation mutation;
  mutation.kind = table_store::MutationKind::kInsertOrReplace;
  mutation.row_key = row;
  mutation.properties = {{"Epoch", static_cast<std::int64_t>(end.epoch)}};
  table_store::Fence fence{std::string(table_store::kUserOperation) + end.id, end.epoch, {}};
  std::vector<table_store::Mutation> mutations;
  mutations.push_back(std::move(mutation));
  CO_TRY(co_await tables_.mutate(kWriteTable, "own", std::move(mutations), std::move(fence)));
  co_return Result<void>{};
}

}  // namespace tidemark::simulation
