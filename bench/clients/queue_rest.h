// The part of the Azure Queue REST protocol that the benchmark speaks: requests as text, and the parts of the answers
// that it needs, read by the protocol's rules: a status, a length or chunks, and the elements of a message.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "bench/clients/message_queue.h"

namespace tidemark::bench {

/// The requests of one connection. A request is valid until the next is made.
class QueueRequests {
 public:
  explicit QueueRequests(const Target& target);
  const std::string& put(std::string_view text);
  const std::string& take(int wait_s);
  const std::string& remove(std::string_view id, std::string_view receipt);

 private:
  std::string path_, sas_, delay_, request_;
};

struct Answer {
  int status = 0;
  std::string_view body;
  std::size_t bytes = 0;  // including the head
};

/// Returns the answer at the beginning of the received bytes, if it is complete.
std::optional<Answer> whole_answer(std::string_view received);
/// Returns the text of the first element of this name; empty if there is none.
std::string_view element(std::string_view xml, std::string_view name);
/// Returns a socket that is connected to loopback, without Nagle's delay.
int connect_to(const std::string& port);

}  // namespace tidemark::bench
