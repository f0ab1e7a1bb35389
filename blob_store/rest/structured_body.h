// Structured bodies, XSM/1.0: the content in segments, each followed by its CRC-64, and the CRC-64 of everything at the
// end. The SDKs send and ask for them when they are told to check transfers by CRC-64. All numbers are little-endian:
//   message   1 | u64 bytes of the whole message | u16 flags | u16 number of segments | segments | u64 sum of the content
//   segment   u16 its number, from 1 | u64 bytes of its content | content | u64 sum of that
// The only flag is 1: there are sums. Errors: kInvalidInput if the form is wrong, kCrc64Mismatch.
// https://github.com/Azure/azure-sdk-for-net, sdk/storage/Azure.Storage.Common/src/Shared/StructuredMessage.cs
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/http/http.h"

namespace tidemark::blob_store {

inline constexpr std::string_view kStructuredBody = "x-ms-structured-body";
inline constexpr std::string_view kStructuredLength = "x-ms-structured-content-length";
inline constexpr std::string_view kStructuredForm = "XSM/1.0; properties=crc64";

/// Takes a message piece by piece, and gives its content. Pure.
class StructuredDecoder {
 public:
  /// Takes the next bytes of the message, and adds the content in them to `content`.
  Result<void> take(std::string_view bytes, std::string& content);
  /// Tells whether the message is complete.
  [[nodiscard]] bool done() const { return part_ == Part::kEnd; }

 private:
  enum class Part { kHeader, kSegmentHeader, kContent, kSegmentSum, kSum, kEnd };
  [[nodiscard]] std::size_t size_of_part() const;
  Result<void> take_part();
  Result<void> check_sum(std::uint64_t computed) const;
  void begin_segment_or_end();

  Part part_ = Part::kHeader;
  std::string held_;  // the beginning of a part that is not content
  std::uint64_t bytes_ = 0, taken_ = 0, left_ = 0, sum_ = 0, segment_sum_ = 0;
  std::uint16_t segments_ = 0, segment_ = 0;
};

/// The content of a structured body, in place of the request's body while it lives.
class StructuredContent final : public http::BodyReader {
 public:
  /// `length`: the declared length of the content. The request must outlive it.
  StructuredContent(http::Request& request, std::uint64_t length)
      : request_(request), body_(*request.body), length_(length) {
    request.body = this;
  }
  StructuredContent(const StructuredContent&) = delete;
  StructuredContent& operator=(const StructuredContent&) = delete;
  ~StructuredContent() override { request_.body = &body_; }

  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return length_; }
  Task<Result<std::string>> read_all(std::size_t limit) override;
  Task<Result<std::string>> read_some(std::size_t limit) override;
  [[nodiscard]] std::uint64_t bytes_read() const override { return read_; }

 private:
  http::Request& request_;
  http::BodyReader& body_;
  const std::uint64_t length_;
  StructuredDecoder decoder_;
  std::string ready_;  // content that was not asked for yet
  std::uint64_t read_ = 0;
};

/// Returns the length of the message for a content of this length.
std::uint64_t structured_length(std::uint64_t content);
/// Makes the message for a content of this length, which the source gives piece by piece.
std::unique_ptr<http::BodySource> structured_source(std::unique_ptr<http::BodySource> content, std::uint64_t length);

}  // namespace tidemark::blob_store
