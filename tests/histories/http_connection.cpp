#include "tests/histories/http_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace tidemark::histories {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

/// Tells whether the peer has closed the connection. No answer is due, so if the socket is readable, that is its end.
bool has_ended(int socket) {
  pollfd wanted{socket, POLLIN, 0};
  return ::poll(&wanted, 1, 0) != 0;
}

}  // namespace

std::string_view HttpAnswer::header(std::string_view name) const {
  const std::string_view text = head;
  for (auto at = text.find(kLineEnd); at != std::string_view::npos; at = text.find(kLineEnd, at + 1)) {
    const auto line = text.substr(at + kLineEnd.size());
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    const auto value = line.substr(name.size() + 1, line.find(kLineEnd) - name.size() - 1);
    return value.substr(std::min(value.find_first_not_of(' '), value.size()));
  }
  return {};
}

bool HttpConnection::open() {
  if (socket_ >= 0 && has_ended(socket_)) close();
  if (socket_ >= 0) return true;
  received_.clear();
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{patience_.count() / 1000, patience_.count() % 1000 * 1000};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return true;
  close();
  return false;
}

void HttpConnection::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool HttpConnection::send_all(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool HttpConnection::read_more() {
  std::array<char, 16384> piece;
  const auto got = ::recv(socket_, piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  received_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

bool HttpConnection::fill(std::size_t bytes) {
  while (received_.size() < bytes) {
    if (!read_more()) return false;
  }
  return true;
}

bool HttpConnection::read_chunks(HttpAnswer& answer) {
  while (true) {
    std::size_t end = 0;
    while ((end = received_.find(kLineEnd)) == std::string::npos) {
      if (!read_more()) return false;
    }
    const auto size = std::strtoul(received_.c_str(), nullptr, 16);
    const auto begin = end + kLineEnd.size();
    if (!fill(begin + size + kLineEnd.size())) return false;
    answer.body.append(received_, begin, size);
    received_.erase(0, begin + size + kLineEnd.size());
    if (size == 0) return true;
  }
}

bool HttpConnection::read_body(HttpAnswer& answer) {
  if (!answer.header("Transfer-Encoding").empty()) return read_chunks(answer);
  const auto length = std::strtoul(std::string(answer.header("Content-Length")).c_str(), nullptr, 10);
  if (!fill(length)) return false;
  answer.body = received_.substr(0, length);
  received_.erase(0, length);
  return true;
}

bool HttpConnection::read_answer(const HttpRequest& request, HttpAnswer& answer) {
  constexpr std::string_view kHeadEnd = "\r\n\r\n";
  std::size_t end = 0;
  while ((end = received_.find(kHeadEnd)) == std::string::npos) {
    if (!read_more()) return false;
  }
  answer.head = received_.substr(0, end + kLineEnd.size());
  received_.erase(0, end + kHeadEnd.size());
  const bool has_body = request.method != "HEAD" && !answer.head.starts_with("HTTP/1.1 204");
  if (has_body && !read_body(answer)) return false;
  answer.status = std::atoi(answer.head.c_str() + sizeof("HTTP/1.1"));
  return true;
}

HttpAnswer HttpConnection::ask(const HttpRequest& request) {
  HttpAnswer answer;
  if (!open()) return answer;
  answer.sent = true;
  const auto head = request.method + " " + request.target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + request.headers +
                    "Content-Length: " + std::to_string(request.body.size()) + "\r\n\r\n";
  if (!send_all(head + request.body) || !read_answer(request, answer)) close();
  return answer;
}

}  // namespace tidemark::histories
