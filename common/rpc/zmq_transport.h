// RPC by ZeroMQ: ROUTER and DEALER, over ipc:// sockets of mode 0600 on one machine, and over tcp:// with CURVE between
// machines. Each server and client has a background thread.
//   request frames:  [identity] id:u64 build [0 trace] | method | payload
//   reply frames:    [identity] id:u64 | status:u16 | body
//   status 0: body is the reply; otherwise an ErrorCode number and body = message, detail, fields (bytes.h)
// `build` is the version of the caller's program: calls may differ between versions, so a server answers only its own
// version.
//
// With tcp, a link may be slow, or be cut without either side being told. Both sides give up a connection whose peer
// acknowledges nothing for 8 s or says nothing for a minute, so a request that was on its way cannot take effect much
// later than its caller's deadline. ZeroMQ encrypts everything, and hands over nothing from a peer whose key is not
// allowed.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/trace_context.h"
#include "common/rpc/curve_keys.h"
#include "common/rpc/key_gate.h"
#include "common/rpc/transport.h"

namespace tidemark::rpc {

/// Called for every call that ended in an error, on the thread that served it. `trace`: see TracedDispatch; may be
/// empty.
using FailureHook = void (*)(std::string_view method, const Error& error, const TraceContext& trace);

/// Serves the calls that belong to a recorded trace (call_trace.h). `parent` is the span of the caller.
using TracedDispatch =
    std::function<Task<Result<std::string>>(TraceContext parent, std::string method, std::string payload)>;

/// How a server listens for other machines.
struct TcpListening {
  std::string address;  // tcp://ADDRESS:PORT; port 0 takes any free one
  KeyPair keys;
  std::shared_ptr<const AllowedKeys> allowed;
  std::size_t max_connections = 1024;  // further ones are cut
  RefusalHook refused = nullptr;       // called on the server's thread
};

struct ServerOptions {
  std::string endpoint;                        // ipc:///path/to.sock
  std::size_t max_in_flight = 4096;            // further callers get kServerBusy
  std::size_t max_message_bytes = 16UL << 20;  // a larger payload is kRequestBodyTooLarge
  /// How long stop() waits for calls being served. The other calls are answered with kUnavailable.
  std::chrono::milliseconds drain{5000};
  /// Runs on the server's executor.
  UndeliveredHook undelivered = {};
  FailureHook failed = nullptr;
  TracedDispatch traced = {};            // empty: calls with a trace are served like all others
  std::optional<TcpListening> tcp = {};  // beside `endpoint`
};

struct ServerCounters {
  std::uint64_t calls = 0;      // passed to dispatch
  std::uint64_t busy = 0;       // refused with kServerBusy
  std::uint64_t malformed = 0;  // messages that were not requests and were ignored
  std::uint64_t refused = 0;    // handshakes over tcp by keys that are not allowed
  std::size_t connections = 0;  // over tcp, including those that are still in the handshake
};

class Server {
 public:
  virtual ~Server() = default;
  /// Stops accepting calls; calls that are being served are still answered. Returns when the thread has ended. Must not
  /// be called on a thread of the executor, which has to serve the remaining calls meanwhile. The destructor stops the
  /// server too.
  virtual void stop() = 0;
  [[nodiscard]] virtual ServerCounters counters() const = 0;
  /// The address at which it listens for other machines, with the real port; empty if it does not.
  [[nodiscard]] virtual std::string tcp_address() const = 0;
};

/// Runs `dispatch` as a coroutine on `executor` for each call. kConfigInvalid if the endpoint cannot be bound.
Result<std::unique_ptr<Server>> serve(const ServerOptions& options, Executor executor, Dispatch dispatch);

struct ClientOptions {
  std::string name = "service";                // for people: "table store"
  Duration patience = std::chrono::hours(24);  // how long a call waits for a connection, if its deadline is later
};

/// Connects when it is first used, and reconnects by itself. Deadlines run on the client's own thread; a call resumes
/// on its caller's executor. If a call was not sent by its deadline or within the patience, it fails with kUnavailable
/// and will not take effect. If it was sent, it fails with kDeadlineExceeded, or with kUnavailable as soon as its
/// connection breaks. Destroy the client before the executors that call through it; pending calls end with kCancelled.
std::unique_ptr<Transport> connect(const std::string& endpoint, ClientOptions options = {});

/// A server on another machine.
struct TcpServer {
  std::string address;     // tcp://HOST:PORT
  std::string server_key;  // its public key
  KeyPair keys;            // those of this process
};
/// Does the same. Until the server admits this process's key, calls fail with kUnavailable, and the message says so.
std::unique_ptr<Transport> connect(const TcpServer& server, ClientOptions options = {});

}  // namespace tidemark::rpc
