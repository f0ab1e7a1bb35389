#include "bench/clients/queue_rest.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>

#include <cctype>
#include <cstdlib>

namespace tidemark::bench {
namespace {

constexpr std::string_view kHeaders = "Host: 127.0.0.1\r\nx-ms-version: 2021-12-02\r\n";
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";

void append_percent_encoded(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
}

std::optional<std::string_view> header(std::string_view head, std::string_view name) {
  for (std::size_t at = 0; (at = head.find("\r\n", at)) != std::string_view::npos; at += 2) {
    const auto line = head.substr(at + 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) == 0) return line.substr(name.size() + 1);
  }
  return std::nullopt;
}

}  // namespace

QueueRequests::QueueRequests(const Target& target)
    : path_("/devstoreaccount1/" + target.queue + "/messages"),
      sas_(target.sas),
      delay_(target.delay_s > 0 ? "visibilitytimeout=" + std::to_string(target.delay_s) + "&" : "") {}

const std::string& QueueRequests::put(std::string_view text) {
  constexpr std::string_view kBefore = "<QueueMessage><MessageText>", kAfter = "</MessageText></QueueMessage>";
  request_.assign("POST ").append(path_).append("?").append(delay_).append(sas_).append(" HTTP/1.1\r\n");
  request_.append(kHeaders).append("Content-Type: application/xml\r\nContent-Length: ");
  request_.append(std::to_string(kBefore.size() + text.size() + kAfter.size())).append("\r\n\r\n");
  return request_.append(kBefore).append(text).append(kAfter);
}

const std::string& QueueRequests::take(int wait_s) {
  request_.assign("GET ").append(path_).append("?visibilitytimeout=3600&").append(sas_).append(" HTTP/1.1\r\n");
  request_.append(kHeaders);
  if (wait_s > 0) request_.append("x-ms-tidemark-wait: ").append(std::to_string(wait_s)).append("\r\n");
  return request_.append("\r\n");
}

const std::string& QueueRequests::remove(std::string_view id, std::string_view receipt) {
  request_.assign("DELETE ").append(path_).append("/").append(id).append("?popreceipt=");
  append_percent_encoded(request_, receipt);
  return request_.append("&").append(sas_).append(" HTTP/1.1\r\n").append(kHeaders).append("\r\n");
}

std::optional<Answer> whole_answer(std::string_view received) {
  const auto end = received.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const auto head = received.substr(0, end + 2);
  const auto begin = end + 4;
  std::size_t bytes = begin;
  if (const auto length = header(head, "Content-Length")) {
    bytes += std::strtoul(length->data(), nullptr, 10);
  } else if (header(head, "Transfer-Encoding")) {
    const auto last = received.find(kLastChunk, end);
    if (last == std::string_view::npos) return std::nullopt;
    bytes = last + kLastChunk.size();
  }
  if (received.size() < bytes) return std::nullopt;
  return Answer{std::atoi(received.data() + sizeof("HTTP/1.1")), received.substr(begin, bytes - begin), bytes};
}

std::string_view element(std::string_view xml, std::string_view name) {
  for (std::size_t at = 0; (at = xml.find(name, at)) != std::string_view::npos; at += name.size()) {
    const auto begin = at + name.size() + 1;
    if (at == 0 || xml[at - 1] != '<' || begin > xml.size() || xml[begin - 1] != '>') continue;
    return xml.substr(begin, xml.find('<', begin) - begin);
  }
  return {};
}

int connect_to(const std::string& port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("cannot connect");
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace tidemark::bench
