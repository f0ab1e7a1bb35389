#include "blob_store/rest/structured_body.h"

#include <algorithm>

#include "blob_store/rest/crc64.h"

namespace tidemark::blob_store {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint16_t kSums = 1;  // the flag
constexpr std::size_t kHeaderBytes = 1 + 8 + 2 + 2;
constexpr std::size_t kSegmentHeaderBytes = 2 + 8;
constexpr std::size_t kSumBytes = 8;
constexpr std::uint64_t kSegmentBytes = 4UL << 20;
constexpr std::uint64_t kMostSegments = 0xFFFF;

template <std::unsigned_integral T>
T number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) number = (number << 8) | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<T>(number);
}

template <std::unsigned_integral T>
void add_number(std::string& out, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i)));
  }
}

std::unexpected<Error> malformed(std::string_view why) {
  return fail(ErrorCode::kInvalidInput, "The structured body is malformed: " + std::string(why));
}

/// Large contents have larger segments, since a message has 65,535 at most.
std::uint64_t segment_bytes(std::uint64_t content) {
  return std::max(kSegmentBytes, (content + kMostSegments - 1) / kMostSegments);
}

/// A message without content has one empty segment.
std::uint64_t segments_of(std::uint64_t content) {
  const auto size = segment_bytes(content);
  return std::max<std::uint64_t>(1, (content + size - 1) / size);
}

class StructuredSource final : public http::BodySource {
 public:
  StructuredSource(std::unique_ptr<http::BodySource> content, std::uint64_t length)
      : content_(std::move(content)), length_(length), left_(length) {}

  Task<Result<std::string>> next() override {
    std::string out;
    if (segment_ == 0) {
      add_header(out);
    } else if (segment_left_ == 0 && left_ == 0) {
      co_return out;
    }
    if (segment_left_ == 0) begin_segment(out);
    if (segment_left_ > 0) CO_TRY(co_await add_content(out));
    if (segment_left_ > 0) co_return out;
    add_number(out, segment_sum_);
    if (left_ == 0) add_number(out, sum_);
    co_return out;
  }

 private:
  void add_header(std::string& out) const {
    add_number(out, kVersion);
    add_number(out, structured_length(length_));
    add_number(out, kSums);
    add_number(out, static_cast<std::uint16_t>(segments_of(length_)));
  }
  void begin_segment(std::string& out) {
    segment_left_ = std::min(left_, segment_bytes(length_));
    segment_sum_ = 0;
    add_number(out, ++segment_);
    add_number(out, segment_left_);
  }
  Task<Result<void>> add_content(std::string& out) {
    if (piece_.empty()) piece_ = CO_TRY(co_await content_->next());
    if (piece_.empty()) co_return fail(error_for_log(ErrorCode::kInternalError, "a content is shorter than it says"));
    const auto some = std::string_view(piece_).substr(0, segment_left_);
    sum_ = crc64(some, sum_);
    segment_sum_ = crc64(some, segment_sum_);
    out += some;
    segment_left_ -= some.size();
    left_ -= some.size();
    piece_.erase(0, some.size());
    co_return Result<void>{};
  }

  const std::unique_ptr<http::BodySource> content_;
  const std::uint64_t length_;
  std::uint64_t left_, segment_left_ = 0, sum_ = 0, segment_sum_ = 0;
  std::uint16_t segment_ = 0;
  std::string piece_;  // content that was read and not sent yet
};

}  // namespace

std::size_t StructuredDecoder::size_of_part() const {
  switch (part_) {
    case Part::kHeader:
      return kHeaderBytes;
    case Part::kSegmentHeader:
      return kSegmentHeaderBytes;
    case Part::kSegmentSum:
    case Part::kSum:
      return kSumBytes;
    case Part::kContent:
    case Part::kEnd:
      break;
  }
  return 0;
}

Result<void> StructuredDecoder::take(std::string_view bytes, std::string& content) {
  taken_ += bytes.size();
  while (!bytes.empty()) {
    if (done()) return malformed("there are bytes behind its end.");
    if (part_ == Part::kContent) {
      const auto some = bytes.substr(0, left_);
      sum_ = crc64(some, sum_);
      segment_sum_ = crc64(some, segment_sum_);
      content += some;
      left_ -= some.size();
      bytes.remove_prefix(some.size());
      if (left_ == 0) part_ = Part::kSegmentSum;
      continue;
    }
    const auto some = bytes.substr(0, size_of_part() - held_.size());
    held_ += some;
    bytes.remove_prefix(some.size());
    if (held_.size() < size_of_part()) return {};
    TRY(take_part());
    held_.clear();
  }
  return !done() || taken_ == bytes_ ? Result<void>() : malformed("it does not have the length that it says.");
}

/// Takes a part that is complete, and begins the next one.
Result<void> StructuredDecoder::take_part() {
  switch (part_) {
    case Part::kHeader:
      if (number_at<std::uint8_t>(held_, 0) != kVersion) return malformed("its version is not 1.");
      bytes_ = number_at<std::uint64_t>(held_, 1);
      if (number_at<std::uint16_t>(held_, 9) != kSums) return malformed("it has no sums, or flags that are unknown.");
      segments_ = number_at<std::uint16_t>(held_, 11);
      begin_segment_or_end();
      return {};
    case Part::kSegmentHeader:
      if (number_at<std::uint16_t>(held_, 0) != ++segment_) return malformed("a segment is not the next one.");
      left_ = number_at<std::uint64_t>(held_, 2);
      segment_sum_ = 0;
      part_ = left_ == 0 ? Part::kSegmentSum : Part::kContent;
      return {};
    case Part::kSegmentSum:
      TRY(check_sum(segment_sum_));
      begin_segment_or_end();
      return {};
    case Part::kSum:
      TRY(check_sum(sum_));
      part_ = Part::kEnd;
      return {};
    case Part::kContent:
    case Part::kEnd:
      break;
  }
  return {};
}

void StructuredDecoder::begin_segment_or_end() { part_ = segment_ == segments_ ? Part::kSum : Part::kSegmentHeader; }

Result<void> StructuredDecoder::check_sum(std::uint64_t computed) const {
  return number_at<std::uint64_t>(held_, 0) == computed ? Result<void>() : fail(ErrorCode::kCrc64Mismatch);
}

/// The sums behind the last content are read together with it, so a caller that has all content knows that it is right.
Task<Result<std::string>> StructuredContent::read_some(std::size_t limit) {
  const auto needs_more = [this] { return ready_.empty() || read_ + ready_.size() == length_; };
  while (!decoder_.done() && needs_more()) {
    const auto bytes = CO_TRY(co_await body_.read_some(limit));
    if (bytes.empty()) co_return malformed("it ends too early.");
    CO_TRY(decoder_.take(bytes, ready_));
    if (read_ + ready_.size() > length_) co_return malformed("it has more content than its header says.");
  }
  const bool has_rest = body_.content_length() && body_.bytes_read() < *body_.content_length();
  if (decoder_.done() && has_rest) co_return malformed("there are bytes behind its end.");
  if (decoder_.done() && read_ + ready_.size() < length_)
    co_return malformed("it has less content than its header says.");
  auto some = ready_.substr(0, limit);
  ready_.erase(0, some.size());
  read_ += some.size();
  co_return some;
}

Task<Result<std::string>> StructuredContent::read_all(std::size_t limit) {
  if (length_ > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
  std::string whole;
  for (auto some = CO_TRY(co_await read_some(limit + 1)); !some.empty(); some = CO_TRY(co_await read_some(limit + 1))) {
    whole += some;
  }
  co_return whole;
}

std::uint64_t structured_length(std::uint64_t content) {
  return kHeaderBytes + segments_of(content) * (kSegmentHeaderBytes + kSumBytes) + content + kSumBytes;
}

std::unique_ptr<http::BodySource> structured_source(std::unique_ptr<http::BodySource> content, std::uint64_t length) {
  return std::make_unique<StructuredSource>(std::move(content), length);
}

}  // namespace tidemark::blob_store
