// Work of users' own kinds (jobs/work): claims, signs of life and ends, on stores in memory.
#include <gmock/gmock.h>

#include "jobs/work/claim_notes.h"
#include "jobs/work/own_kind_store.h"
#include "jobs/work/work.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

using jobs::BeatAnswer;
using jobs::ClaimedJob;
using jobs::EndKind;
using jobs::JobState;
using jobs::WorkEnd;

constexpr const char* kResizeQueue = "tidemark-work-resize-v1";

class OwnKindsWork : public WorkersFixture {
 protected:
  OwnKindsWork() {
    jobs::OwnKind kind;
    kind.name = "resize";
    kind.lease_seconds = 30;
    kind.steps = true;
    kinds_.push_back(kind);
  }
  jobs::JobRecord submit_own(const std::string& members = "") {
    auto spec = jobs::parse_job_spec(R"({"kind":"resize","retryCapMs":1)" + members + "}", kinds_);
    EXPECT_TRUE(spec) << spec.error().message;
    auto submitted = run(jobs_.submit(*spec));
    EXPECT_TRUE(submitted) << submitted.error().message;
    return submitted->job;
  }
  std::vector<ClaimedJob> claim(std::uint32_t count = 100, Duration lease = std::chrono::seconds(30)) {
    auto messages = run(queues_.receive_some(kResizeQueue, lease, count));
    EXPECT_TRUE(messages);
    if (!messages || messages->empty()) return {};
    std::vector<jobs::TakenMessage> taken;
    for (auto& message : *messages) taken.push_back({std::move(message), "mine"});
    std::vector<ClaimedJob> out;
    for (auto& job : run(work_.claim(kResizeQueue, std::move(taken)))) {
      if (job) out.push_back(std::move(*job));
    }
    return out;
  }
  static WorkEnd end_of(const ClaimedJob& job, EndKind kind = EndKind::kResult) {
    WorkEnd end;
    end.id = job.record.id;
    end.epoch = job.record.epoch;
    end.kind = kind;
    end.result = kind == EndKind::kResult ? "{\"n\":1}" : "";
    end.message = "no luck";
    return end;
  }
  Result<jobs::JobRecord> end(const WorkEnd& end) { return std::move(run(work_.end({end}, kinds_)).front()); }

  /// Loses the requests, or the answers, for which `lost` says so.
  void lose_one(bool answers, const std::function<bool()>& lost) {
    for (auto* link : {&table_link_, &queue_link_}) {
      link->before = nullptr;
      link->lose_reply = answers ? lost : nullptr;
      if (answers || !lost) continue;
      link->before = [lost](std::string) -> Task<Result<void>> {
        if (lost()) co_return fail(ErrorCode::kUnavailable);
        co_return Result<void>{};
      };
    }
  }
  /// Claims the job and ends it; repeats an end that got no answer.
  void do_one(queue_service::Message message, EndKind kind) {
    std::vector<jobs::TakenMessage> taken;
    taken.push_back({std::move(message), "mine"});
    const auto claimed = std::move(run(work_.claim(kResizeQueue, std::move(taken))).front());
    for (int tries = 0; claimed && tries < 5; ++tries) {
      const auto ended = end(end_of(*claimed, kind));
      if (ended || http_status_of(ended.error().code) < 500) return;
    }
  }

  jobs::OwnKinds kinds_;
  jobs::Work work_{{jobs_, queues_, tables_, *clock_, *random_}};
};

TEST_F(OwnKindsWork, ManyAreClaimedAndEndedTogether) {
  for (int i = 0; i < 30; ++i) submit_own();
  int calls = 0;
  table_link_.before = [&](std::string) -> Task<Result<void>> {
    ++calls;
    co_return Result<void>{};
  };
  const auto claimed = claim();
  ASSERT_EQ(claimed.size(), 30U);
  EXPECT_EQ(calls, 2) << "one reads the records, one writes them";
  std::vector<WorkEnd> ends;
  for (const auto& job : claimed) ends.push_back(end_of(job));
  calls = 0;
  for (const auto& outcome : run(work_.end(ends))) EXPECT_TRUE(outcome && outcome->state == JobState::kSucceeded);
  EXPECT_EQ(calls, 2);
  table_link_.before = nullptr;
  EXPECT_EQ(messages(kResizeQueue), 0U);
  EXPECT_EQ(record(claimed[7].record.id).result, "{\"n\":1}");
}

TEST_F(OwnKindsWork, ABuiltInWorkerPassesOnWhatIsNotForIt) {
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", R"({"kind":"resize","version":1,"input":5})", Duration::zero())));
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  const auto claimed = claim();
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].record.attempts, 1U);
  EXPECT_TRUE(end(end_of(claimed[0])));
}

TEST_F(OwnKindsWork, AnEarlierEpochChangesNothing) {
  submit_own();
  const auto first = claim(1, std::chrono::milliseconds(1));
  ASSERT_EQ(first.size(), 1U);
  std::vector<ClaimedJob> second;
  while (second.empty()) second = claim(1);
  EXPECT_EQ(second[0].record.epoch, 2U);
  for (const auto kind : {EndKind::kResult, EndKind::kError, EndKind::kRelease}) {
    EXPECT_TRUE(end(end_of(first[0], kind)).failed_with(ErrorCode::kFenced));
  }
  const auto beats =
      run(work_.beat({{.id = first[0].record.id, .epoch = 1, .done = 5, .total = {}, .phase = {}, .checkpoint = "1"},
                      {.id = first[0].record.id, .epoch = 2, .done = 2, .total = {}, .phase = {}, .checkpoint = "2"}},
                     kinds_));
  ASSERT_TRUE(beats);
  EXPECT_EQ(*beats, (std::vector{BeatAnswer::kLost, BeatAnswer::kHeld}));
  EXPECT_EQ(record(first[0].record.id).checkpoint, "2");
  EXPECT_TRUE(end(end_of(second[0])));
  EXPECT_EQ(end(end_of(second[0], EndKind::kError))->state, JobState::kSucceeded) << "repeated";
}

TEST_F(OwnKindsWork, ARequestThatIsRepeatedGetsTheSameJobs) {
  submit_own();
  submit_own();
  const auto claimed = claim();
  jobs::ClaimNotes notes(tables_);
  const auto row = jobs::claim_row("mine", "r1");
  jobs::ClaimNote note{row, {}};
  for (const auto& job : claimed) note.jobs.emplace_back(job.record.id, job.record.epoch);
  ASSERT_TRUE(run(notes.put({note})));
  ASSERT_TRUE(end(end_of(claimed[0])));
  const auto found = run(notes.find(row));
  ASSERT_TRUE(found && *found);
  const auto again = run(work_.claimed_before((*found)->jobs, kinds_));
  ASSERT_TRUE(again);
  ASSERT_EQ(again->size(), 1U);
  EXPECT_EQ(again->front().record.id, claimed[1].record.id);
  EXPECT_FALSE(*run(notes.find(jobs::claim_row("mine", "r2"))));
}

TEST_F(OwnKindsWork, DeclarationsAreStored) {
  jobs::OwnKindStore store(tables_);
  auto kind = kinds_[0];
  kind.per_key = jobs::PerKey{2, 10};
  EXPECT_TRUE(run(store.put(kind))->created);
  EXPECT_FALSE(run(store.put(kind))->created);
  EXPECT_EQ(*run(store.all()), jobs::OwnKinds{kind});
  EXPECT_TRUE(*run(store.remove("resize")));
  EXPECT_FALSE(*run(store.remove("resize")));
  EXPECT_TRUE(run(store.all())->empty());
}

/// One request or answer is lost at each place in turn, and the worker repeats what got no answer.
TEST_F(OwnKindsWork, NothingThatIsLostEndsAJobTwiceOrStrandsIt) {
  for (const auto kind : {EndKind::kResult, EndKind::kError, EndKind::kRelease}) {
    for (const bool answers : {false, true}) {
      for (int at = 1;; ++at) {
        ASSERT_LT(at, 60);
        const auto job = submit_own(R"(,"maxAttempts":2,"then":{"kind":"resize","version":2})");
        int calls = 0;
        int rounds = 0;
        const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        for (auto state = JobState::kQueued; !jobs::is_terminal(state); ++rounds) {
          ASSERT_LT(std::chrono::steady_clock::now(), limit) << "the job is stranded";
          auto messages = run(queues_.receive_some(kResizeQueue, std::chrono::milliseconds(5), 1));
          ASSERT_TRUE(messages);
          if (!messages->empty()) {
            lose_one(answers, [&calls, at] { return ++calls == at; });
            do_one(std::move(messages->front()), rounds < 2 ? kind : EndKind::kResult);
            lose_one(answers, {});
          }
          state = record(job.id).state;
        }
        // A message that was left goes with the next claim.
        while (messages(kResizeQueue) > 0 && std::chrono::steady_clock::now() < limit)
          claim(1, std::chrono::milliseconds(5));
        EXPECT_EQ(messages(kResizeQueue), 0U) << static_cast<int>(kind) << " " << answers << " " << at;
        const auto ended = record(job.id);
        const auto succeeded = std::ranges::count(ended.history, std::string("succeeded"), &jobs::Attempt::outcome);
        EXPECT_EQ(succeeded, ended.state == JobState::kSucceeded ? 1 : 0);
        if (ended.state == JobState::kSucceeded) {
          EXPECT_EQ(messages("tidemark-work-resize-v2"), 1U) << "one job follows";
          ASSERT_TRUE(run(queues_.clear("tidemark-work-resize-v2")));
        }
        ASSERT_FALSE(HasFailure()) << "kind " << static_cast<int>(kind) << (answers ? " answer " : " request ") << at;
        if (calls < at) break;
      }
    }
  }
}

/// Jobs whose workers end them with steps.
class EndsWithSteps : public OwnKindsWork {
 protected:
  void SetUp() override {
    OwnKindsWork::SetUp();
    for (const auto* table : {"Orders", "Accounts"}) ASSERT_TRUE(run(tables_.create_table(table)).has_value());
    ASSERT_TRUE(run(queues_.ensure_queue("mail")).has_value());
    set("Orders", "shop", "17", {{"State", "open"}, {"Cents", std::int64_t{500}}});
    set("Accounts", "c7", "balance", {{"Cents", std::int64_t{1000}}});
  }
  void set(const std::string& table, const std::string& partition, const std::string& row,
           std::vector<table_store::Property> properties) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = std::move(properties);
    ASSERT_TRUE(run(tables_.mutate(table, partition, {mutation}, std::nullopt)).has_value());
  }
  std::int64_t cents() {
    const auto found = run(tables_.get("Accounts", "c7", "balance"));
    EXPECT_TRUE(found && *found);
    return std::get<std::int64_t>(*(*found)->find("Cents"));
  }
  static WorkEnd paying(const ClaimedJob& job, const std::string& more = "", const std::string& state = "open") {
    auto end = end_of(job, EndKind::kSteps);
    end.result = R"({"paid":500})";
    const auto spec = jobs::parse_job_spec(R"({"kind":"transaction",
        "guards":[{"as":"o","table":"Orders","partitionKey":"shop","rowKey":"17","where":"State eq ')" +
                                           state + R"('"}],
        "steps":[{"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":"{o.Cents}"}}},
                 {"message":{"queue":"mail","text":"{job.id}"}})" +
                                           more + "]}");
    EXPECT_TRUE(spec) << spec.error().message;
    end.transaction = std::get<jobs::TransactionSpec>(spec->work);
    return end;
  }
  static std::vector<std::string> outcomes(const jobs::JobRecord& record) {
    std::vector<std::string> out;
    for (const auto& attempt : record.history) out.push_back(attempt.outcome);
    return out;
  }
};

TEST_F(EndsWithSteps, ResultWritesAndMessagesHappenTogether) {
  const auto job = submit_own(R"(,"maxAttempts":1,"then":{"kind":"resize","version":2})");
  const auto claimed = claim();
  ASSERT_EQ(claimed.size(), 1U);
  const auto accepted = end(paying(claimed[0]));
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(accepted->state, JobState::kRunning);
  EXPECT_EQ(accepted->phase, "steps");
  EXPECT_EQ(accepted->queue, "default");
  EXPECT_EQ(messages(kResizeQueue), 0U);
  EXPECT_EQ(cents(), 1000);
  EXPECT_EQ(end(end_of(claimed[0], EndKind::kError))->state, JobState::kRunning) << "it has ended already";
  const auto beat =
      run(work_.beat({{.id = job.id, .epoch = 1, .done = 9, .total = {}, .phase = {}, .checkpoint = {}}}, kinds_));
  EXPECT_EQ(*beat, std::vector{BeatAnswer::kLost});
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, JobState::kSucceeded);
  EXPECT_EQ(ended.kind, "resize");
  EXPECT_EQ(ended.result, R"({"paid":500})");
  EXPECT_EQ(ended.done, 1U);
  EXPECT_EQ(outcomes(ended), (std::vector<std::string>{"ended", "succeeded"}));
  EXPECT_EQ(cents(), 1500);
  EXPECT_EQ(receive("mail")->text, job.id);
  EXPECT_EQ(messages("tidemark-work-resize-v2"), 1U) << "the job that follows";
  EXPECT_EQ(messages_left(), 0U);
  EXPECT_EQ(end(paying(claimed[0]))->state, JobState::kSucceeded) << "repeated";
}

TEST_F(EndsWithSteps, AnEarlierEpochEndsNothing) {
  submit_own();
  const auto first = claim(1, std::chrono::milliseconds(1));
  ASSERT_EQ(first.size(), 1U);
  std::vector<ClaimedJob> second;
  while (second.empty()) second = claim(1);
  EXPECT_TRUE(end(paying(first[0])).failed_with(ErrorCode::kFenced));
  ASSERT_TRUE(end(paying(second[0])));
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_TRUE(end(paying(first[0])).failed_with(ErrorCode::kFenced));
  EXPECT_EQ(cents(), 1500);
}

TEST_F(EndsWithSteps, AGuardThatDoesNotHoldCancelsTheJob) {
  const auto job = submit_own();
  ASSERT_TRUE(end(paying(claim().front(), "", "sold")));
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, JobState::kCancelled);
  EXPECT_EQ(nlohmann::json::parse(ended.result)["found"]["State"], "open");
  EXPECT_EQ(cents(), 1000);
  EXPECT_EQ(messages("mail"), 0U);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(EndsWithSteps, PoisonNamesTheStepAndGoesOnThere) {
  const auto job = submit_own();
  const auto insert = R"(,{"insert":{"table":"Orders","partitionKey":"shop","rowKey":"17","entity":{"A":1}}})";
  ASSERT_TRUE(end(paying(claim().front(), insert)));
  auto last = work_next();
  while (last.end == RunEnd::kRetried) last = work_next();
  EXPECT_EQ(last.end, RunEnd::kPoisoned);
  EXPECT_THAT(record(job.id).error, testing::HasSubstr("steps[2]: insert"));
  EXPECT_EQ(cents(), 1500);
  auto spec = jobs::parse_job_spec(R"({"kind":"resize","input":"another"})", kinds_);
  EXPECT_TRUE(run(poison_.redrive(job.id, *spec, "me")).failed_with(ErrorCode::kJobInvalid));
  EXPECT_TRUE(run(poison_.edit(job.id, *spec, "me")).failed_with(ErrorCode::kJobInvalid));
  Mutation erase;
  erase.kind = MutationKind::kErase;
  erase.row_key = "17";
  ASSERT_TRUE(run(tables_.mutate("Orders", "shop", {erase}, std::nullopt)).has_value());
  ASSERT_TRUE(run(poison_.redrive(job.id, std::nullopt, "me")).has_value());
  EXPECT_EQ(messages(kResizeQueue), 0U);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).result, R"({"paid":500})");
  EXPECT_EQ(cents(), 1500);
  EXPECT_EQ(messages("mail"), 1U);
}

TEST_F(EndsWithSteps, IsUndoneLikeATransaction) {
  const auto job = submit_own();
  ASSERT_TRUE(end(paying(claim().front())));
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  finish(R"({"kind":"undo","job":")" + job.id + "\"}");
  EXPECT_EQ(cents(), 1000);
}

TEST_F(EndsWithSteps, IsCancelledUntilItIsDecided) {
  const auto job = submit_own();
  const auto claimed = claim();
  ASSERT_TRUE(end(paying(claimed[0])));
  EXPECT_EQ(run(jobs_.cancel(job.id))->state, JobState::kCancelled);
  EXPECT_EQ(end(paying(claimed[0]))->state, JobState::kCancelled);
  EXPECT_EQ(cents(), 1000);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(EndsWithSteps, OnlyAKindThatIsDeclaredSo) {
  submit_own();
  const auto claimed = claim();
  kinds_[0].steps = false;
  EXPECT_TRUE(end(paying(claimed[0])).failed_with(ErrorCode::kInvalidInput));
  EXPECT_EQ(end(end_of(claimed[0]))->state, JobState::kSucceeded);
}

/// One request or answer is lost at each place in turn, on the side of the worker and on that of the steps.
TEST_F(EndsWithSteps, NothingThatIsLostTakesStepsTwiceOrStrandsThem) {
  for (const bool answers : {false, true}) {
    for (int at = 1;; ++at) {
      ASSERT_LT(at, 80);
      const auto before = cents();
      const auto job = submit_own(R"(,"maxAttempts":20)");
      int calls = 0;
      const auto lost = [&calls, at] { return ++calls == at; };
      const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      for (auto state = JobState::kQueued; state != JobState::kSucceeded;) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit) << "the job is stranded";
        ASSERT_NE(state, JobState::kPoisoned);
        for (const std::string queue : {kResizeQueue, "tidemark-jobs"}) {
          auto taken = run(queues_.receive_some(queue, std::chrono::milliseconds(50), 1));
          ASSERT_TRUE(taken);
          if (taken->empty()) continue;
          lose_one(answers, lost);
          if (queue == kResizeQueue) {
            std::vector<jobs::TakenMessage> messages;
            messages.push_back({std::move(taken->front()), "mine"});
            const auto claimed = std::move(run(work_.claim(queue, std::move(messages))).front());
            // Every other time the worker hears nothing and gives up.
            for (int tries = 0; claimed && tries < (at % 2 == 0 ? 1 : 5); ++tries) {
              if (end(paying(*claimed))) break;
            }
          } else {
            work(std::move(taken->front()));
          }
          lose_one(answers, {});
        }
        state = record(job.id).state;
      }
      EXPECT_EQ(cents(), before + 500);
      EXPECT_EQ(messages("mail"), 1U);
      ASSERT_TRUE(run(queues_.clear("mail")));
      ASSERT_FALSE(HasFailure()) << (answers ? " answer " : " request ") << at;
      if (calls < at) break;
    }
  }
}

}  // namespace
}  // namespace tidemark::workers
