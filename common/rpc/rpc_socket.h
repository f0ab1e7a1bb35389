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

class Socket {
 public:
  explicit Socket(int type);
  ~Socket();
  Socket(Socket&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] void* raw() const { return raw_; }
  void set(int option, int value);
  void set(int option, std::int64_t value);
  /// Sends one frame without waiting; false if it could not be taken.
  bool send(std::string_view frame, bool more);

  /// A message. `count` includes frames after the fourth, which are dropped.
  struct Message {
    std::array<std::string, 4> frames;
    std::size_t count = 0;
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
