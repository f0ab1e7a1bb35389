// The connections that a server's tcp socket has accepted, and their limit: ZeroMQ has no such limit, and a client
// without a key could open connections until the process has no descriptors left. Belongs to the thread of the server's
// socket.
#pragma once
#include <cstddef>
#include <set>

#include "common/rpc/rpc_socket.h"

namespace tidemark::rpc {

/// Receives ZeroMQ's events about a socket's connections (zmq_socket_monitor). It must end before the socket, because
/// otherwise ZeroMQ's thread would wait for ever for a reader of the next event.
class Monitor {
 public:
  struct Event {
    int what = 0;  // ZMQ_EVENT_...
    int value = 0;
    std::string endpoint;
  };
  Monitor(const Socket& watched, const Context& context, int events);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  [[nodiscard]] void* raw() const { return socket_.raw(); }
  std::optional<Event> next();

 private:
  void* watched_;
  Socket socket_;
};

class ConnectionWatch {
 public:
  /// Must exist before `listening` listens.
  ConnectionWatch(const Socket& listening, const Context& context, std::size_t most);
  [[nodiscard]] void* raw() const { return monitor_.raw(); }
  /// Takes in the new events, and cuts connections beyond the limit.
  void follow();
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  Monitor monitor_;
  std::size_t most_;
  std::set<int> open_;  // descriptors that belong to ZeroMQ
};

}  // namespace tidemark::rpc
