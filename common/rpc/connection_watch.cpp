#include "common/rpc/connection_watch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.h>

#include <atomic>
#include <cstring>

namespace tidemark::rpc {
namespace {

std::uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

/// Tells whether the descriptor is a connection to this endpoint, "tcp://ADDRESS:PORT".
bool belongs_to(int number, const std::string& endpoint) {
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  if (::getsockname(number, reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
  return endpoint.ends_with(":" + std::to_string(port_of(own)));
}

/// Shuts down a connection. Only ZeroMQ closes the descriptor. It may have done so by now, and the number may have been
/// given to another file; so this duplicates the descriptor first, and shuts it down only if it is a connection of this
/// server.
void cut(int number, const std::string& endpoint) {
  const Descriptor held(::fcntl(number, F_DUPFD_CLOEXEC, 0));
  if (held && belongs_to(held.get(), endpoint)) ::shutdown(held.get(), SHUT_RDWR);
}

}  // namespace

Monitor::Monitor(const Socket& watched, const Context& context, int events)
    : watched_(watched.raw()), socket_(ZMQ_PAIR, context) {
  static std::atomic<std::uint64_t> serial{0};
  const auto address = "inproc://rpc-events-" + std::to_string(serial.fetch_add(1));
  ::zmq_socket_monitor(watched.raw(), address.c_str(), events);
  ::zmq_connect(socket_.raw(), address.c_str());
}

Monitor::~Monitor() { ::zmq_socket_monitor(watched_, nullptr, 0); }

std::optional<Monitor::Event> Monitor::next() {
  auto message = socket_.receive();
  if (!message) return std::nullopt;
  // The first frame has 16 bits of event and 32 bits of value, in the machine's own byte order.
  std::uint16_t what = 0;
  std::int32_t value = 0;
  const auto& frame = message->frames[0];
  if (frame.size() != sizeof(what) + sizeof(value)) return Event{};
  std::memcpy(&what, frame.data(), sizeof(what));
  std::memcpy(&value, frame.data() + sizeof(what), sizeof(value));
  return Event{what, value, std::move(message->frames[1])};
}

ConnectionWatch::ConnectionWatch(const Socket& listening, const Context& context, std::size_t most)
    : monitor_(listening, context, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED), most_(most) {}

void ConnectionWatch::follow() {
  while (const auto event = monitor_.next()) {
    if (event->what == ZMQ_EVENT_DISCONNECTED) open_.erase(event->value);
    // The local socket is protected by the mode of its file, so only tcp counts.
    if (event->what != ZMQ_EVENT_ACCEPTED || !event->endpoint.starts_with("tcp://")) continue;
    open_.insert(event->value);
    if (open_.size() > most_) cut(event->value, event->endpoint);
  }
}

}  // namespace tidemark::rpc
