#include <zmq.h>

#include <atomic>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <thread>
#include <unordered_map>

#include "common/base/mutex.h"
#include "common/rpc/rpc_socket.h"
#include "common/rpc/rpc_wire.h"
#include "common/rpc/zmq_transport.h"

namespace tidemark::rpc {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Completion = std::move_only_function<void(Result<std::string>)>;

// Reconnects are tried after 10 ms, then less and less often up to this.
constexpr int kReconnectMs = 10;
constexpr int kReconnectMaxMs = 500;
constexpr int kRepliesPerTurn = 256;
// Calls beyond these are refused with kServerBusy.
constexpr std::size_t kMaxPendingCalls = 65536;
constexpr std::size_t kMaxUnsentBytes = 256UL << 20;
constexpr std::chrono::hours kLongestDeadline{24};

struct Call {
  std::uint64_t id = 0;
  std::string method;
  std::string payload;
  SteadyClock::time_point deadline;
  Executor executor;  // counts as work, so that the caller's context runs on until the reply
  Completion complete;
  bool sent = false;
};

void finish(Call call, Result<std::string> result) {
  asio::post(call.executor, [complete = std::move(call.complete), result = std::move(result)]() mutable {
    complete(std::move(result));
  });
}

/// What callers' threads share with the client's.
struct Inbox {
  Mutex mutex;
  std::vector<Call> calls GUARDED_BY(mutex);
  std::size_t pending_calls GUARDED_BY(mutex) = 0;
  std::size_t unsent_bytes GUARDED_BY(mutex) = 0;
  std::uint64_t next_id GUARDED_BY(mutex) = 1;
  bool stopping GUARDED_BY(mutex) = false;
  WakeUp wake;

  void submit(Call call) {
    MutexLock lock(mutex);
    const bool full = pending_calls >= kMaxPendingCalls || unsent_bytes + call.payload.size() > kMaxUnsentBytes;
    if (stopping || full) {
      const auto refusal = stopping ? ErrorCode::kCancelled : ErrorCode::kServerBusy;
      lock.unlock();
      return finish(std::move(call), fail(refusal));
    }
    call.id = next_id++;
    ++pending_calls;
    unsent_bytes += call.payload.size();
    const bool was_empty = calls.empty();
    calls.push_back(std::move(call));
    lock.unlock();
    if (was_empty) wake.notify();
  }
  void note_sent(std::size_t bytes) {
    MutexLock lock(mutex);
    unsent_bytes -= bytes;
  }
  void note_finished(std::size_t unsent) {
    MutexLock lock(mutex);
    --pending_calls;
    unsent_bytes -= unsent;
  }
};

/// The client's thread: its socket, the calls in flight and their deadlines.
class Link {
 public:
  Link(std::shared_ptr<Inbox> inbox, std::string endpoint) : inbox_(std::move(inbox)), endpoint_(std::move(endpoint)) {}

  void run() {
    while (take_submitted()) {
      fail_broken_connections();
      send_waiting();
      receive_replies();
      expire();
      wait();
    }
    while (!calls_.empty()) end(calls_.begin()->first, fail(ErrorCode::kCancelled));
  }

 private:
  /// False once the client is being destroyed.
  bool take_submitted() {
    std::vector<Call> submitted;
    bool stopping = false;
    {
      MutexLock lock(inbox_->mutex);
      submitted.swap(inbox_->calls);
      stopping = inbox_->stopping;
    }
    if (!submitted.empty() && !socket_) connect();
    for (auto& call : submitted) {
      auto id = call.id;
      deadlines_.emplace(call.deadline, id);
      waiting_.push_back(id);
      calls_.emplace(id, std::move(call));
    }
    return !stopping;
  }

  void connect() {
    socket_.emplace(ZMQ_DEALER);
    // Only to a live connection: what waits for one stays here, where its deadline can still withdraw it.
    socket_->set(ZMQ_IMMEDIATE, 1);
    socket_->set(ZMQ_RECONNECT_IVL, kReconnectMs);
    socket_->set(ZMQ_RECONNECT_IVL_MAX, kReconnectMaxMs);
    socket_->set(ZMQ_SNDHWM, 1000);
    socket_->set(ZMQ_RCVHWM, 1000);
    socket_->set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(kMaxMessageBytes + kFrameSlackBytes));
    static std::atomic<std::uint64_t> serial{0};
    auto events = "inproc://rpc-events-" + std::to_string(serial.fetch_add(1));
    ::zmq_socket_monitor(socket_->raw(), events.c_str(), ZMQ_EVENT_DISCONNECTED);
    monitor_.emplace(ZMQ_PAIR);
    ::zmq_connect(monitor_->raw(), events.c_str());
    ::zmq_connect(socket_->raw(), endpoint_.c_str());
  }

  // Replies to what was sent on a broken connection cannot come any more.
  void fail_broken_connections() {
    bool broken = false;
    while (monitor_ && monitor_->receive()) broken = true;
    if (!broken) return;
    while (receive_replies()) {
    }
    std::vector<std::uint64_t> lost;
    for (const auto& [id, call] : calls_) {
      if (call.sent) lost.push_back(id);
    }
    for (auto id : lost) end(id, fail(ErrorCode::kUnavailable, "The connection to the service broke."));
  }

  void send_waiting() {
    while (!waiting_.empty()) {
      auto found = calls_.find(waiting_.front());
      if (found != calls_.end()) {
        auto& call = found->second;
        // Once the first frame is taken, the rest of the message is.
        if (!socket_->send(encode_id(call.id), true)) return;
        socket_->send(call.method, true);
        socket_->send(call.payload, false);
        call.sent = true;
        inbox_->note_sent(call.payload.size());
        call.payload = {};
      }
      waiting_.pop_front();
    }
  }

  /// True if there may be more.
  bool receive_replies() {
    if (!socket_) return false;
    for (int i = 0; i < kRepliesPerTurn; ++i) {
      auto message = socket_->receive();
      if (!message) return false;
      auto id = decode_id(message->frames[0]);
      auto status = decode_status(message->frames[1]);
      if (message->count != 3 || !id || !status) continue;
      end(*id, decode_reply(*status, std::move(message->frames[2])));
    }
    return true;
  }

  void expire() {
    auto now = SteadyClock::now();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      auto id = deadlines_.begin()->second;
      bool sent = calls_.at(id).sent;
      end(id, fail(sent ? ErrorCode::kDeadlineExceeded : ErrorCode::kUnavailable));
    }
  }

  /// Completes a call; a late reply finds none and is dropped.
  void end(std::uint64_t id, Result<std::string> result) {
    auto found = calls_.find(id);
    if (found == calls_.end()) return;
    auto call = std::move(found->second);
    calls_.erase(found);
    deadlines_.erase({call.deadline, id});
    inbox_->note_finished(call.payload.size());
    finish(std::move(call), std::move(result));
  }

  void wait() {
    // Expired calls leave their ids in the queue; without this a server that is away for long would let it grow.
    if (waiting_.size() > 2 * calls_.size() + 64) {
      std::erase_if(waiting_, [this](std::uint64_t id) { return !calls_.contains(id); });
    }
    long timeout_ms = -1;
    if (!deadlines_.empty()) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(deadlines_.begin()->first - SteadyClock::now());
      timeout_ms = std::max<long>(0, left.count());
    }
    short events = waiting_.empty() ? ZMQ_POLLIN : ZMQ_POLLIN | ZMQ_POLLOUT;
    zmq_pollitem_t items[] = {{nullptr, inbox_->wake.fd(), ZMQ_POLLIN, 0}, {}, {}};
    int count = 1;
    if (socket_) {
      items[1] = {socket_->raw(), 0, events, 0};
      items[2] = {monitor_->raw(), 0, ZMQ_POLLIN, 0};
      count = 3;
    }
    ::zmq_poll(items, count, timeout_ms);
    if ((items[0].revents & ZMQ_POLLIN) != 0) inbox_->wake.clear();
  }

  const std::shared_ptr<Inbox> inbox_;
  const std::string endpoint_;
  std::optional<Socket> monitor_;  // outlives the socket whose events it gets
  std::optional<Socket> socket_;
  std::unordered_map<std::uint64_t, Call> calls_;
  std::set<std::pair<SteadyClock::time_point, std::uint64_t>> deadlines_;
  std::deque<std::uint64_t> waiting_;  // not sent yet, oldest first
};

class ZmqTransport final : public Transport {
 public:
  explicit ZmqTransport(const std::string& endpoint) {
    auto path = socket_path(endpoint);
    if (!path) endpoint_error_ = std::move(path.error());
    thread_ = std::thread([inbox = inbox_, endpoint] { Link(inbox, endpoint).run(); });
  }
  ~ZmqTransport() override {
    {
      MutexLock lock(inbox_->mutex);
      inbox_->stopping = true;
    }
    inbox_->wake.notify();
    thread_.join();
  }

  Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) override {
    if (endpoint_error_) co_return fail(*endpoint_error_);
    if (!is_valid_method(method)) co_return fail(ErrorCode::kInternalError, "Not a method name: " + method);
    if (payload.size() > kMaxMessageBytes) co_return fail(ErrorCode::kRequestBodyTooLarge);
    auto executor = co_await asio::this_coro::executor;
    // Far enough for anyone, near enough that the sum cannot overflow.
    auto patience = std::min<Duration>(deadline, kLongestDeadline);
    auto initiate = [inbox = inbox_, executor, patience, &method, &payload](auto handler) {
      Call call;
      call.method = std::move(method);
      call.payload = std::move(payload);
      call.deadline = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(patience);
      call.executor = asio::prefer(executor, asio::execution::outstanding_work.tracked);
      call.complete = [handler = std::move(handler)](Result<std::string> result) mutable {
        std::move(handler)(std::move(result));
      };
      // The call may resume on another thread, and destroy this callable, before submit() returns.
      // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
      auto keep = inbox;
      keep->submit(std::move(call));
    };
    auto operation =
        asio::async_initiate<decltype(asio::use_awaitable), void(Result<std::string>)>(initiate, asio::use_awaitable);
    co_return co_await std::move(operation);
  }

 private:
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::optional<Error> endpoint_error_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Transport> connect(const std::string& endpoint) { return std::make_unique<ZmqTransport>(endpoint); }

}  // namespace tidemark::rpc
