#include "tests/support/socket_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <stdexcept>

#include "common/base/descriptor.h"

namespace tidemark::testing {
namespace {

constexpr int kLookAgainMs = 20;  // how often it checks whether it is to stop

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Returns the received bytes; empty: the connection ended.
std::string receive(int from) {
  std::array<char, 65536> buffer{};
  const auto got = ::recv(from, buffer.data(), buffer.size(), 0);
  return got <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(got));
}

}  // namespace

SocketProxy::SocketProxy(std::string path, std::string server) : path_(std::move(path)), server_(std::move(server)) {
  const auto address = address_of(path_);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_, 16) != 0) {
    throw std::runtime_error("cannot listen on " + path_);
  }
  acceptor_ = std::jthread([this] { accept_clients(); });
}

SocketProxy::~SocketProxy() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  acceptor_.join();
  threads_.clear();
  ::close(listener_);
  ::unlink(path_.c_str());
}

void SocketProxy::await_kept() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return kept_; });
}

void SocketProxy::release() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return kept_; });
  kept_ = delivered_ = false;
  released_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return delivered_; });
}

void SocketProxy::shut(bool shut) { shut_ = shut; }

void SocketProxy::accept_clients() {
  while (!stopping_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, kLookAgainMs) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) threads_.emplace_back([this, client] { serve(client); });
  }
}

void SocketProxy::serve(int accepted) {
  const Descriptor client(accepted), server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = address_of(server_);
  if (shut_ || ::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return;
  while (!stopping_ && !shut_) {
    std::array<pollfd, 2> waiting{{{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), kLookAgainMs) <= 0) continue;
    if (waiting[1].revents != 0) {
      const auto reply = receive(server.get());
      if (reply.empty() || !send_all(client.get(), reply)) return;
    }
    if (waiting[0].revents != 0) {
      const auto request = receive(client.get());
      if (request.empty() || !pass_request(client.get(), server.get(), request)) return;
    }
  }
}

bool SocketProxy::pass_request(int client, int server, const std::string& bytes) {
  switch (trouble_.exchange(Trouble::kNone)) {
    case Trouble::kNone:
      return send_all(server, bytes);
    case Trouble::kLoseRequest:
      return false;
    case Trouble::kLoseReply:
      send_all(server, bytes);
      receive(server);  // only now the client hears that the connection is gone
      return false;
    case Trouble::kFreeze:
      keep(server, bytes);
      return false;
    case Trouble::kDelay:
      ::shutdown(client, SHUT_RDWR);
      keep(server, bytes);
      return false;
    case Trouble::kHold:
      return hold(client, server, bytes);
  }
  return false;
}

void SocketProxy::keep(int server, const std::string& bytes) {
  await_release();
  if (!stopping_ && send_all(server, bytes)) receive(server);
  note_delivered();
}

bool SocketProxy::hold(int client, int server, const std::string& bytes) {
  await_release();
  send_all(server, bytes);
  const auto reply = receive(server);
  note_delivered();
  await_release();
  const bool sent = send_all(client, reply);
  note_delivered();
  return sent;
}

void SocketProxy::await_release() {
  std::unique_lock lock(mutex_);
  kept_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return released_ || stopping_; });
  released_ = false;
}

void SocketProxy::note_delivered() {
  const std::lock_guard lock(mutex_);
  delivered_ = true;
  changed_.notify_all();
}

}  // namespace tidemark::testing
