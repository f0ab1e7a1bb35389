// Owners of ZeroMQ sockets and eventfds. A Socket belongs to one thread, which other threads reach by WakeUp.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/descriptor.h"
#include "common/base/error.h"

namespace tidemark::rpc {

/// A ZeroMQ context, with a thread that does the sockets' input and output. Its destructor waits for its sockets.
class Context {
 public:
  Context();
  ~Context();
  Context(Context&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  [[nodiscard]] void* raw() const { return raw_; }
  /// Returns the context of all clients of the process. It never ends; nothing is lost by that, because sockets do not
  /// linger.
  static const Context& of_clients();

 private:
  void* raw_;
};

class Socket {
 public:
  Socket(int type, const Context& context);
  ~Socket();
  Socket(Socket&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] void* raw() const { return raw_; }
  void set(int option, int value);
  void set(int option, std::int64_t value);
  void set(int option, std::string_view value);
  /// Sends one frame without waiting; false if it could not be taken.
  bool send(std::string_view frame, bool more);
  /// Does the same, but hands over a large frame instead of copying it.
  bool hand_over(std::string frame, bool more);

  /// A message. `count` includes frames beyond the array, which are dropped.
  struct Message {
    std::array<std::string, 7> frames;
    std::size_t count = 0;
    std::string user;  // the sender, if it came through a KeyGate
  };
  /// Returns the next message, if there is one.
  std::optional<Message> receive();

 private:
  void* raw_;
};

/// Wakes a thread that polls fd().
class WakeUp {
 public:
  WakeUp();
  [[nodiscard]] int fd() const { return fd_.get(); }
  void notify();
  void clear();

 private:
  Descriptor fd_;
};

/// kConfigInvalid unless the address is "tcp://HOST:PORT" with a port of at least `least_port`.
Result<void> check_tcp_address(const std::string& address, int least_port);
/// Sets how soon an end of a link over tcp notices that the other end is gone; both ends call it.
void notice_cut_links(Socket& socket);

/// Returns the path of "ipc:///path"; kConfigInvalid for any other text, or if the path is too long for a socket.
Result<std::string> socket_path(const std::string& endpoint);

/// A listening Unix socket of mode 0600. A stale file is replaced. kConfigInvalid if another process listens on it or
/// the file is not a socket.
class Listener {
 public:
  static Result<Listener> open(const std::string& path);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener() { remove_file(); }
  /// ZeroMQ takes over the descriptor; the file remains this object's.
  int release() { return fd_.release(); }
  /// Removes the file unless a successor has put its own there.
  void remove_file();

 private:
  Listener(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Descriptor fd_;
  std::string path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace tidemark::rpc
