// The ZeroMQ wire: ROUTER/DEALER over ipc:// sockets of mode 0600. One background thread per server and per client.
//   request frames:  [identity] id:u64 | method | payload         reply frames: [identity] id:u64 | status:u16 | body
//   status 0: body is the reply; otherwise an ErrorCode number and body = message, detail, fields (bytes.h)
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/rpc/transport.h"

namespace tidemark::rpc {

/// Told of every call that ended in an error, on the thread that served it.
using FailureHook = void (*)(std::string_view method, const Error& error);

struct ServerOptions {
  std::string endpoint;                        // ipc:///path/to.sock
  std::size_t max_in_flight = 4096;            // beyond it callers get kServerBusy
  std::size_t max_message_bytes = 16UL << 20;  // a larger payload is kRequestBodyTooLarge
  /// How long stop() waits for calls being served; those left are answered kUnavailable.
  std::chrono::milliseconds drain{5000};
  /// Runs on the server's executor.
  UndeliveredHook undelivered = {};
  FailureHook failed = nullptr;
};

struct ServerCounters {
  std::uint64_t calls = 0;      // handed to dispatch
  std::uint64_t busy = 0;       // refused with kServerBusy
  std::uint64_t malformed = 0;  // messages that were no request, and were ignored
};

class Server {
 public:
  virtual ~Server() = default;
  /// Stops taking calls; calls being served still answer. Returns once the thread ended. Not for a thread of the
  /// executor, which has to serve the rest meanwhile. The destructor stops, too.
  virtual void stop() = 0;
  [[nodiscard]] virtual ServerCounters counters() const = 0;
};

/// Each call runs `dispatch` as a coroutine on `executor`. Fails with kConfigInvalid (endpoint cannot be bound).
Result<std::unique_ptr<Server>> serve(const ServerOptions& options, Executor executor, Dispatch dispatch);

/// Connects lazily and reconnects by itself. Deadlines run on the client's own thread; a call resumes on its caller's
/// executor. A call that was not sent when its deadline came is kUnavailable and will not take effect; one that was
/// sent is kDeadlineExceeded, or kUnavailable as soon as its connection breaks. Destroy the client before the
/// executors that call through it: calls still pending end with kCancelled.
std::unique_ptr<Transport> connect(const std::string& endpoint);

}  // namespace tidemark::rpc
