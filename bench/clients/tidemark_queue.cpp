// Azure Queue REST over one kept-alive socket. The answers are read by what the protocol promises of them: a status, a
// Content-Length, and the three elements of a message.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "bench/clients/message_queue.h"

namespace tidemark::bench {
namespace {

constexpr std::string_view kHeaders = "Host: 127.0.0.1\r\nx-ms-version: 2021-12-02\r\n";

std::string percent_encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

std::string_view element(std::string_view xml, std::string_view name) {
  const auto open = xml.find("<" + std::string(name) + ">");
  if (open == std::string_view::npos) return {};
  const auto begin = open + name.size() + 2;
  return xml.substr(begin, xml.find('<', begin) - begin);
}

struct Answer {
  int status = 0;
  std::string_view body;  // valid until the next request
};

class TidemarkQueue final : public MessageQueue {
 public:
  explicit TidemarkQueue(const Target& target)
      : path_("/devstoreaccount1/" + target.queue + "/messages"),
        sas_(target.sas),
        delay_(target.delay_s > 0 ? "visibilitytimeout=" + std::to_string(target.delay_s) + "&" : "") {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(target.port.c_str())));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("cannot connect");
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~TidemarkQueue() override { ::close(socket_); }
  TidemarkQueue(const TidemarkQueue&) = delete;
  TidemarkQueue& operator=(const TidemarkQueue&) = delete;

  void put(std::string_view text) override {
    std::string body = "<QueueMessage><MessageText>";
    body += text;
    body += "</MessageText></QueueMessage>";
    request_ = "POST " + path_ + "?" + delay_ + sas_ + " HTTP/1.1\r\n";
    request_ += kHeaders;
    request_ += "Content-Type: application/xml\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    const Answer answer = exchange();
    if (answer.status != 201) fail("put answered " + std::to_string(answer.status));
  }

  std::optional<std::string> take(int wait_s) override {
    request_ = "GET " + path_ + "?visibilitytimeout=3600&" + sas_ + " HTTP/1.1\r\n";
    request_ += kHeaders;
    if (wait_s > 0) request_ += "x-ms-tidemark-wait: " + std::to_string(wait_s) + "\r\n";
    request_ += "\r\n";
    const Answer answer = exchange();
    if (answer.status != 200) fail("get answered " + std::to_string(answer.status));
    id_ = element(answer.body, "MessageId");
    if (id_.empty()) return std::nullopt;
    receipt_ = percent_encoded(element(answer.body, "PopReceipt"));
    return std::string(element(answer.body, "MessageText"));
  }

  void remove() override {
    request_ = "DELETE " + path_ + "/" + id_ + "?popreceipt=" + receipt_ + "&" + sas_ + " HTTP/1.1\r\n";
    request_ += kHeaders;
    request_ += "\r\n";
    const Answer answer = exchange();
    if (answer.status != 204) fail("delete answered " + std::to_string(answer.status));
  }

 private:
  Answer exchange() {
    for (std::string_view rest = request_; !rest.empty();) {
      const auto sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) fail("cannot send");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    received_.clear();
    std::size_t head = std::string::npos;
    while ((head = received_.find("\r\n\r\n")) == std::string::npos) receive();
    head += 4;
    const std::size_t length = content_length(std::string_view(received_).substr(0, head));
    while (received_.size() < head + length) receive();
    return {.status = std::atoi(received_.c_str() + 9), .body = std::string_view(received_).substr(head, length)};
  }

  static std::size_t content_length(std::string_view head) {
    constexpr std::string_view kName = "\r\nContent-Length:";
    for (std::size_t at = 0; (at = head.find("\r\nC", at)) != std::string_view::npos; ++at) {
      if (head.size() - at > kName.size() && ::strncasecmp(head.data() + at, kName.data(), kName.size()) == 0) {
        return std::strtoul(head.data() + at + kName.size(), nullptr, 10);
      }
    }
    return 0;
  }

  void receive() {
    char buffer[16384];
    const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got <= 0) fail("the connection ended");
    received_.append(buffer, static_cast<std::size_t>(got));
  }

  std::string path_;
  std::string sas_;
  std::string delay_;
  int socket_ = -1;
  std::string request_;
  std::string received_;
  std::string id_;
  std::string receipt_;
};

}  // namespace

std::unique_ptr<MessageQueue> connect_tidemark(const Target& target) { return std::make_unique<TidemarkQueue>(target); }

}  // namespace tidemark::bench
