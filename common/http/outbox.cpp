#include "common/http/outbox.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>

namespace tidemark::http {
namespace {

bool send_now(Socket& socket, std::string_view& first, std::string_view& second) {
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(first.data(), first.size()),
                                                  asio::buffer(second.data(), second.size())};
  boost::system::error_code error;
  const auto sent = socket.write_some(buffers, error);
  if (error && error != asio::error::would_block) return false;
  const auto of_first = std::min(sent, first.size());
  first.remove_prefix(of_first);
  second.remove_prefix(sent - of_first);
  return true;
}

}  // namespace

Task<bool> Outbox::send(Socket& socket, std::string_view& first, std::string_view& second) {
  auto initiate = [this, &socket, &first, &second](auto done) { add({&socket, &first, &second, std::move(done)}); };
  return asio::async_initiate<decltype(asio::use_awaitable), void(bool)>(initiate, asio::use_awaitable);
}

void Outbox::add(Answer answer) {
  const auto now = std::chrono::steady_clock::now();
  // Runs after everything that is ready now.
  if (answers_.empty()) asio::post(io_, [this] { finish_round(); });
  if (answers_.size() == sent_) oldest_ = now;
  answers_.push_back(std::move(answer));
  if (now - oldest_ >= kLongestWait) send_all();
}

void Outbox::send_all() {
  for (; sent_ < answers_.size(); ++sent_) {
    auto& answer = answers_[sent_];
    answer.alive = send_now(*answer.socket, *answer.first, *answer.second);
  }
}

void Outbox::finish_round() {
  send_all();
  sent_ = 0;
  // A resumed coroutine may have the next request already, and add its answer to the next round.
  finished_.swap(answers_);
  for (auto& answer : finished_) std::move(answer.done)(answer.alive);
  finished_.clear();
}

}  // namespace tidemark::http
