#include "bench/clients/rest_load.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "bench/clients/queue_rest.h"

namespace tidemark::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kThreads = 2;
constexpr std::string_view kMadeUpId = "7c3e244a-292d-4ae4-af89-51a19a23c470", kMadeUpReceipt = "MjFOb3YyMDI2MTE6MzU=";

class Connection {
 public:
  Connection(const RestPlan& plan, int number, RestResult& result)
      : plan_(plan),
        result_(result),
        requests_(plan.target),
        random_(static_cast<std::uint64_t>(number)),
        socket_(connect_to(plan.target.port)) {}
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  [[nodiscard]] int socket() const { return socket_; }

  void send_next() {
    const auto& request = next_request();
    sent_at_ = SteadyClock::now();
    if (::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
      fail("cannot send");
    }
  }

  /// Reads the bytes that have come, and sends the next request if the answer is complete.
  void receive() {
    if (received_.size() < have_ + kRoom) received_.resize(have_ + kRoom);
    const auto got = ::recv(socket_, received_.data() + have_, received_.size() - have_, 0);
    if (got <= 0) fail("the connection ended");
    have_ += static_cast<std::size_t>(got);
    const auto answer = whole_answer(std::string_view(received_).substr(0, have_));
    if (!answer) return;
    if (answer->bytes != have_) fail("there was more than one answer");
    result_.taken_ms.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - sent_at_).count());
    digest(*answer);
    have_ = 0;
    send_next();
  }

 private:
  enum class Step { kPut, kTake, kRemove };
  static constexpr std::size_t kRoom = 8192;

  const std::string& next_request() {
    switch (step_) {
      case Step::kPut:
        return requests_.put(message_text(random_));
      case Step::kTake:
        return requests_.take(0);
      default:
        return requests_.remove(id_, receipt_);
    }
  }

  void digest(const Answer& answer) {
    constexpr std::array kExpected = {201, 200, 204};
    const int expected = plan_.bare ? 200 : kExpected[static_cast<std::size_t>(step_)];
    if (answer.status != expected) fail("answered " + std::to_string(answer.status));
    if (step_ == Step::kTake) {
      id_ = plan_.bare ? kMadeUpId : element(answer.body, "MessageId");
      receipt_ = plan_.bare ? kMadeUpReceipt : element(answer.body, "PopReceipt");
      if (id_.empty()) ++result_.empty;  // another has it, and will leave one
      if (!id_.empty()) step_ = Step::kRemove;
      return;
    }
    const bool ended = step_ == Step::kRemove || !plan_.whole_cycles;
    step_ = ended ? Step::kPut : Step::kTake;
    if (ended) ++result_.units;
  }

  const RestPlan& plan_;
  RestResult& result_;
  QueueRequests requests_;
  std::mt19937_64 random_;
  int socket_;
  Step step_ = Step::kPut;
  SteadyClock::time_point sent_at_;
  std::string received_;
  std::size_t have_ = 0;
  std::string id_, receipt_;
};

void run_thread(const RestPlan& plan, int thread, SteadyClock::time_point end, RestResult& result) {
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Connection>> connections;
  for (int number = thread; number < plan.connections; number += kThreads) {
    connections.push_back(std::make_unique<Connection>(plan, number, result));
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.ptr = connections.back().get();
    if (::epoll_ctl(poll, EPOLL_CTL_ADD, connections.back()->socket(), &wanted) != 0) fail("cannot wait");
  }
  for (const auto& connection : connections) connection->send_next();
  std::array<epoll_event, 64> ready{};
  while (SteadyClock::now() < end) {
    constexpr int kMostMs = 1000;
    const int count = ::epoll_wait(poll, ready.data(), static_cast<int>(ready.size()), kMostMs);
    for (int i = 0; i < count; ++i) static_cast<Connection*>(ready[static_cast<std::size_t>(i)].data.ptr)->receive();
  }
  ::close(poll);
}

}  // namespace

RestResult run_rest_load(const RestPlan& plan) {
  const auto end = SteadyClock::now() + std::chrono::seconds(plan.seconds);
  std::array<RestResult, kThreads> results;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { run_thread(plan, i, end, results[static_cast<std::size_t>(i)]); });
  }
  RestResult all;
  for (int i = 0; i < kThreads; ++i) {
    threads[static_cast<std::size_t>(i)].join();
    const auto& one = results[static_cast<std::size_t>(i)];
    all.units += one.units;
    all.empty += one.empty;
    all.taken_ms.insert(all.taken_ms.end(), one.taken_ms.begin(), one.taken_ms.end());
  }
  return all;
}

}  // namespace tidemark::bench
