// Reads server-sent events from a stream that comes in pieces. Pure.
#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace tidemark::cli {

class EventReader {
 public:
  using Each = std::function<void(std::string_view event, std::string_view data)>;

  explicit EventReader(Each each) : each_(std::move(each)) {}
  void read(std::string_view piece) {
    text_ += piece;
    std::size_t begin = 0;
    for (auto end = text_.find("\n\n"); end != std::string::npos; end = text_.find("\n\n", begin)) {
      tell(std::string_view(text_).substr(begin, end - begin));
      begin = end + 2;
    }
    text_.erase(0, begin);
  }

 private:
  void tell(std::string_view block) {
    std::string_view event, data;
    while (!block.empty()) {
      const auto line = block.substr(0, block.find('\n'));
      block.remove_prefix(std::min(line.size() + 1, block.size()));
      if (line.starts_with("event: ")) event = line.substr(7);
      if (line.starts_with("data: ")) data = line.substr(6);
    }
    if (!event.empty()) each_(event, data);
  }

  Each each_;
  std::string text_;
};

}  // namespace tidemark::cli
