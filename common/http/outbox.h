// The answers of one I/O thread that are ready to be sent. They leave together, once all that was ready with them has
// been handled: a client that waits for several of them is woken once and finds them all. Sent one by one, each wakes
// it and lets it push this thread off the processor for one answer alone; that was four context switches of five, and a
// sixth of the time of a small read. An answer waits kLongestWait, and for what is being handled then, at most. One
// thread.
#pragma once
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string_view>
#include <vector>

#include "common/base/async.h"

namespace tidemark::http {

using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;
using SteadyTime = std::chrono::steady_clock::time_point;

class Outbox {
 public:
  static constexpr auto kLongestWait = std::chrono::microseconds(500);

  explicit Outbox(asio::io_context& io) : io_(io) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Sends `first` and `second` as far as the socket takes them without waiting, and shortens the views by that. False
  /// if the connection is gone. What is referred to stays until the caller is resumed.
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
  std::vector<Answer> answers_;  // of this round
  std::size_t sent_ = 0;         // of them, from the front
  SteadyTime oldest_;            // since when the first one that is not sent waits
  std::vector<Answer> finished_;
};

}  // namespace tidemark::http
