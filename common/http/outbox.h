// Holds the answers of one I/O thread until they are sent together, once everything that was ready with them has been
// handled. A client that waits for several answers is then woken once and finds all of them. If they were sent one by
// one, each would wake the client and let it take the processor from this thread; that caused four of five context
// switches and cost a sixth of the time of a small read. An answer waits for kLongestWait at most, plus the request
// that is being handled at that moment. For one thread.
#pragma once
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string_view>
#include <vector>

#include "common/base/async.h"
#include "common/http/patience.h"

namespace tidemark::http {

using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

class Outbox {
 public:
  static constexpr auto kLongestWait = std::chrono::microseconds(500);

  explicit Outbox(asio::io_context& io) : io_(io) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Sends as much of `first` and `second` as the socket takes without waiting, and removes it from the views. False if
  /// the connection is gone. The memory behind the views must stay until the caller is resumed.
  Task<bool> send(Socket& socket, std::string_view& first, std::string_view& second);

 private:
  struct Answer {
    Socket* socket;
    std::string_view* first;
    std::string_view* second;
    asio::any_completion_handler<void(bool)> done;
    bool alive = false;
  };

  void add(Answer answer);
  void send_all();
  void finish_round();

  asio::io_context& io_;
  std::vector<Answer> answers_;  // of the current round
  std::size_t sent_ = 0;         // the number of them that were sent, from the front
  SteadyTime oldest_;            // when the first unsent answer was added
  std::vector<Answer> finished_;
};

}  // namespace tidemark::http
