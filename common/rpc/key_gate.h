// Decides which peers may connect to a server that other machines can reach: ZeroMQ asks it about every CURVE handshake
// (the ZAP protocol, RFC 27), and it admits the keys that are allowed. Nothing that a refused peer sends is handed to
// the server. A key that is taken off the list keeps its connections, so the server also asks whether the user of a
// message is still admitted. Belongs to the thread of the server's socket.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "common/rpc/curve_keys.h"
#include "common/rpc/rpc_socket.h"

namespace tidemark::rpc {

/// Called for each refused handshake with the peer's public key as text ("none" if it has none), and its address.
using RefusalHook = void (*)(const std::string& public_key, const std::string& address);

class KeyGate {
 public:
  /// Must exist before the first socket of its context listens. There is one for each context.
  KeyGate(const Context& context, std::shared_ptr<const AllowedKeys> allowed, RefusalHook refused);
  [[nodiscard]] void* raw() const { return socket_.raw(); }
  /// Answers all waiting questions of ZeroMQ. Returns how many peers were refused.
  std::uint64_t answer();
  /// `user` is as in Socket::Message.
  [[nodiscard]] bool still_admits(const std::string& user) const;

 private:
  bool admits(const Socket::Message& question) const;
  Socket socket_;
  std::shared_ptr<const AllowedKeys> allowed_;
  RefusalHook refused_;
};

}  // namespace tidemark::rpc
