#include "common/rpc/rpc_socket.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>

#include "common/base/numbers.h"

namespace tidemark::rpc {
namespace {

constexpr std::string_view kScheme = "ipc://";
constexpr std::size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kBacklog = 128;
/// Copying a smaller frame costs less than counting its references.
constexpr std::size_t kLeastHandedOver = 16UL << 10;

// For tcp. A peer that has not acknowledged a byte for this long is gone; when there is nothing to send, the system
// asks for an acknowledgement by keepalives.
constexpr int kCutAfterMs = 8000;
constexpr int kKeepaliveIdleS = 2;
constexpr int kKeepaliveEveryS = 2;
constexpr int kKeepalives = 3;
// For a peer whose machine acknowledges, but which sends nothing itself, not even an answer to a ping. The time is
// longer than the largest message takes on a slow link, because an answer waits behind that message.
constexpr int kPingEveryMs = 5000;
constexpr int kSilentForMs = 60'000;
// The time from the connection to the end of its handshake.
constexpr int kHandshakeMs = 5000;
constexpr int kConnectMs = 3000;

// A caller could not handle a lack of descriptors at start.
[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "fatal: %s: %s\n", what, std::strerror(errno));
  std::abort();
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connect_or_bind(decltype(&::connect) operation, int fd, const std::string& path) {
  auto address = address_of(path);
  return operation(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

bool somebody_listens(const std::string& path) {
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return fd && (connect_or_bind(&::connect, fd.get(), path) == 0 || errno == EAGAIN || errno == EINPROGRESS);
}

std::unexpected<Error> cannot_listen(const std::string& path, const std::string& reason) {
  return fail(ErrorCode::kConfigInvalid, "The socket " + path + " cannot be listened on: " + reason + ".");
}

}  // namespace

Context::Context() : raw_(::zmq_ctx_new()) {
  if (raw_ == nullptr) give_up("zmq_ctx_new");
  ::zmq_ctx_set(raw_, ZMQ_IO_THREADS, 1);
}

Context::~Context() {
  if (raw_ == nullptr) return;
  while (::zmq_ctx_term(raw_) != 0 && errno == EINTR) {
  }
}

const Context& Context::of_clients() {
  static const auto* const context = new Context();
  return *context;
}

Socket::Socket(int type, const Context& context) : raw_(::zmq_socket(context.raw(), type)) {
  if (raw_ == nullptr) give_up("zmq_socket");
  set(ZMQ_LINGER, 0);
}

Socket::~Socket() {
  if (raw_ != nullptr) ::zmq_close(raw_);
}

void Socket::set(int option, int value) { ::zmq_setsockopt(raw_, option, &value, sizeof(value)); }
void Socket::set(int option, std::int64_t value) { ::zmq_setsockopt(raw_, option, &value, sizeof(value)); }
void Socket::set(int option, std::string_view value) { ::zmq_setsockopt(raw_, option, value.data(), value.size()); }

bool Socket::send(std::string_view frame, bool more) {
  int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  int sent = -1;
  do {
    sent = ::zmq_send(raw_, frame.data(), frame.size(), flags);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

bool Socket::hand_over(std::string frame, bool more) {
  if (frame.size() < kLeastHandedOver) return send(frame, more);
  auto owned = std::make_unique<std::string>(std::move(frame));
  const auto let_go = [](void*, void* hint) { delete static_cast<std::string*>(hint); };
  zmq_msg_t message;
  if (::zmq_msg_init_data(&message, owned->data(), owned->size(), let_go, owned.get()) != 0) return false;
  std::ignore = owned.release();  // the message owns it now
  int sent = -1;
  do {
    sent = ::zmq_msg_send(&message, raw_, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) ::zmq_msg_close(&message);
  return sent >= 0;
}

std::optional<Socket::Message> Socket::receive() {
  Message message;
  bool more = true;
  while (more) {
    zmq_msg_t part;
    ::zmq_msg_init(&part);
    int got = -1;
    do {
      got = ::zmq_msg_recv(&part, raw_, ZMQ_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      ::zmq_msg_close(&part);
      return std::nullopt;
    }
    if (message.count < message.frames.size()) {
      message.frames[message.count].assign(static_cast<const char*>(::zmq_msg_data(&part)), ::zmq_msg_size(&part));
    }
    // ZeroMQ makes up the first frame of a ROUTER's message, so that frame has no user.
    if (message.count == 1) {
      const char* user = ::zmq_msg_gets(&part, "User-Id");
      if (user != nullptr) message.user = user;
    }
    ++message.count;
    more = ::zmq_msg_more(&part) != 0;
    ::zmq_msg_close(&part);
  }
  return message;
}

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!fd_) give_up("eventfd");
}
void WakeUp::notify() {
  std::uint64_t one = 1;
  // It fails only if the counter is full, and then the thread is awake.
  [[maybe_unused]] auto written = ::write(fd_.get(), &one, sizeof(one));
}
void WakeUp::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] auto got = ::read(fd_.get(), &count, sizeof(count));
}

Result<void> check_tcp_address(const std::string& address, int least_port) {
  constexpr std::string_view kTcp = "tcp://";
  const auto colon = address.rfind(':');
  const bool shaped = address.starts_with(kTcp) && colon != std::string::npos && colon > kTcp.size();
  if (shaped && parse_number(address.substr(colon + 1), least_port, 65535)) return {};
  return fail(ErrorCode::kConfigInvalid, "The address '" + address + "' is not of the form tcp://HOST:PORT.");
}

void notice_cut_links(Socket& socket) {
  socket.set(ZMQ_IPV6, 1);
  socket.set(ZMQ_TCP_MAXRT, kCutAfterMs);
  socket.set(ZMQ_TCP_KEEPALIVE, 1);
  socket.set(ZMQ_TCP_KEEPALIVE_IDLE, kKeepaliveIdleS);
  socket.set(ZMQ_TCP_KEEPALIVE_INTVL, kKeepaliveEveryS);
  socket.set(ZMQ_TCP_KEEPALIVE_CNT, kKeepalives);
  socket.set(ZMQ_HEARTBEAT_IVL, kPingEveryMs);
  socket.set(ZMQ_HEARTBEAT_TIMEOUT, kSilentForMs);
  socket.set(ZMQ_HEARTBEAT_TTL, kSilentForMs);
  socket.set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
  socket.set(ZMQ_CONNECT_TIMEOUT, kConnectMs);
}

Result<std::string> socket_path(const std::string& endpoint) {
  auto path = endpoint.starts_with(kScheme) ? endpoint.substr(kScheme.size()) : std::string();
  // For ZeroMQ, '@' begins an abstract address and '*' a temporary one: neither has a file whose mode protects it.
  if (path.empty() || path[0] == '@' || path[0] == '*' || path.find('\0') != std::string::npos) {
    return fail(ErrorCode::kConfigInvalid, "The endpoint '" + endpoint + "' is not of the form ipc:///path/to.sock.");
  }
  if (path.size() > kMaxPathBytes) {
    return fail(ErrorCode::kConfigInvalid, "The socket path " + path + " has " + std::to_string(path.size()) +
                                               " bytes; the system allows " + std::to_string(kMaxPathBytes) +
                                               ". Use a data directory with a shorter path.");
  }
  return path;
}

Result<Listener> Listener::open(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return cannot_listen(path, "a file that is not a socket is there");
    if (somebody_listens(path)) return cannot_listen(path, "another process listens on it");
    ::unlink(path.c_str());
  }
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return cannot_listen(path, std::strerror(errno));
  Listener listener(Descriptor(fd), path);
  // The mode must be right from the first moment on. A file that another thread makes meanwhile only becomes more
  // private.
  auto old_mask = ::umask(0177);
  int bound = connect_or_bind(&::bind, fd, path);
  int bind_errno = errno;
  ::umask(old_mask);
  if (bound != 0) return cannot_listen(path, std::strerror(bind_errno));
  if (::lstat(path.c_str(), &found) == 0) {
    listener.device_ = found.st_dev;
    listener.inode_ = found.st_ino;
  }
  if (::listen(fd, kBacklog) != 0) return cannot_listen(path, std::strerror(errno));
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)) {}

void Listener::remove_file() {
  struct stat found{};
  if (inode_ == 0 || ::lstat(path_.c_str(), &found) != 0) return;
  if (found.st_dev == device_ && found.st_ino == inode_) ::unlink(path_.c_str());
  inode_ = 0;
}

}  // namespace tidemark::rpc
