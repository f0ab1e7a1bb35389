// The heartbeat of a lease under a clock of the test's own.
#include "tests/support/seeded_random.h"
#include "tests/unit/queue_test_support.h"
#include "workers/runtime/lease.h"

namespace tidemark::workers {
namespace {

using std::chrono::seconds;

/// Counts calls of a method, and fails them while told to.
class CountingLink final : public rpc::Transport {
 public:
  explicit CountingLink(rpc::Dispatch dispatch) : link_(std::move(dispatch)) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration limit) override {
    if (method == "queue.renew") ++renewals;
    if (method == "queue.renew" && failing) co_return fail(ErrorCode::kUnavailable);
    co_return co_await link_.call(std::move(method), std::move(payload), limit);
  }
  int renewals = 0;
  bool failing = false;

 private:
  rpc::Loopback link_;
};

class WorkersLease : public ::testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    std::optional<T> out;
    asio::co_spawn(io_, std::move(task), [&out](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      out.emplace(std::move(value));
    });
    settle();
    EXPECT_TRUE(out.has_value());
    return std::move(*out);
  }
  void settle() {
    io_.restart();
    io_.poll();
  }
  void pass(Duration time) {
    clock_.advance(time);
    settle();
  }

  void SetUp() override {
    const auto made = run(queues_.ensure_queue("que"));
    ASSERT_TRUE(made.has_value()) << made.error().message;
    ASSERT_TRUE(run(queues_.put("que", "text", Duration::zero())).has_value());
    auto messages = run(queues_.receive_some("que", seconds(30), 1));
    ASSERT_TRUE(messages.has_value());
    ASSERT_EQ(messages->size(), 1U);
    queue_service::Lease lease{"que", messages->front().id, messages->front().epoch};
    lease_ = std::make_shared<HeldLease>(queues_, clock_, std::move(lease), seconds(30), clock_.now());
    lease_->start(io_.get_executor());
    settle();
  }
  void TearDown() override {
    auto stopped = lease_->stop();
    spawn(io_.get_executor(), std::move(stopped));
    settle();
  }
  /// Returns the note that a worker finds which gets the message after this one's death.
  std::string noted() {
    link_.failing = true;  // no more signs of life
    pass(seconds(31));
    auto messages = run(queues_.receive_some("que", seconds(30), 1));
    return messages && messages->size() == 1 ? messages->front().annotation : "no message";
  }

  asio::io_context io_;
  FakeClock clock_;
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  std::unique_ptr<kv::Engine> engine_ = kv::make_memory_engine();
  queue_service::QueueService service_{*engine_, clock_, *random_};
  CountingLink link_{queue_service::make_queue_dispatch(service_)};
  queue_service::QueueClient queues_{link_, "devstoreaccount1"};
  std::shared_ptr<HeldLease> lease_;
};

TEST_F(WorkersLease, IsRenewedAtAThirdOfItsLength) {
  pass(seconds(9));
  EXPECT_EQ(link_.renewals, 0);
  pass(seconds(1));
  EXPECT_EQ(link_.renewals, 1);
  pass(seconds(10));
  EXPECT_EQ(link_.renewals, 2);
}

TEST_F(WorkersLease, AnAnnotationIsStoredWithinASecond) {
  pass(seconds(3));
  lease_->set_annotation("one");
  settle();
  EXPECT_EQ(link_.renewals, 1);  // a second and more after the last renewal: at once
  lease_->set_annotation("two");
  lease_->set_annotation("three");
  settle();
  EXPECT_EQ(link_.renewals, 1);
  pass(seconds(1));
  EXPECT_EQ(link_.renewals, 2);
  pass(seconds(9));
  EXPECT_EQ(link_.renewals, 2);  // nothing new
  EXPECT_EQ(noted(), "three");
}

TEST_F(WorkersLease, AnAnnotationThatFailedGoesAgain) {
  link_.failing = true;
  lease_->set_annotation("one");
  pass(seconds(1));
  EXPECT_EQ(link_.renewals, 1);
  link_.failing = false;
  pass(seconds(1));
  EXPECT_EQ(link_.renewals, 2);
  EXPECT_EQ(noted(), "one");
}

TEST_F(WorkersLease, AClockThatIsSetBackDoesNotStopTheHeartbeat) {
  pass(seconds(5));
  clock_.jump(-std::chrono::hours(5));
  pass(seconds(5));
  EXPECT_EQ(link_.renewals, 1);
  pass(seconds(10));
  EXPECT_EQ(link_.renewals, 2);
}

}  // namespace
}  // namespace tidemark::workers
