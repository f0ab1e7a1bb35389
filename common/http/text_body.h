// Bodies that are in memory already.
#pragma once
#include <string>
#include <utility>

#include "common/http/http.h"

namespace tidemark::http {

class TextBody final : public BodyReader {
 public:
  explicit TextBody(std::string text) : size_(text.size()), declared_(size_), left_(std::move(text)) {}
  /// `declared`: the length that the sender had declared.
  TextBody(std::string text, std::optional<std::uint64_t> declared)
      : size_(text.size()), declared_(declared), left_(std::move(text)) {}
  [[nodiscard]] std::string_view left() const { return left_; }

  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return declared_; }
  Task<Result<std::string>> read_all(std::size_t limit) override {
    if (size_ > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
    co_return std::exchange(left_, {});
  }
  Task<Result<std::string>> read_some(std::size_t limit) override {
    auto piece = left_.substr(0, limit);
    left_.erase(0, piece.size());
    co_return piece;
  }
  [[nodiscard]] std::uint64_t bytes_read() const override { return size_ - left_.size(); }

 private:
  const std::size_t size_;
  const std::optional<std::uint64_t> declared_;
  std::string left_;
};

}  // namespace tidemark::http
