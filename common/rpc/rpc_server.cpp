#include <zmq.h>

#include <array>
#include <atomic>
#include <boost/asio/detached.hpp>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/fail_points.h"
#include "common/base/mutex.h"
#include "common/rpc/connection_watch.h"
#include "common/rpc/forwarded.h"
#include "common/rpc/rpc_socket.h"
#include "common/rpc/rpc_wire.h"
#include "common/rpc/zmq_transport.h"

namespace tidemark::rpc {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The number of requests that are taken in one go before replies get their turn.
constexpr int kRequestsPerTurn = 256;

const FailPoint kRequestRead("rpc.request", "after");
const FailStep kReplyStep("rpc.reply");

struct Reply {
  std::string identity;
  std::uint64_t id = 0;
  Result<std::string> result;
};

/// The place where calls leave their replies for the server's thread. It outlives the server while calls run.
struct ReplyBox {
  Mutex mutex;
  std::vector<Reply> replies GUARDED_BY(mutex);
  bool stopping GUARDED_BY(mutex) = false;
  WakeUp wake;

  void put(Reply reply) {
    bool was_empty = false;
    {
      MutexLock lock(mutex);
      was_empty = replies.empty();
      replies.push_back(std::move(reply));
    }
    if (was_empty) wake.notify();
  }
};

/// Answers exactly once, even if the call's coroutine is destroyed before it ends.
class Answer {
 public:
  Answer(std::shared_ptr<ReplyBox> box, std::string identity, std::uint64_t id)
      : box_(std::move(box)), identity_(std::move(identity)), id_(id) {}
  Answer(Answer&&) = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() {
    if (box_) send(fail(ErrorCode::kUnavailable));
  }
  void send(Result<std::string> result) {
    auto box = std::exchange(box_, nullptr);
    box->put({std::move(identity_), id_, std::move(result)});
  }

 private:
  std::shared_ptr<ReplyBox> box_;
  std::string identity_;
  std::uint64_t id_;
};

/// The functions that serve calls. They outlive the server while calls run.
struct Serving {
  Dispatch dispatch;
  TracedDispatch traced;
  FailureHook failed;
};

/// `trace`: null if the call belongs to no trace.
Task<void> serve_one(std::shared_ptr<const Serving> serving, std::unique_ptr<const TraceContext> trace, Answer answer,
                     std::string method, std::string payload) {
  Result<std::string> result;
  try {
    result = trace && serving->traced ? co_await serving->traced(*trace, method, std::move(payload))
                                      : co_await serving->dispatch(method, std::move(payload));
  } catch (const std::exception& e) {
    result = fail(error_for_log(ErrorCode::kInternalError, std::string("exception: ") + e.what()));
  } catch (...) {
    result = fail(error_for_log(ErrorCode::kInternalError, "exception: of an unknown type"));
  }
  if (!result && serving->failed != nullptr) serving->failed(method, result.error(), trace ? *trace : TraceContext());
  answer.send(std::move(result));
}

/// A server's sockets, which belong to its thread, in the order in which they must be made.
struct Door {
  Context context;
  std::unique_ptr<KeyGate> gate;  // null: no tcp
  Socket socket{ZMQ_ROUTER, context};
  std::unique_ptr<ConnectionWatch> watch = nullptr;  // null: no tcp
  std::string tcp_address = {};
};

/// A call that is being served.
struct Served {
  std::optional<std::string> request;  // kept if the hook must be told of an undelivered reply
  std::string user;                    // the caller, if it came over tcp
};

class ZmqServer final : public Server {
 public:
  ZmqServer(const ServerOptions& options, Executor executor, Dispatch dispatch, Listener listener,
            std::unique_ptr<Door> door)
      : options_(options),
        executor_(std::move(executor)),
        serving_(std::make_shared<const Serving>(std::move(dispatch), options_.traced, options_.failed)),
        tcp_address_(door->tcp_address),
        listener_(std::move(listener)),
        door_(std::move(door)),
        // From here on the sockets belong to the thread.
        thread_([this] { run(); }) {}

  ~ZmqServer() override { stop(); }

  void stop() override {
    {
      MutexLock lock(box_->mutex);
      box_->stopping = true;
    }
    box_->wake.notify();
    MutexLock lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

  ServerCounters counters() const override {
    return {calls_.load(), busy_.load(), malformed_.load(), refused_.load(), connections_.load()};
  }
  std::string tcp_address() const override { return tcp_address_; }

 private:
  void run() {
    std::optional<SteadyClock::time_point> give_up_at;
    while (true) {
      bool stopping = send_replies();
      if (stopping && !give_up_at) {
        listener_.remove_file();
        give_up_at = SteadyClock::now() + options_.drain;
      }
      if (stopping && (in_flight_.empty() || SteadyClock::now() >= *give_up_at)) break;
      if (door_->gate) mind_the_door();
      for (int i = 0; i < kRequestsPerTurn; ++i) {
        auto message = door_->socket.receive();
        if (!message) break;
        take(std::move(*message), stopping);
      }
      wait(give_up_at);
    }
    for (const auto& [caller, request] : in_flight_) send(caller.first, caller.second, fail(ErrorCode::kUnavailable));
    // The last replies are still on their way through ZeroMQ's thread.
    door_->socket.set(ZMQ_LINGER, 500);
    door_.reset();
  }

  void mind_the_door() {
    refused_.fetch_add(door_->gate->answer());
    door_->watch->follow();
    connections_.store(door_->watch->open());
  }

  void wait(const std::optional<SteadyClock::time_point>& until) {
    long timeout_ms = -1;
    if (until) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - SteadyClock::now());
      timeout_ms = std::max<long>(0, left.count());
    }
    zmq_pollitem_t items[] = {
        {door_->socket.raw(), 0, ZMQ_POLLIN, 0}, {nullptr, box_->wake.fd(), ZMQ_POLLIN, 0}, {}, {}};
    int count = 2;
    if (door_->gate) {
      items[2] = {door_->gate->raw(), 0, ZMQ_POLLIN, 0};
      items[3] = {door_->watch->raw(), 0, ZMQ_POLLIN, 0};
      count = 4;
    }
    ::zmq_poll(items, count, timeout_ms);
    if ((items[1].revents & ZMQ_POLLIN) != 0) box_->wake.clear();
  }

  /// Returns whether the server is stopping.
  bool send_replies() {
    std::vector<Reply> replies;
    bool stopping = false;
    {
      MutexLock lock(box_->mutex);
      replies.swap(box_->replies);
      stopping = box_->stopping;
    }
    for (auto& reply : replies) {
      auto call = in_flight_.extract({reply.identity, reply.id});
      std::string kept;
      const bool wanted = !call.empty() && call.mapped().request && reply.result;
      if (wanted) kept = *reply.result;
      kReplyStep.before.reach();
      const bool sent =
          (call.empty() || admits(call.mapped().user)) && send(reply.identity, reply.id, std::move(reply.result));
      kReplyStep.after.reach();
      if (sent || !wanted) continue;
      auto task = options_.undelivered.run(std::move(*call.mapped().request), std::move(kept));
      spawn(executor_, std::move(task));
    }
    return stopping;
  }

  /// Admits local callers, and callers whose key is still on the list.
  [[nodiscard]] bool admits(const std::string& user) const {
    return user.empty() || (door_->gate && door_->gate->still_admits(user));
  }

  void take(Socket::Message message, bool stopping) {
    auto& [identity, head, method, payload, more1, more2, more3] = message.frames;
    if (!admits(message.user)) return;
    auto request = decode_request_head(head);
    bool well_formed = message.count == 4 && request && is_valid_method(method);
    // Two calls under one id could not be told apart.
    if (!well_formed || in_flight_.contains({identity, request->id})) {
      malformed_.fetch_add(1);
      return;
    }
    if (auto same = check_build(request->build); !same) {
      send(identity, request->id, fail(std::move(same.error())));
      return;
    }
    auto trace = request->trace ? std::make_unique<const TraceContext>(std::move(request->trace)) : nullptr;
    accept(std::move(message), request->id, std::move(trace), stopping);
  }

  void accept(Socket::Message message, std::uint64_t id, std::unique_ptr<const TraceContext> trace, bool stopping) {
    auto& [identity, head, method, payload, more1, more2, more3] = message.frames;
    if (stopping) return refuse(identity, id, ErrorCode::kUnavailable);
    if (payload.size() > options_.max_message_bytes) return refuse(identity, id, ErrorCode::kRequestBodyTooLarge);
    if (in_flight_.size() >= options_.max_in_flight) {
      busy_.fetch_add(1);
      return refuse(identity, id, ErrorCode::kServerBusy);
    }
    Served served{{}, std::move(message.user)};
    if (!options_.undelivered.method.empty() && bare_method(method) == options_.undelivered.method) {
      served.request = payload;
    }
    in_flight_.emplace(std::pair(identity, id), std::move(served));
    calls_.fetch_add(1);
    Answer answer(box_, std::move(identity), id);
    kRequestRead.reach();
    auto task = serve_one(serving_, std::move(trace), std::move(answer), std::move(method), std::move(payload));
    asio::co_spawn(executor_, std::move(task), asio::detached);
  }

  void refuse(const std::string& identity, std::uint64_t id, ErrorCode code) {
    send(identity, id, fail(code));  // if it does not arrive, the caller's deadline passes
  }

  /// Returns false if the caller is gone or does not read; it then learns the failure by its own deadline.
  bool send(const std::string& identity, std::uint64_t id, Result<std::string> result) {
    // The client would drop the connection, and every other call with it, because of a body that it finds too large.
    if (result && result->size() > kMaxMessageBytes) {
      result = fail(error_for_log(ErrorCode::kInternalError,
                                  "rpc reply of " + std::to_string(result->size()) + " bytes is over the limit"));
    }
    auto status = result ? std::uint16_t{0} : static_cast<std::uint16_t>(result.error().code);
    auto body = result ? std::move(*result) : encode_error(result.error());
    // ZeroMQ refuses at the first frame; if it takes that one, it takes the rest of the message too.
    auto& socket = door_->socket;
    if (!socket.send(identity, true)) return false;
    return socket.send(encode_id(id), true) && socket.send(encode_status(status), true) &&
           socket.hand_over(std::move(body), false);
  }

  const ServerOptions options_;
  const Executor executor_;
  const std::shared_ptr<const Serving> serving_;
  const std::shared_ptr<ReplyBox> box_ = std::make_shared<ReplyBox>();
  const std::string tcp_address_;
  Listener listener_;
  std::unique_ptr<Door> door_;
  std::map<std::pair<std::string, std::uint64_t>, Served> in_flight_;  // by identity and id; used by the thread alone
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> busy_{0};
  std::atomic<std::uint64_t> malformed_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::size_t> connections_{0};
  Mutex join_mutex_;
  std::thread thread_ GUARDED_BY(join_mutex_);
};

std::unexpected<Error> cannot_bind(const std::string& address) {
  return fail(ErrorCode::kConfigInvalid,
              "The address " + address + " cannot be listened on: " + ::zmq_strerror(::zmq_errno()) + ".");
}

/// Binds the tcp address. Options that are set before a bind apply to that bind alone.
Result<void> bind_tcp(Door& door, const TcpListening& tcp) {
  TRY(check_tcp_address(tcp.address, 0));
  if (::zmq_has("curve") == 0) {
    return fail(ErrorCode::kConfigInvalid, "This system's ZeroMQ was built without CURVE, which tcp needs.");
  }
  door.gate = std::make_unique<KeyGate>(door.context, tcp.allowed, tcp.refused);
  door.watch = std::make_unique<ConnectionWatch>(door.socket, door.context, tcp.max_connections);
  auto& socket = door.socket;
  notice_cut_links(socket);
  socket.set(ZMQ_USE_FD, -1);
  socket.set(ZMQ_CURVE_SERVER, 1);
  socket.set(ZMQ_CURVE_SECRETKEY, std::string_view(tcp.keys.secret_key));
  socket.set(ZMQ_ZAP_DOMAIN, std::string_view("tidemark"));
  if (::zmq_bind(socket.raw(), tcp.address.c_str()) != 0) return cannot_bind(tcp.address);
  std::array<char, 256> bound{};
  auto size = bound.size();
  ::zmq_getsockopt(socket.raw(), ZMQ_LAST_ENDPOINT, bound.data(), &size);
  door.tcp_address = bound.data();
  return {};
}

}  // namespace

Result<std::unique_ptr<Server>> serve(const ServerOptions& options, Executor executor, Dispatch dispatch) {
  auto path = TRY(socket_path(options.endpoint));
  auto listener = TRY(Listener::open(path));
  auto door = std::make_unique<Door>();
  auto& socket = door->socket;
  // Above this size, ZeroMQ drops the connection unread; up to it, the caller gets a proper error.
  auto hard_limit = std::max(options.max_message_bytes, kMaxMessageBytes) + kFrameSlackBytes;
  socket.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(hard_limit));
  socket.set(ZMQ_ROUTER_MANDATORY, 1);
  socket.set(ZMQ_RCVHWM, 1000);
  socket.set(ZMQ_SNDHWM, static_cast<int>(std::max<std::size_t>(1000, options.max_in_flight)));
  socket.set(ZMQ_USE_FD, listener.release());
  if (::zmq_bind(socket.raw(), options.endpoint.c_str()) != 0) return cannot_bind(options.endpoint);
  if (options.tcp) TRY(bind_tcp(*door, *options.tcp));
  std::unique_ptr<Server> server = std::make_unique<ZmqServer>(options, std::move(executor), std::move(dispatch),
                                                               std::move(listener), std::move(door));
  return server;
}

}  // namespace tidemark::rpc
