// Puts, takes, completes, moves and redrives messages over the internal link while the service is being killed, and
// prints the answers on stdout, which the crash test's oracle reads. One line a call, fields separated by tabs:
//   operation  begin_ns  end_ns  outcome  queue  message id  epoch  text
// Times are those of the machine's monotonic clock. The outcome is "ok", "refused" (it did not happen) or "unknown".
//   queue_crash_client DATA NAME SEED POISON      until SIGTERM; POISON: the queue for failed messages
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include "common/process/process.h"
#include "common/rpc/zmq_transport.h"
#include "common/service/store_process.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::milliseconds;

constexpr const char* kJobs = "jobs";
constexpr Duration kLease = std::chrono::seconds(2);
constexpr int kLoops = 4;

std::atomic<bool> stopping{false};

long long now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* outcome_of(const Error& error) {
  const bool unknown = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded;
  return unknown ? "unknown" : "refused";
}

struct Line {
  const char* operation;
  std::string queue, id, text;
  std::uint64_t epoch = 0;
  long long begin = now_ns();

  template <class R>
  void tell(const R& result) const {
    std::printf("%s\t%lld\t%lld\t%s\t%s\t%s\t%llu\t%s\n", operation, begin, now_ns(),
                result ? "ok" : outcome_of(result.error()), queue.c_str(), id.c_str(),
                static_cast<unsigned long long>(epoch), text.c_str());
    std::fflush(stdout);
  }
};

/// A loop that makes calls one after another.
class Loop {
 public:
  Loop(QueueClient& client, Clock& clock, std::string name, std::uint64_t seed, std::string poison)
      : client_(client), clock_(clock), name_(std::move(name)), poison_(std::move(poison)), generator_(seed) {}

  Task<void> run() {
    while (!stopping.load()) {
      const bool reached = co_await (chance(3) ? put() : take());
      if (reached) continue;
      auto nap = sleep_for(clock_, milliseconds(5));  // the service is away
      co_await std::move(nap);
    }
  }

 private:
  bool chance(unsigned one_in) { return generator_() % one_in == 0; }

  Task<bool> put() {
    Line line{"put", kJobs, {}, name_ + "-" + std::to_string(++puts_)};
    const Duration delay = chance(4) ? milliseconds(generator_() % 200) : milliseconds(0);
    auto name = co_await client_.put_named(kJobs, {.text = line.text, .delay = delay});
    if (name) line.id = name->id;
    line.tell(name);
    if (name && chance(8)) co_await withdraw(*name);
    co_return name.has_value();
  }

  Task<void> withdraw(MessageName name) {
    const Line line{"remove", kJobs, name.id, {}};
    // A withdrawal from queues on several shards is a transaction for each, and others may move the message between
    // them.
    std::vector<std::string> queues{kJobs};
    if (poison_ == poison_queue_of(kJobs)) queues.push_back(poison_);
    auto withdrawn = co_await client_.withdraw(std::move(queues), std::move(name));
    if (withdrawn && !*withdrawn) co_return;  // a consumer has it, or has finished it
    line.tell(withdrawn);
  }

  Task<bool> take() {
    Line line{"take", kJobs, {}, {}};
    auto got = co_await client_.receive(kJobs, kLease, milliseconds(200));
    if (!got) co_return false;
    if (!*got) co_return true;
    const Message message = std::move(**got);
    line.id = message.id;
    line.epoch = message.epoch;
    line.text = message.text;
    line.tell(got);
    co_await finish(lease_of(kJobs, message));
    co_return true;
  }

  /// Does one of the things that a worker may do with a message that it holds.
  Task<void> finish(Lease lease) {
    const auto what = generator_() % 20;
    if (what == 0) co_return;  // forgets it: the lease runs out
    if (what < 4) {
      const Line renewal{"renew", kJobs, lease.message_id, {}, lease.epoch};
      auto done = co_await client_.renew(lease, kLease, "checkpoint");
      renewal.tell(done);
    } else if (what < 8) {
      const Line release{"release", kJobs, lease.message_id, {}, lease.epoch};
      auto done = co_await client_.release(lease, milliseconds(generator_() % 100), "again", chance(2));
      release.tell(done);
      co_return;
    } else if (what < 14) {
      co_await poison(lease);
      co_return;
    }
    const Line line{"complete", kJobs, lease.message_id, {}, lease.epoch};
    auto done = co_await client_.complete(lease);
    line.tell(done);
  }

  Task<void> poison(Lease lease) {
    const Line line{"move", poison_, lease.message_id, {}, lease.epoch};
    auto moved = co_await client_.move(lease, {.to_queue = poison_, .annotation = "why"});
    line.tell(moved);
    if (!moved || chance(3)) co_return;
    if (chance(4)) {
      const Line removal{"remove", poison_, lease.message_id, {}};
      auto removed = co_await client_.remove(poison_, lease.message_id);
      removal.tell(removed);
      co_return;
    }
    const Line redrive{"redrive", kJobs, lease.message_id, {}};
    auto redriven = co_await client_.redrive(poison_, lease.message_id, kJobs, std::nullopt, "");
    redrive.tell(redriven);
  }

  QueueClient& client_;
  Clock& clock_;
  const std::string name_;
  const std::string poison_;
  std::mt19937_64 generator_;
  std::uint64_t puts_ = 0;
};

int run(const std::string& data, const std::string& name, std::uint64_t seed, const std::string& poison) {
  process::block_signals();
  auto clock = make_system_clock();
  asio::io_context io;
  auto link = rpc::connect(service::internal_endpoint(data, "queue"));
  QueueClient client(*link, "devstoreaccount1");
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < kLoops; ++i) {
    loops.push_back(std::make_unique<Loop>(client, *clock, name + "." + std::to_string(i),
                                           seed + static_cast<unsigned>(i), poison));
    auto running = loops.back()->run();
    spawn(io.get_executor(), std::move(running));
  }
  std::thread worker([&io] { io.run(); });
  process::announce_ready(name);
  process::wait_for_shutdown();
  stopping.store(true);
  worker.join();
  return 0;
}

}  // namespace
}  // namespace tidemark::queue_service

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s DATA NAME SEED POISON\n", argv[0]);
    return 2;
  }
  return tidemark::queue_service::run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), argv[4]);
}
