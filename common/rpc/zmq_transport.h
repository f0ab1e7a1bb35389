// The ZeroMQ wire: ROUTER/DEALER over ipc:// sockets of mode 0600. One background thread per server and per client.
//   request frames:  [identity] id:u64 | method | payload         reply frames: [identity] id:u64 | status:u16 | body
//   status 0: body is the reply; otherwise an ErrorCode number and body = message, detail, fields (bytes.h)
#pragma once
#include <memory>
#include <string>

#include "common/rpc/transport.h"

namespace tidemark::rpc {

struct ServerOptions {
  std::string endpoint;              // ipc:///path/to.sock
  std::size_t max_in_flight = 4096;  // beyond it callers get kServerBusy
  std::size_t max_message_bytes = 16UL << 20;
};

class Server {
 public:
  virtual ~Server() = default;
  /// Stops taking calls; calls being served still answer. Returns once the thread ended.
  virtual void stop() = 0;
};

/// Each call runs `dispatch` as a coroutine on `executor`. Fails with kConfigInvalid (endpoint cannot be bound).
Result<std::unique_ptr<Server>> serve(const ServerOptions& options, Executor executor, Dispatch dispatch);

/// Connects lazily and reconnects by itself. Deadlines run on the client's own thread.
std::unique_ptr<Transport> connect(const std::string& endpoint);

}  // namespace tidemark::rpc
