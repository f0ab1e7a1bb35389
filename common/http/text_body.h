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

/// For code that must read a request's body to see where the request belongs: until put_back(), the text takes the
/// body's place, so that it can be read again.
class BodyReadBefore {
 public:
  explicit BodyReadBefore(Request& request) : request_(request), body_(request.body) {}
  BodyReadBefore(const BodyReadBefore&) = delete;
  BodyReadBefore& operator=(const BodyReadBefore&) = delete;

  /// Call it explicitly; a destructor would be too late, since at shutdown a request's frames may end after the
  /// request.
  void put_back() { request_.body = body_; }
  /// Reads the whole body, once. kRequestBodyTooLarge.
  Task<Result<std::string_view>> read(std::size_t limit) {
    auto text = co_await body_->read_all(limit);
    if (!text) co_return fail(std::move(text.error()));
    request_.body = &text_.emplace(std::move(*text));
    co_return text_->left();
  }

 private:
  Request& request_;
  BodyReader* const body_;
  std::optional<TextBody> text_;
};

}  // namespace tidemark::http
