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

/// A ZeroMQ context, with a thread that does the sockets' input and output. Its end waits for its sockets.
class Context {
 public:
  Context();
  ~Context();
  Context(Context&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  [[nodiscard]] void* raw() const { return raw_; }
  /// That of all clients of the process. It never ends; nothing is lost by that, because sockets do not linger.
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
  /// Likewise; a large one is handed over, not copied.
  bool hand_over(std::string frame, bool more);

  /// A message. `count` includes frames after the last that there is room for, which are dropped.
  struct Message {
    std::array<std::string, 7> frames;
    std::size_t count = 0;
    std::string user;  // who sent it, if it came through a KeyGate
  };
  /// The next message, if one is there.
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

/// kConfigInvalid unless it is "tcp://HOST:PORT" with a port of at least `least_port`.
Result<void> check_tcp_address(const std::string& address, int least_port);
/// What both ends of a link over tcp set: how soon they notice that the other one is gone.
void notice_cut_links(Socket& socket);

/// The path of "ipc:///path"; kConfigInvalid for anything else, or if the path is too long for a socket.
Result<std::string> socket_path(const std::string& endpoint);

/// A listening Unix socket of mode 0600. A stale file is replaced. kConfigInvalid if another process listens on it or
/// the file is not a socket.
class Listener {
 public:
  static Result<Listener> open(const std::string& path);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener() { remove_file(); }
  /// ZeroMQ takes over the descriptor; the file remains ours.
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
