#include <zmq.h>

#include <atomic>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <thread>
#include <unordered_map>

#include "common/base/encoding.h"
#include "common/base/mutex.h"
#include "common/rpc/call_trace.h"
#include "common/rpc/connection_watch.h"
#include "common/rpc/rpc_socket.h"
#include "common/rpc/rpc_wire.h"
#include "common/rpc/zmq_transport.h"

namespace tidemark::rpc {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Completion = std::move_only_function<void(Result<std::string>)>;

// The pause before a reconnect, which grows from kReconnect to kReconnectMax.
constexpr std::chrono::milliseconds kReconnect{10};
constexpr std::chrono::milliseconds kReconnectMax{500};
// A connection that neither stands nor has failed after this time will not come.
constexpr std::chrono::seconds kConnectLimit{10};
constexpr int kRepliesPerTurn = 256;
// Calls beyond this number are refused with kServerBusy.
constexpr std::size_t kMaxPendingCalls = 65536;
constexpr std::size_t kMaxUnsentBytes = 256UL << 20;
constexpr std::chrono::hours kLongestDeadline{24};

struct Call {
  std::uint64_t id = 0;
  std::string method;
  std::string payload;
  SteadyClock::time_point deadline;
  SteadyClock::time_point due;  // the time by which it must be sent; afterwards its deadline
  Executor executor;            // counts as work, so that the caller's context runs on until the reply
  Completion complete;
  std::unique_ptr<const TraceContext> trace;  // null: it belongs to no recorded trace
  bool sent = false;
};

void finish(Call call, Result<std::string> result) {
  asio::post(call.executor, [complete = std::move(call.complete), result = std::move(result)]() mutable {
    complete(std::move(result));
  });
}

/// The data that the callers' threads share with the client's thread.
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

/// The place of the server, and the keys with which this process proves its identity. Without keys, it must be on the
/// same machine.
struct Destination {
  std::string endpoint;
  std::string name;
  std::optional<TcpServer> tcp = {};
};

/// The client's thread: its connection, the calls in flight and their deadlines. Each connection has a socket of its
/// own. ZeroMQ's sockets can reconnect by themselves, but they never do so after some failures, such as a refused key,
/// and they do not tell which connection a message took.
class Link {
 public:
  Link(std::shared_ptr<Inbox> inbox, Destination to) : inbox_(std::move(inbox)), to_(std::move(to)) {}

  void run() {
    while (take_submitted()) {
      follow_connection();
      send_waiting();
      receive_replies();
      expire();
      wait();
    }
    while (!calls_.empty()) end(calls_.begin()->first, fail(ErrorCode::kCancelled));
  }

 private:
  /// Returns false once the client is being closed.
  bool take_submitted() {
    std::vector<Call> submitted;
    bool stopping = false;
    {
      MutexLock lock(inbox_->mutex);
      submitted.swap(inbox_->calls);
      stopping = inbox_->stopping;
    }
    for (auto& call : submitted) {
      auto id = call.id;
      due_.emplace(call.due, id);
      waiting_.push_back(id);
      calls_.emplace(id, std::move(call));
    }
    return !stopping;
  }

  void connect() {
    socket_.emplace(ZMQ_DEALER, Context::of_clients());
    // Send only to a live connection. Until there is one, calls wait here, where their deadlines can still withdraw
    // them.
    socket_->set(ZMQ_IMMEDIATE, 1);
    socket_->set(ZMQ_RECONNECT_IVL, -1);
    socket_->set(ZMQ_SNDHWM, 1000);
    socket_->set(ZMQ_RCVHWM, 1000);
    socket_->set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(kMaxMessageBytes + kFrameSlackBytes));
    if (to_.tcp) {
      notice_cut_links(*socket_);
      socket_->set(ZMQ_CURVE_SERVERKEY, std::string_view(to_.tcp->server_key));
      socket_->set(ZMQ_CURVE_PUBLICKEY, std::string_view(to_.tcp->keys.public_key));
      socket_->set(ZMQ_CURVE_SECRETKEY, std::string_view(to_.tcp->keys.secret_key));
    }
    monitor_.emplace(*socket_, Context::of_clients(),
                     ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                         ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                         ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    give_up_at_ = SteadyClock::now() + kConnectLimit;
    ::zmq_connect(socket_->raw(), to_.endpoint.c_str());
  }

  void follow_connection() {
    bool lost = socket_ && !connected_ && SteadyClock::now() >= give_up_at_;
    while (socket_ && !lost) {
      const auto event = monitor_->next();
      if (!event) break;
      if (event->what == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        connected_ = true;
        failures_ = 0;
        trouble_.clear();
      } else {
        lost = true;
        if (!connected_) note_trouble(event->what);
      }
    }
    if (lost) disconnect();
    if (!socket_ && !waiting_.empty() && SteadyClock::now() >= retry_at_) connect();
  }

  /// Notes why there is no connection, for the person who has to fix it.
  void note_trouble(int event) {
    if (!to_.tcp || event == ZMQ_EVENT_CLOSED) return;
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
      trouble_ = "The store at " + to_.endpoint + " does not admit this process: its key list lacks the public key " +
                 hex_encode(to_.tcp->keys.public_key) + ".";
    } else {
      trouble_ = "The store at " + to_.endpoint +
                 " closed the connection during the handshake: is its public key the one that is configured here?";
    }
  }

  // Replies to calls that were sent on the broken connection cannot come any more.
  void disconnect() {
    while (receive_replies()) {
    }
    std::vector<std::uint64_t> lost;
    for (const auto& [id, call] : calls_) {
      if (call.sent) lost.push_back(id);
    }
    for (auto id : lost) end(id, fail(ErrorCode::kUnavailable, "The connection to the " + to_.name + " broke."));
    monitor_.reset();
    socket_.reset();
    connected_ = false;
    const auto pause = std::min(kReconnectMax, kReconnect * (1 << std::min(failures_, 6)));
    retry_at_ = SteadyClock::now() + pause;
    ++failures_;
  }

  void send_waiting() {
    while (connected_ && !waiting_.empty()) {
      auto found = calls_.find(waiting_.front());
      if (found != calls_.end()) {
        auto& call = found->second;
        // If ZeroMQ takes the first frame, it takes the rest of the message too.
        if (!socket_->send(encode_request_head(call.id, call.trace.get()), true)) return;
        socket_->send(call.method, true);
        call.sent = true;
        inbox_->note_sent(call.payload.size());
        socket_->hand_over(std::exchange(call.payload, {}), false);
      }
      waiting_.pop_front();
    }
  }

  /// Returns true if there may be more.
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

  [[nodiscard]] std::string absence() const {
    return "The " + to_.name + " at " + to_.endpoint + " cannot be reached. Is it running?";
  }

  void expire() {
    auto now = SteadyClock::now();
    while (!due_.empty() && due_.begin()->first <= now) {
      const auto id = due_.begin()->second;
      auto& call = calls_.at(id);
      if (!call.sent) {
        end(id, fail(ErrorCode::kUnavailable, trouble_.empty() ? absence() : trouble_));
      } else if (call.deadline <= now) {
        end(id, fail(ErrorCode::kDeadlineExceeded, "The " + to_.name + " did not answer in time."));
      } else {
        due_.erase(due_.begin());
        call.due = call.deadline;
        due_.emplace(call.due, id);
      }
    }
  }

  /// Completes a call. A late reply finds no call and is dropped.
  void end(std::uint64_t id, Result<std::string> result) {
    auto found = calls_.find(id);
    if (found == calls_.end()) return;
    auto call = std::move(found->second);
    calls_.erase(found);
    due_.erase({call.due, id});
    inbox_->note_finished(call.payload.size());
    finish(std::move(call), std::move(result));
  }

  void wait() {
    // Expired calls leave their ids in the queue; without this it would grow while a server is away for long.
    if (waiting_.size() > 2 * calls_.size() + 64) {
      std::erase_if(waiting_, [this](std::uint64_t id) { return !calls_.contains(id); });
    }
    short events = connected_ && !waiting_.empty() ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN;
    zmq_pollitem_t items[] = {{nullptr, inbox_->wake.fd(), ZMQ_POLLIN, 0}, {}, {}};
    int count = 1;
    if (socket_) {
      items[1] = {socket_->raw(), 0, events, 0};
      items[2] = {monitor_->raw(), 0, ZMQ_POLLIN, 0};
      count = 3;
    }
    const long timeout_ms = next_timeout();
    ::zmq_poll(items, count, timeout_ms);
    if ((items[0].revents & ZMQ_POLLIN) != 0) inbox_->wake.clear();
  }

  /// Returns the time until the next call is due or the next attempt to connect; -1 if there is neither.
  [[nodiscard]] long next_timeout() const {
    std::optional<SteadyClock::time_point> next;
    if (!due_.empty()) next = due_.begin()->first;
    const auto sooner = [&next](SteadyClock::time_point at) { next = std::min(next.value_or(at), at); };
    if (!socket_ && !waiting_.empty()) sooner(retry_at_);
    if (socket_ && !connected_) sooner(give_up_at_);
    if (!next) return -1;
    return std::max<long>(0, std::chrono::ceil<std::chrono::milliseconds>(*next - SteadyClock::now()).count());
  }

  const std::shared_ptr<Inbox> inbox_;
  const Destination to_;
  std::optional<Socket> socket_;
  std::optional<Monitor> monitor_;
  bool connected_ = false;                // the handshake is over
  SteadyClock::time_point give_up_at_{};  // when to give up unless it is connected
  SteadyClock::time_point retry_at_{};    // when to connect again, without a socket
  int failures_ = 0;                      // since it was connected
  std::string trouble_;                   // why the last handshake failed
  std::unordered_map<std::uint64_t, Call> calls_;
  std::set<std::pair<SteadyClock::time_point, std::uint64_t>> due_;
  std::deque<std::uint64_t> waiting_;  // not sent yet, oldest first
};

class ZmqTransport final : public Transport {
 public:
  ZmqTransport(Destination to, Duration patience, std::optional<Error> wrong)
      : patience_(patience), endpoint_error_(std::move(wrong)) {
    thread_ = std::thread([inbox = inbox_, to = std::move(to)]() mutable { Link(inbox, std::move(to)).run(); });
  }
  ~ZmqTransport() override { ZmqTransport::close(); }

  Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) override {
    if (endpoint_error_) co_return fail(*endpoint_error_);
    if (!is_valid_method(method)) co_return fail(ErrorCode::kInternalError, "Not a method name: " + method);
    if (payload.size() > kMaxMessageBytes) co_return fail(ErrorCode::kRequestBodyTooLarge);
    auto executor = co_await asio::this_coro::executor;
    // Far enough for every caller, and near enough that the sum cannot overflow.
    const auto longest = std::min<Duration>(deadline, kLongestDeadline);
    const auto unsent = std::min(longest, patience_);
    auto initiate = [inbox = inbox_, executor, longest, unsent, &method, &payload](auto handler) {
      Call call;
      call.method = std::move(method);
      call.payload = std::move(payload);
      const auto now = SteadyClock::now();
      call.deadline = now + std::chrono::duration_cast<SteadyClock::duration>(longest);
      call.due = now + std::chrono::duration_cast<SteadyClock::duration>(unsent);
      call.trace = take_trace(executor);
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

  void close() override {
    {
      MutexLock lock(inbox_->mutex);
      inbox_->stopping = true;
    }
    inbox_->wake.notify();
    if (thread_.joinable()) thread_.join();
  }

 private:
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  const Duration patience_;
  std::optional<Error> endpoint_error_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Transport> connect(const std::string& endpoint, ClientOptions options) {
  auto path = socket_path(endpoint);
  return std::make_unique<ZmqTransport>(Destination{endpoint, std::move(options.name)}, options.patience,
                                        path ? std::nullopt : std::optional(path.error()));
}

std::unique_ptr<Transport> connect(const TcpServer& server, ClientOptions options) {
  auto right = check_tcp_address(server.address, 1);
  return std::make_unique<ZmqTransport>(Destination{server.address, std::move(options.name), server}, options.patience,
                                        right ? std::nullopt : std::optional(right.error()));
}

}  // namespace tidemark::rpc
