// Azure Queue REST over one kept-alive socket.
#include <sys/socket.h>
#include <unistd.h>

#include "bench/clients/queue_rest.h"

namespace tidemark::bench {
namespace {

class TidemarkQueue final : public MessageQueue {
 public:
  explicit TidemarkQueue(const Target& target) : requests_(target), socket_(connect_to(target.port)) {}
  ~TidemarkQueue() override { ::close(socket_); }
  TidemarkQueue(const TidemarkQueue&) = delete;
  TidemarkQueue& operator=(const TidemarkQueue&) = delete;

  void put(std::string_view text) override { exchange(requests_.put(text), 201); }

  std::optional<std::string> take(int wait_s) override {
    const auto body = exchange(requests_.take(wait_s), 200);
    id_ = element(body, "MessageId");
    if (id_.empty()) return std::nullopt;
    receipt_ = element(body, "PopReceipt");
    return std::string(element(body, "MessageText"));
  }

  void remove() override { exchange(requests_.remove(id_, receipt_), 204); }

 private:
  /// Sends a request and returns the body of the answer, valid until the next exchange.
  std::string_view exchange(std::string_view request, int expected) {
    while (!request.empty()) {
      const auto sent = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
      if (sent <= 0) fail("cannot send");
      request.remove_prefix(static_cast<std::size_t>(sent));
    }
    received_.clear();
    for (;;) {
      char buffer[16384];
      const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) fail("the connection ended");
      received_.append(buffer, static_cast<std::size_t>(got));
      const auto answer = whole_answer(received_);
      if (!answer) continue;
      if (answer->status != expected) fail("answered " + std::to_string(answer->status));
      return answer->body;
    }
  }

  QueueRequests requests_;
  int socket_ = -1;
  std::string received_, id_, receipt_;
};

}  // namespace

std::unique_ptr<MessageQueue> connect_tidemark(const Target& target) { return std::make_unique<TidemarkQueue>(target); }

}  // namespace tidemark::bench
