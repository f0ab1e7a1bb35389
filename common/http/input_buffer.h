// What a connection has received but nobody has read yet. For one thread; the owner bounds how much it receives.
#pragma once
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <cstring>
#include <memory>
#include <string_view>

namespace tidemark::http {

class InputBuffer {
 public:
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::string_view unread() const { return {bytes_.get() + begin_, end_ - begin_}; }
  void consume(std::size_t count) { begin_ += count; }

  /// Room for at least kRoom more bytes; moves the unread ones. Call received() afterwards.
  [[nodiscard]] boost::asio::mutable_buffer room() {
    const auto kept = end_ - begin_;
    if (kept == 0) begin_ = end_ = 0;
    if (capacity_ - end_ < kRoom) {
      if (capacity_ - kept < kRoom) {
        grow();
      } else {
        std::memmove(bytes_.get(), bytes_.get() + begin_, kept);
      }
      begin_ = 0;
      end_ = kept;
    }
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void received(std::size_t count) { end_ += count; }

 private:
  static constexpr std::size_t kRoom = 8192;

  void grow() {
    const auto larger = std::max(2 * capacity_, kRoom);
    auto bytes = std::make_unique_for_overwrite<char[]>(larger);
    if (!empty()) std::memcpy(bytes.get(), bytes_.get() + begin_, end_ - begin_);
    bytes_ = std::move(bytes);
    capacity_ = larger;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace tidemark::http
