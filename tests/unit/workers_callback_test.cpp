// Callbacks, notifications of the end of jobs and groups, and on-change jobs, with an endpoint of the test's own.
#include <set>

#include "feeds/tokens/start_token.h"
#include "tests/unit/workers_fixture.h"
#include "workers/kinds/callback.h"
#include "workers/on_change/on_change_owner.h"
#include "workers/upkeep/collector.h"

namespace tidemark::workers {
namespace {

using jobs::JobState;
using nlohmann::json;

constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kOther = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

OutboundReply reply(unsigned status, std::string body = {}, std::optional<Duration> retry_after = {}) {
  return {status, retry_after, std::move(body)};
}

/// Answers as it was told to, and keeps its requests.
class FakeEndpoint final : public OutboundHttp {
 public:
  Task<Result<OutboundReply>> send(OutboundRequest request) override {
    got.push_back(std::move(request));
    if (answer) co_return answer();
    co_return reply(204);
  }
  [[nodiscard]] std::string header(std::size_t n, std::string_view name) const {
    for (const auto& [key, value] : got.at(n).headers) {
      if (key == name) return value;
    }
    return "(none)";
  }
  std::function<Result<OutboundReply>()> answer;
  std::vector<OutboundRequest> got;
};

class WorkersCallback : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    services_.policy = *jobs::CallbackPolicy::create("h,other:8443", "", "");
    services_.secrets = *SigningSecrets::parse(std::string(kSecret) + ",two=" + kSecret + ",two=" + kOther);
    services_.http = &endpoint_;
    callbacks_ = &services_;
  }
  jobs::JobRecord send(const std::string& more = "") {
    return submit(R"({"kind":"callback","url":"https://h/in?token=t0ken-in-url")" + more + "}");
  }
  /// Works until no message is left that could be taken.
  void work_all() {
    while (true) {
      auto message = run(queues_.receive("tidemark-jobs", std::chrono::seconds(30), Duration::zero()));
      ASSERT_TRUE(message.has_value());
      if (!*message) return;
      work(std::move(**message));
    }
  }
  std::vector<Result<jobs::Submission>> submit_group(const std::string& text) {
    auto batch = jobs::parse_job_batch(text);
    EXPECT_TRUE(batch.has_value()) << batch.error().message;
    auto submitted = run(jobs_.submit_group(std::move(*batch)));
    EXPECT_TRUE(submitted.has_value()) << submitted.error().message;
    return submitted ? std::move(*submitted) : std::vector<Result<jobs::Submission>>();
  }
  std::map<std::string, std::uint64_t> states(const std::string& group) {
    auto status = run(groups_.status(group));
    EXPECT_TRUE(status && *status);
    std::map<std::string, std::uint64_t> out;
    for (const auto& [state, count] : (*status)->states) out[std::string(jobs::state_name(state))] = count;
    return out;
  }
  [[nodiscard]] json body(std::size_t n) const { return json::parse(endpoint_.got.at(n).body); }

  FakeEndpoint endpoint_;
  CallbackServices services_;
  jobs::Groups groups_{tables_, *clock_};
};

TEST(WebhookSignature, IsThatOfTheSpecification) {
  // The worked example of Standard Webhooks.
  const auto secrets = SigningSecrets::parse(kSecret);
  ASSERT_TRUE(secrets.has_value());
  EXPECT_EQ(webhook_signature(*secrets->find("default"), "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
                              R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, SecretsHaveNamesAndAProperLength) {
  const auto secrets = SigningSecrets::parse(std::string(" a=") + kSecret + ", a=" + kOther + " ," + kOther);
  ASSERT_TRUE(secrets.has_value());
  EXPECT_EQ(secrets->find("a")->size(), 2U);
  EXPECT_EQ(secrets->find("default")->size(), 1U);
  EXPECT_EQ(secrets->find("b"), nullptr);
  for (const auto* text : {"x", "whsec_", "whsec_AAAA", "a=b", "=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_????",
                           "a=MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}) {
    const auto bad = SigningSecrets::parse(text);
    ASSERT_TRUE(bad.failed_with(ErrorCode::kConfigInvalid)) << text;
    EXPECT_EQ(bad.error().message.find("MfKQ9r8"), std::string::npos);
  }
}

TEST(CallbackReply, DecidesWhatBecomesOfTheJob) {
  const auto judged = [](unsigned status, std::optional<Duration> after = {}) {
    const auto result = judge_reply(reply(status, "", after), "https://h", {});
    return result ? ErrorCode::kNotModified : result.error().code;  // stands for no error
  };
  for (unsigned status = 100; status < 600; ++status) {
    auto wanted = ErrorCode::kCallbackRefused;
    if (status / 100 == 2) wanted = ErrorCode::kNotModified;
    if (status / 100 == 5 || status == 408) wanted = ErrorCode::kCallbackFailed;
    if (status == 429) wanted = ErrorCode::kServerBusy;
    EXPECT_EQ(judged(status), wanted) << status;
    if (status == 408 || status == 503) wanted = ErrorCode::kServerBusy;
    EXPECT_EQ(judged(status, std::chrono::seconds(2)), wanted) << status;
  }
  const auto throttled = judge_reply(reply(429, "", std::chrono::seconds(2)), "https://h", {});
  EXPECT_EQ(throttled.error().fields.front(), (std::pair<std::string, std::string>("retryAfterMs", "2000")));
}

TEST(CallbackReply, IsShownShortPrintableAndWithoutSecrets) {
  const auto long_one = judge_reply(reply(410, std::string(70'000, 'x')), "https://h", {}).error().message;
  EXPECT_LT(long_one.size(), 400U);
  EXPECT_NE(long_one.find("https://h answered 410 (gone): \"xxx"), std::string::npos);
  // A secret at the very place where the text is cut is not left in half.
  for (std::size_t before = 280; before < 320; ++before) {
    const auto message = judge_reply(reply(400, std::string(before, 'y') + "Bearer s3cret-token\x01\"\n"), "https://h",
                                     {"Bearer s3cret-token"})
                             .error()
                             .message;
    EXPECT_EQ(message.find("Bear"), std::string::npos) << message;
    for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7F);
  }
}

TEST_F(WorkersCallback, IsSentSignedAndItsAnswerIsKept) {
  endpoint_.answer = [] { return reply(201, "thanks"); };
  const auto job = send(R"(,"body":{"b":1},"headers":{"X-Mine":"yes"},"timeoutMs":1234)");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  ASSERT_EQ(endpoint_.got.size(), 1U);
  const auto& got = endpoint_.got[0];
  EXPECT_EQ(got.method, "POST");
  EXPECT_EQ(got.url.text, "https://h/in?token=t0ken-in-url");
  EXPECT_EQ(got.body, R"({"b":1})");
  EXPECT_EQ(got.timeout, Duration(std::chrono::milliseconds(1234)));
  EXPECT_EQ(endpoint_.header(0, "X-Mine"), "yes");
  EXPECT_EQ(endpoint_.header(0, "content-type"), "application/json");
  EXPECT_EQ(endpoint_.header(0, "webhook-id"), job.id);
  EXPECT_EQ(endpoint_.header(0, "idempotency-key"), job.id);
  EXPECT_EQ(endpoint_.header(0, "tidemark-attempt"), "1");
  EXPECT_EQ(endpoint_.header(0, "webhook-signature"),
            webhook_signature(*services_.secrets.find("default"), job.id, endpoint_.header(0, "webhook-timestamp"),
                              got.body));
  const auto result = json::parse(record(job.id).result);
  EXPECT_EQ(result["status"], 201);
  EXPECT_EQ(result["answer"], "thanks");
  EXPECT_EQ(record(job.id).done, 1U);
}

TEST_F(WorkersCallback, ASecretIsReplacedBySigningWithBoth) {
  send(R"(,"secret":"two","method":"GET")");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  const auto signature = endpoint_.header(0, "webhook-signature");
  EXPECT_EQ(signature.find(' '), signature.rfind(' '));
  EXPECT_EQ(signature.substr(signature.find(' ') + 1, 3), "v1,");
  EXPECT_EQ(endpoint_.header(0, "content-type"), "(none)");
}

TEST_F(WorkersCallback, IsSentAgainUnderTheSameIdUntilItIsTaken) {
  int n = 0;
  endpoint_.answer = [&]() -> Result<OutboundReply> {
    if (++n == 1) return fail(ErrorCode::kCallbackFailed, "No answer of https://h: Connection refused");
    if (n == 2) return reply(500, "oops");
    if (n < 6) return reply(429, "", std::chrono::milliseconds(1));
    return reply(200);
  };
  const auto job = send(R"(,"maxAttempts":3)");
  work_all();
  while (record(job.id).state == JobState::kQueued) work_next();
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, JobState::kSucceeded);
  EXPECT_EQ(ended.attempts, 3U);  // of six requests: throttling is not the job's fault
  ASSERT_EQ(endpoint_.got.size(), 6U);
  std::set<std::string> ids, epochs;
  for (std::size_t i = 0; i < 6; ++i) {
    ids.insert(endpoint_.header(i, "webhook-id"));
    epochs.insert(endpoint_.header(i, "tidemark-epoch"));
  }
  EXPECT_EQ(ids.size(), 1U);
  EXPECT_EQ(epochs.size(), 6U);
  EXPECT_EQ(endpoint_.header(5, "tidemark-attempt"), "3");
}

TEST_F(WorkersCallback, AnEndpointThatAlwaysWantsToBeCalledLaterIsGivenUpAfterADay) {
  endpoint_.answer = [] { return reply(429, "not now", std::chrono::milliseconds(1)); };
  const auto job = send("");
  for (int i = 0; i < 30; ++i) ASSERT_EQ(work_next().end, RunEnd::kRetried) << "it is young";
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrMerge;
  mutation.row_key = job.id;
  mutation.properties = {{"SubmittedAt", clock_->now() - std::chrono::hours(25)}};
  ASSERT_TRUE(run(tables_.mutate("TidemarkJobs", "jobs", {mutation}, std::nullopt)).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(job.id).error.find("called later: https://h answered 429"), std::string::npos)
      << record(job.id).error;
  // A job that was sent back has a day again.
  ASSERT_TRUE(run(poison_.redrive(job.id, std::nullopt, "me")).has_value());
  for (int i = 0; i < 30; ++i) ASSERT_EQ(work_next().end, RunEnd::kRetried);
}

TEST(CallbackReply, NoRetryAfterIsTooLargeToReckonWith) {
  EXPECT_EQ(retry_after_of(0), std::nullopt);
  EXPECT_EQ(retry_after_of(-5), std::nullopt);
  EXPECT_EQ(retry_after_of(7), Duration(std::chrono::seconds(7)));
  EXPECT_EQ(retry_after_of(INT64_MAX), Duration(std::chrono::hours(24)));
}

TEST_F(WorkersCallback, ARefusalIsPoisonAtOnceAndSaysWhy) {
  for (const unsigned status : {301U, 400U, 404U, 410U}) {
    endpoint_.answer = [&] { return reply(status, "no \"such\" thing; Bearer s3cret-token"); };
    const auto job = send(R"(,"headers":{"Authorization":"Bearer s3cret-token"})");
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
    const auto ended = record(job.id);
    EXPECT_NE(ended.error.find("https://h answered " + std::to_string(status)), std::string::npos) << ended.error;
    EXPECT_NE(ended.error.find("no 'such' thing; ***"), std::string::npos) << ended.error;
    EXPECT_EQ(ended.error.find("t0ken-in-url"), std::string::npos);
  }
  // Each kind of refusal is a group of its own.
  auto groups = run(poison_.groups({}));
  EXPECT_EQ(groups->groups.size(), 4U);
}

TEST_F(WorkersCallback, GoesOnlyWhereItMay) {
  const auto refused = [&](const std::string& text, const std::string& why) {
    const auto job = submit(text);
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned) << text;
    EXPECT_NE(record(job.id).error.find(why), std::string::npos) << record(job.id).error;
  };
  refused(R"({"kind":"callback","url":"https://elsewhere/"})", "not in callback_hosts");
  refused(R"({"kind":"callback","url":"http://h/"})", "h would have to be in callback_http_hosts");
  refused(R"({"kind":"callback","url":"https://h/","secret":"three"})", "no secret named 'three'");
  callbacks_ = nullptr;
  refused(R"({"kind":"callback","url":"https://h/"})", "callback_hosts is empty");
  EXPECT_TRUE(endpoint_.got.empty());
}

TEST_F(WorkersCallback, AWorkerThatDiesAfterTheRequestHasItSentTwiceAndEndedOnce) {
  options_.lease = std::chrono::seconds(3);  // as long as the worker tries to give the message back
  const auto job = send(R"(,"onEnd":{"url":"https://other:8443/ended"})");
  auto message = receive();
  // The record and the message can no longer be written once the endpoint has answered.
  endpoint_.answer = [&]() -> Result<OutboundReply> {
    const auto dead = [](std::string) -> Task<Result<void>> { co_return fail(ErrorCode::kUnavailable); };
    table_link_.before = dead;
    queue_link_.before = dead;
    return reply(200);
  };
  work(*message);
  table_link_.before = nullptr;
  queue_link_.before = nullptr;
  endpoint_.answer = nullptr;
  EXPECT_EQ(record(job.id).state, JobState::kRunning);
  queue_service::Lease lease{"tidemark-jobs", message->id, message->epoch};
  ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), "", true)).has_value());
  work_all();
  EXPECT_EQ(record(job.id).state, JobState::kSucceeded);
  ASSERT_EQ(endpoint_.got.size(), 3U);
  EXPECT_EQ(endpoint_.header(1, "webhook-id"), endpoint_.header(0, "webhook-id"));
  EXPECT_EQ(endpoint_.got[2].url.text, "https://other:8443/ended");
}

TEST_F(WorkersCallback, TheEndOfAJobIsToldOnceHoweverItEnds) {
  put("p", "r", 1);
  const std::string end = R"(,"onEnd":{"url":"https://other:8443/ended","headers":{"X-Mine":"1"},"secret":"two"}})";
  const auto good = submit(R"({"kind":"delete","source":"Source","filter":"")" + end);
  const auto bad = submit(R"({"kind":"delete","source":"NoSuchTable","filter":"")" + end);
  const auto cancelled =
      submit(R"({"kind":"delete","source":"Source","filter":"","notBefore":"2100-01-01T00:00:00Z")" + end);
  ASSERT_TRUE(run(jobs_.cancel(cancelled.id)).has_value());
  ASSERT_TRUE(run(jobs_.cancel(cancelled.id)).has_value());
  work_all();
  ASSERT_EQ(endpoint_.got.size(), 3U);
  std::map<std::string, json> told;
  for (std::size_t i = 0; i < 3; ++i) told[body(i)["data"]["id"]] = body(i);
  EXPECT_EQ(told[good.id]["type"], "job.succeeded");
  EXPECT_EQ(told[good.id]["data"]["done"], 1);
  EXPECT_EQ(told[bad.id]["type"], "job.poisoned");
  EXPECT_NE(told[bad.id]["data"]["error"].get<std::string>().find("NoSuchTable"), std::string::npos);
  EXPECT_EQ(told[cancelled.id]["type"], "job.cancelled");
  EXPECT_EQ(endpoint_.header(0, "X-Mine"), "1");
  EXPECT_NE(endpoint_.header(0, "webhook-signature").find(' '), std::string::npos);
  for (const auto& id : {good.id, bad.id, cancelled.id}) {
    const auto callback = record(jobs::ending_job_id(record(id)));
    EXPECT_EQ(callback.state, JobState::kSucceeded);
    EXPECT_EQ(callback.kind, "callback");
  }
}

TEST_F(WorkersCallback, AJobThatIsSentBackTellsOfEachOfItsEnds) {
  const auto job = submit(R"({"kind":"delete","source":"Later","filter":"","onEnd":{"url":"https://h/"}})");
  work_all();
  ASSERT_TRUE(run(tables_.create_table("Later")).has_value());
  ASSERT_TRUE(run(poison_.redrive(record(job.id).message_id, std::nullopt, "me")).has_value());
  work_all();
  ASSERT_EQ(endpoint_.got.size(), 2U);
  EXPECT_EQ(body(0)["type"], "job.poisoned");
  EXPECT_EQ(body(1)["type"], "job.succeeded");
  EXPECT_NE(endpoint_.header(0, "webhook-id"), endpoint_.header(1, "webhook-id"));
}

TEST_F(WorkersCallback, AnEndIsToldOnceWhateverCallFails) {
  // Calls to both stores: from each call on, three fail. Later deliveries put it right.
  for (const bool poisons : {false, true}) {
    for (int fail_at = 1; fail_at < 60; ++fail_at) {
      endpoint_.got.clear();
      const auto job = submit(R"({"kind":"delete","source":")" + std::string(poisons ? "NoSuchTable" : "Source") +
                              R"(","filter":"","maxAttempts":50,"onEnd":{"url":"https://h/"}})");
      auto message = receive();
      int calls = 0;
      const auto failing = [&](std::string) -> Task<Result<void>> {
        if (++calls >= fail_at && calls < fail_at + 3) co_return fail(ErrorCode::kUnavailable);
        co_return Result<void>{};
      };
      table_link_.before = queue_link_.before = failing;
      work(*message);
      table_link_.before = queue_link_.before = nullptr;
      // Acts as the end of a lease would, unless the message has gone.
      queue_service::Lease lease{"tidemark-jobs", message->id, message->epoch};
      static_cast<void>(run(queues_.renew(lease, Duration::zero(), std::nullopt)).has_value());
      for (int i = 0; i < 20 && endpoint_.got.empty(); ++i) work_next();
      work_all();
      ASSERT_EQ(endpoint_.got.size(), 1U) << "failing from call " << fail_at << " on";
      EXPECT_EQ(body(0)["data"]["id"], job.id);
      EXPECT_EQ(record(job.id).state, poisons ? JobState::kPoisoned : JobState::kSucceeded);
      if (calls < fail_at) break;
      ASSERT_LT(fail_at, 59);
    }
  }
}

TEST_F(WorkersCallback, AGroupIsCountedAndItsEndToldOnce) {
  put("p", "r", 1);
  const auto text = R"({"group":"night","onEnd":{"url":"https://h/group"},"jobs":[
      {"kind":"delete","source":"Source","filter":""},
      {"kind":"delete","source":"NoSuchTable","filter":""},
      {"kind":"delete","source":"Source","filter":"","notBefore":"2100-01-01T00:00:00Z"},
      {"kind":"delete","source":"Source","filter":"","priority":"low"}]})";
  const auto first = submit_group(text);
  const auto again = submit_group(text);
  ASSERT_EQ(first.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(first[i]->created);
    EXPECT_FALSE(again[i]->created);
    EXPECT_EQ(again[i]->job.id, first[i]->job.id);
  }
  EXPECT_EQ(messages("tidemark-jobs"), 3U);
  EXPECT_EQ(states("night"), (std::map<std::string, std::uint64_t>{
                                 {"queued", 4}, {"running", 0}, {"succeeded", 0}, {"poisoned", 0}, {"cancelled", 0}}));
  work_all();
  EXPECT_EQ(states("night"), (std::map<std::string, std::uint64_t>{
                                 {"queued", 2}, {"running", 0}, {"succeeded", 1}, {"poisoned", 1}, {"cancelled", 0}}));
  ASSERT_TRUE(run(jobs_.cancel(first[2]->job.id)).has_value());
  EXPECT_TRUE(endpoint_.got.empty());
  auto last = receive("tidemark-jobs-low");
  LimitGate gate(tables_, *clock_, options_.lease);
  JobRunner runner(options_, JobServices{tables_, queues_, jobs_, *clock_, *random_, callbacks_}, gate);
  EXPECT_EQ(
      run(runner.run(std::move(*last), clock_->now(), std::make_shared<const bool>(false), "tidemark-jobs-low")).end,
      RunEnd::kSucceeded);
  work_all();
  ASSERT_EQ(endpoint_.got.size(), 1U);
  EXPECT_EQ(body(0)["type"], "group.ended");
  const auto data = body(0)["data"];
  EXPECT_EQ(data["id"], "night");
  EXPECT_EQ(data["members"], 4);
  EXPECT_EQ(data["succeeded"], 2);
  EXPECT_EQ(data["poisoned"], 1);
  EXPECT_EQ(data["cancelled"], 1);
  // A member that is edited and sent back ends anew, as a member; its group has ended and is not reported again.
  const auto edited =
      jobs::parse_job_spec(R"({"kind":"delete","source":"Source","filter":"","onEnd":{"url":"https://h/member"}})");
  ASSERT_TRUE(edited.has_value());
  ASSERT_TRUE(run(poison_.redrive(record(first[1]->job.id).message_id, *edited, "me")).has_value());
  work_all();
  EXPECT_EQ(record(first[1]->job.id).state, JobState::kSucceeded);
  ASSERT_EQ(endpoint_.got.size(), 2U);
  EXPECT_EQ(body(1)["type"], "job.succeeded");
  EXPECT_EQ(body(1)["data"]["group"]["id"], "night");
  EXPECT_EQ(states("night")["poisoned"], 1U);
  // Other jobs do not belong to the group.
  auto other = jobs::parse_job_batch(R"({"group":"night","jobs":[{"kind":"delete","source":"Source","filter":""}]})");
  EXPECT_TRUE(run(jobs_.submit_group(std::move(*other))).failed_with(ErrorCode::kIdempotencyKeyReused));
}

TEST_F(WorkersCallback, AGroupIsToldOfOnceWhateverCallFails) {
  for (int fail_at = 1; fail_at < 120; ++fail_at) {
    endpoint_.got.clear();
    const auto group = "g" + std::to_string(fail_at);
    submit_group(R"({"group":")" + group + R"(","onEnd":{"url":"https://h/"},"jobs":[
        {"kind":"delete","source":"Source","filter":""},{"kind":"delete","source":"Source","filter":"","maxAttempts":9}]})");
    int calls = 0;
    const auto failing = [&](std::string) -> Task<Result<void>> {
      if (++calls >= fail_at && calls < fail_at + 3) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>{};
    };
    std::vector<queue_service::Message> taken;
    for (int i = 0; i < 2; ++i) taken.push_back(*receive());
    table_link_.before = queue_link_.before = failing;
    for (const auto& message : taken) work(message);
    table_link_.before = queue_link_.before = nullptr;
    for (const auto& message : taken) {
      queue_service::Lease lease{"tidemark-jobs", message.id, message.epoch};
      static_cast<void>(run(queues_.renew(lease, Duration::zero(), std::nullopt)).has_value());
    }
    for (int i = 0; i < 20 && endpoint_.got.empty(); ++i) work_next();
    work_all();
    ASSERT_EQ(endpoint_.got.size(), 1U) << "failing from call " << fail_at << " on";
    EXPECT_EQ(body(0)["data"]["succeeded"], 2);
    if (calls < fail_at) return;
  }
  FAIL() << "the jobs make more calls than expected";
}

TEST_F(WorkersCallback, OldGroupsAreCollected) {
  submit_group(R"({"group":"done","jobs":[{"kind":"delete","source":"Source","filter":""}]})");
  work_all();
  submit_group(R"({"group":"open","jobs":[{"kind":"delete","source":"Source","filter":""}]})");
  jobs::Collector young(tables_, queues_, *clock_, std::chrono::hours(1));
  EXPECT_EQ(run(young.collect(clock_->now()))->groups, 0U);
  jobs::Collector old(tables_, queues_, *clock_, -std::chrono::hours(1));
  EXPECT_EQ(run(old.collect(clock_->now()))->groups, 1U);
  EXPECT_FALSE(run(groups_.find("done"))->has_value());
  EXPECT_TRUE(run(groups_.find("open"))->has_value());
  for (const auto& entity : all("TidemarkJobs")) EXPECT_NE(entity.partition_key, "group-done");
}

TEST_F(WorkersCallback, AGroupThatIsThereHasAllOfItsJobsHoweverOldTheyAre) {
  const auto text = R"({"group":"slow","jobs":[{"kind":"delete","source":"Source","filter":""},
      {"kind":"delete","source":"Source","filter":"","notBefore":"2100-01-01T00:00:00Z"}]})";
  const auto first = submit_group(text);
  work_all();
  jobs::Collector collector(tables_, queues_, *clock_, -std::chrono::hours(1));
  ASSERT_TRUE(run(collector.collect(clock_->now())).has_value());
  const auto again = submit_group(text);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(again[i]->created);
    EXPECT_EQ(again[i]->job.id, first[i]->job.id);
  }
  EXPECT_EQ(record(first[0]->job.id).state, JobState::kSucceeded);
  EXPECT_EQ(messages("tidemark-jobs"), 1U);
  ASSERT_TRUE(run(jobs_.cancel(first[1]->job.id)).has_value());
  ASSERT_TRUE(run(collector.collect(clock_->now())).has_value());
  EXPECT_FALSE(run(groups_.find("slow"))->has_value());
  EXPECT_EQ(run(collector.collect(clock_->now()))->jobs, 2U);
}

TEST_F(WorkersCallback, AMessageThatClaimsAGroupCountsForNone) {
  submit_group(
      R"({"group":"true","jobs":[{"kind":"delete","source":"Source","filter":"","notBefore":"2100-01-01T00:00:00Z"}]})");
  for (const auto* group :
       {R"({"id":"true","number":0})", R"({"id":"true","number":7})", R"({"id":"none","number":0})"}) {
    ASSERT_TRUE(run(queues_.put("tidemark-jobs",
                                R"({"kind":"delete","source":"Source","filter":"","group":)" + std::string(group) + "}",
                                Duration::zero()))
                    .has_value());
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  }
  EXPECT_EQ(states("true")["queued"], 1U);
}

class WorkersOnChange : public WorkersCallback {
 protected:
  void keep(table_store::ChangeFeed feed) { ASSERT_TRUE(run(tables_.put_feed("Source", feed)).has_value()); }
  void erase(const std::string& table, const std::string& partition, const std::string& row) {
    Mutation mutation;
    mutation.kind = MutationKind::kErase;
    mutation.row_key = row;
    std::ignore = run(tables_.mutate(table, partition, {mutation}, std::nullopt)).has_value();
  }
  feeds::OnChange follow(const std::string& name, const std::string& text) {
    auto asked = feeds::parse_on_change(text);
    EXPECT_TRUE(asked.has_value()) << asked.error().message;
    auto start = run(feeds::token_for(tables_, "Source", "now"));
    EXPECT_TRUE(start.has_value());
    return run(store_.put("Source", name, asked->definition, *start))->on_change;
  }
  /// Lets an owner report changes until it has handled so many, or stops.
  feeds::OnChangeProgress own(const feeds::OnChange& on_change, std::uint64_t epoch, std::uint64_t changes) {
    return run(own_until(on_change, epoch, changes));
  }
  Task<feeds::OnChangeProgress> own_until(feeds::OnChange on_change, std::uint64_t epoch, std::uint64_t changes) {
    constexpr auto kPoll = std::chrono::milliseconds(1);
    auto owner =
        OnChangeOwner::create({tables_, queues_, jobs_, store_, *clock_, *random_, callbacks_, {}}, on_change, epoch);
    owner->start(co_await asio::this_coro::executor);
    feeds::OnChangeProgress progress;
    while (!owner->ended() && progress.state == feeds::kRunning && progress.told + progress.passed_by < changes) {
      co_await sleep_for(*clock_, kPoll);
      progress = (co_await store_.progress(on_change.id)).value();
    }
    owner->stop();
    while (!owner->ended()) co_await sleep_for(*clock_, kPoll);
    co_return progress;
  }

  static constexpr table_store::ChangeFeed kBoth{.old_values = true, .new_values = true};
  feeds::OnChangeStore store_{tables_, *clock_, *random_};
};

TEST_F(WorkersOnChange, AFilterThatCannotBeAppliedStopsIt) {
  keep(kBoth);
  const auto on_change = follow("paid", R"({"webhook":{"url":"https://h/in"},"filter":"Number eq 1"})");
  put("p", "a", 1);
  put("p", "b", 2);
  keep({});
  put("p", "c", 1);
  keep(kBoth);
  put("p", "d", 1);
  auto progress = own(on_change, 1, 4);
  EXPECT_EQ(progress.state, feeds::kStopped);
  EXPECT_EQ(progress.told, 1U);
  EXPECT_EQ(progress.passed_by, 1U);
  EXPECT_EQ(progress.failed, progress.token);
  EXPECT_NE(progress.last_error.find(R"("values":"both")"), std::string::npos) << progress.last_error;
  ASSERT_EQ(endpoint_.got.size(), 1U);
  EXPECT_EQ(body(0)["change"]["rowKey"], "a");
}

TEST_F(WorkersOnChange, WithoutValuesThatItNeedsNothingIsToldOrPassedBy) {
  const auto inserted = [this] { put("p", "new", 1); };
  const auto replaced = [this] { put("p", "there", 1); };
  const auto erased = [this] { erase("Source", "p", "there"); };
  constexpr table_store::ChangeFeed kKeys, kOld{.old_values = true}, kNew{.new_values = true};
  struct Case {
    const char* members;
    table_store::ChangeFeed feed;
    std::function<void()> change;
    bool told;
  };
  const Case cases[] = {
      {"", kKeys, replaced, true},
      {R"(,"values":"new")", kKeys, inserted, false},
      {R"(,"values":"new")", kOld, replaced, false},
      {R"(,"values":"new")", kKeys, erased, true},
      {R"(,"values":"old")", kNew, inserted, true},
      {R"(,"values":"old")", kNew, replaced, false},
      {R"(,"values":"old")", kKeys, erased, false},
      {R"(,"filter":"Number eq 1")", kOld, inserted, false},
      {R"(,"filter":"Number eq 1")", kNew, inserted, true},
      {R"(,"filter":"Number eq 1")", kNew, erased, false},
      {R"(,"filter":"Number eq 1")", kOld, erased, true},
  };
  int number = 0;
  for (const auto& each : cases) {
    keep(kBoth);
    put("p", "there", 1);
    erase("Source", "p", "new");
    const auto on_change = follow("n" + std::to_string(++number),
                                  R"({"webhook":{"url":"https://h/in"})" + std::string(each.members) + "}");
    keep(each.feed);
    each.change();
    const auto progress = own(on_change, 1, 1);
    EXPECT_EQ(progress.told, each.told ? 1U : 0U) << number;
    EXPECT_EQ(progress.passed_by, 0U) << number;
    EXPECT_EQ(progress.state, each.told ? feeds::kRunning : feeds::kStopped) << number;
  }
}

TEST_F(WorkersOnChange, AnOwnerThatBeginsOnceItWasRemovedTellsNothing) {
  keep(kBoth);
  const auto on_change = follow("gone", R"({"webhook":{"url":"https://h/in"}})");
  put("p", "a", 1);
  EXPECT_EQ(own(on_change, 1, 1).told, 1U);
  ASSERT_TRUE(run(store_.remove("Source", "gone")).has_value());
  own(on_change, 2, 1);
  EXPECT_EQ(endpoint_.got.size(), 1U);
}

TEST_F(WorkersOnChange, AMessageThatWasPutBeforeIsToldWhateverItSaid) {
  keep(kBoth);
  ASSERT_TRUE(run(queues_.ensure_queue("things")).has_value());
  auto on_change = follow("told", R"({"queue":"things"})");
  put("p", "a", 1);
  EXPECT_EQ(own(on_change, 1, 1).told, 1U);
  // The next owner does not know of it, and words it differently.
  erase("TidemarkOnChange", "progress", on_change.id);
  on_change.definition.new_values = true;
  const auto progress = own(on_change, 2, 1);
  EXPECT_EQ(progress.state, feeds::kRunning) << progress.last_error;
  EXPECT_EQ(progress.told, 1U);
  EXPECT_EQ(messages("things"), 1U);
}

}  // namespace
}  // namespace tidemark::workers
