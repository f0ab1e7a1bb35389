#include "common/http/server.h"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>

#include "common/http/session.h"
#include "common/process/failures.h"

namespace tidemark::http {
namespace {

using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
using boost::system::error_code;

template <class AnyAcceptor>
error_code take_port(AnyAcceptor& acceptor, const asio::ip::tcp::endpoint& endpoint, bool shared) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && shared) acceptor.set_option(ReusePort(true), error);
  if (!error) acceptor.bind(endpoint, error);
  return error;
}

// One I/O thread with its own acceptor and sessions. Everything but start and stop happens on that thread.
class Worker {
 public:
  explicit Worker(ServerContext& context)
      : context_(context), io_(1), guard_(asio::make_work_guard(io_)), acceptor_(io_), sweep_timer_(io_) {
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Worker() { join(); }

  error_code listen(const asio::ip::tcp::endpoint& endpoint) {
    auto error = take_port(acceptor_, endpoint, true);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    return error;
  }
  error_code adopt(const asio::ip::tcp& protocol, int listener) {
    error_code error;
    acceptor_.assign(protocol, listener, error);
    return error;
  }
  int listener() { return ::dup(acceptor_.native_handle()); }
  [[nodiscard]] std::uint16_t port() const {
    error_code ignored;
    return acceptor_.local_endpoint(ignored).port();
  }
  [[nodiscard]] Executor executor() { return io_.get_executor(); }
  void accept() { spawn(io_.get_executor(), accept_loop()); }

  // Stops accepting and closes connections that are between requests. `drained` is called when none is left.
  void begin_stop() {
    asio::post(io_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      sweep_timer_.cancel();
      for (auto& session : sessions_) {
        if (session->idle()) session->close();
      }
    });
  }
  void join() {
    guard_.reset();
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  Task<void> accept_loop() {
    for (;;) {
      auto [error, accepted] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
      if (context_.stopping.load()) co_return;
      if (error) {
        if (error == asio::error::operation_aborted) co_return;
        // The process is out of descriptors: wait a little instead of spinning.
        asio::steady_timer pause(io_, std::chrono::milliseconds(50));
        co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
        continue;
      }
      Socket socket(std::move(accepted));
      const auto endpoint = socket.remote_endpoint(error);
      if (error) continue;  // the client is gone again
      using enum ConnectionSlots::Verdict;
      auto verdict = context_.connections.take(endpoint.address());
      if (verdict == kFull && close_idle()) verdict = context_.connections.take(endpoint.address(), true);
      if (verdict == kTaken) {
        start_session(std::move(socket), endpoint.address());
      } else {
        ++(verdict == kFull ? context_.refused_in_all : context_.refused_of_address);
        refuse(std::move(socket),
               verdict == kFull ? "max_connections are open" : "its address has too many connections");
      }
    }
  }

  /// Closes the connection that has been idle longest, if any is idle.
  bool close_idle() {
    Session* longest = nullptr;
    for (const auto& session : sessions_) {
      if (session->idle() && (longest == nullptr || session->deadline() < longest->deadline())) longest = session.get();
    }
    if (longest != nullptr) longest->close();
    return longest != nullptr;
  }

  void refuse(Socket socket, const char* why) {
    const auto error = error_for_log(ErrorCode::kServerBusy, why);
    const auto request_id = context_.random.guid();
    process::log_failed_request(request_id, "connect", error);
    if (context_.options.certificate) return;  // an answer would cost a handshake
    const auto response = context_.render_error(error, request_id);
    const auto head = render_head(nullptr, response, false, context_.options.server_name);
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(std::array<asio::const_buffer, 2>{asio::buffer(head), asio::buffer(response.body)}, ignored);
  }

  void start_session(Socket socket, const asio::ip::address& address) {
    sessions_.push_back(std::make_unique<Session>(std::move(socket), context_, outbox_));
    auto position = std::prev(sessions_.end());
    if (!sweeping_) {
      sweeping_ = true;
      spawn(io_.get_executor(), sweep());
    }
    spawn(io_.get_executor(), run_session(position, address));
  }

  Task<void> run_session(std::list<std::unique_ptr<Session>>::iterator position, asio::ip::address address) {
    co_await (*position)->run();
    sessions_.erase(position);
    context_.connections.leave(address);
  }

  // Runs only while there are connections, so an idle server sleeps.
  Task<void> sweep() {
    while (!sessions_.empty() && !context_.stopping.load()) {
      sweep_timer_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(context_.options.sweep_interval));
      co_await sweep_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
      const auto now = std::chrono::steady_clock::now();
      for (auto& session : sessions_) {
        if (session->expired(now)) session->close();
      }
    }
    sweeping_ = false;
  }

  ServerContext& context_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  Acceptor acceptor_;
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                             asio::io_context::executor_type>
      sweep_timer_;
  Outbox outbox_{io_};
  std::list<std::unique_ptr<Session>> sessions_;
  bool sweeping_ = false;
  std::thread thread_;
};

Result<asio::ip::address> address_of(const std::string& host) {
  error_code error;
  auto address = asio::ip::make_address(host, error);
  if (!error) return address;
  return fail(ErrorCode::kConfigInvalid, "host \"" + host + "\" is not an IP address: use 127.0.0.1, 0.0.0.0 or ::");
}

ServerOptions with_name(ServerOptions options) {
  if (options.server_name.empty()) options.server_name = "Tidemark/" TIDEMARK_VERSION;
  return options;
}

class ServerImpl final : public Server {
 public:
  ServerImpl(const ServerOptions& options, Random& random) : context_(with_name(options), random) {
    for (unsigned i = 0; i < std::max(1U, options.threads); ++i) {
      workers_.push_back(std::make_unique<Worker>(context_));
    }
  }
  ~ServerImpl() override { stop(Duration::zero()); }

  Result<void> bind() {
    const auto address = TRY(address_of(context_.options.host));
    asio::ip::tcp::endpoint endpoint(address, context_.options.port);
    const auto& listener = context_.options.listener;
    if (!listener) TRY(check_free(endpoint));
    for (auto& worker : workers_) {
      const bool adopts = listener && worker == workers_.front();
      const auto error = adopts ? worker->adopt(endpoint.protocol(), *listener) : worker->listen(endpoint);
      if (error) return bind_failure(endpoint, error);
      endpoint.port(worker->port());
    }
    port_ = endpoint.port();
    return {};
  }

  void start(Handler handler, ErrorRenderer render_error) override {
    context_.handler = std::move(handler);
    context_.render_error = std::move(render_error);
    for (auto& worker : workers_) worker->accept();
  }

  std::uint16_t port() const override { return port_; }
  std::string where() const override {
    return "port=" + std::to_string(port_) + (context_.options.certificate ? " scheme=https" : "");
  }
  int keep_listening() const override { return workers_.front()->listener(); }
  Refused refused() const override {
    return {context_.refused_in_all.load(), context_.refused_of_address.load(), context_.refused_handshakes.load()};
  }
  Executor executor() override { return workers_[next_.fetch_add(1) % workers_.size()]->executor(); }

  void stop(Duration grace) override {
    if (!context_.stopping.exchange(true)) {
      for (auto& worker : workers_) worker->begin_stop();
    }
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(grace);
    while (context_.connections.open() > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (auto& worker : workers_) worker->join();
  }

 private:
  // With SO_REUSEPORT two servers could share a port by mistake; a plain bind fails if somebody listens there. The
  // probe does not listen, since a client that connected to it would be cut off.
  static Result<void> check_free(const asio::ip::tcp::endpoint& endpoint) {
    if (endpoint.port() == 0) return {};
    asio::io_context io;
    asio::ip::tcp::acceptor probe(io);
    const auto error = take_port(probe, endpoint, false);
    return error ? bind_failure(endpoint, error) : Result<void>();
  }

  static std::unexpected<Error> bind_failure(const asio::ip::tcp::endpoint& endpoint, const error_code& error) {
    const auto where = endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
    std::string advice = error.message();
    if (error == asio::error::address_in_use) {
      advice = "the port is in use; stop the other program or choose another with --port (of tidemark up: --port-base)";
    } else if (error == asio::error::access_denied) {
      advice = "permission denied; choose a port above 1023 with --port";
    }
    return fail(ErrorCode::kConfigInvalid, "cannot listen on " + where + ": " + advice);
  }

  ServerContext context_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<std::size_t> next_{0};
  std::uint16_t port_ = 0;
};

}  // namespace

Result<bool> is_loopback(const std::string& host) {
  const auto address = TRY(address_of(host));
  return address.is_loopback();
}

Result<std::unique_ptr<Server>> bind_server(const ServerOptions& options, Random& random) {
  auto server = std::make_unique<ServerImpl>(options, random);
  TRY(server->bind());
  return server;
}

}  // namespace tidemark::http
