// Structured bodies: content in segments with sums, read and written piece by piece.
#include <gtest/gtest.h>

#include "blob_store/rest/crc64.h"
#include "blob_store/rest/structured_body.h"
#include "common/base/bytes.h"
#include "tests/support/seeded_random.h"
#include "tests/support/task_runner.h"

namespace tidemark::blob_store {
namespace {

/// Gives a text in pieces of a size.
class Pieces : public http::BodySource, public http::BodyReader {
 public:
  Pieces(std::string text, std::size_t size) : text_(std::move(text)), size_(size) {}
  Task<Result<std::string>> next() override { return read_some(size_); }
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return text_.size(); }
  Task<Result<std::string>> read_all(std::size_t) override { co_return fail(ErrorCode::kInternalError); }
  Task<Result<std::string>> read_some(std::size_t limit) override {
    auto piece = text_.substr(at_, std::min(limit, size_));
    at_ += piece.size();
    co_return piece;
  }
  [[nodiscard]] std::uint64_t bytes_read() const override { return at_; }

 private:
  const std::string text_;
  const std::size_t size_;
  std::size_t at_ = 0;
};

std::string encoded(const std::string& content, std::size_t piece = 100'000) {
  const auto source = structured_source(std::make_unique<Pieces>(content, piece), content.size());
  std::string out;
  for (auto some = *run_task(source->next()); !some.empty(); some = *run_task(source->next())) out += some;
  return out;
}

Result<std::string> decoded(const std::string& message, std::uint64_t length, std::size_t piece = 4096,
                            std::size_t limit = 1UL << 20) {
  Pieces body(message, piece);
  http::Request request;
  request.body = &body;
  StructuredContent content(request, length);
  std::string out;
  while (request.body->content_length() != request.body->bytes_read() || length == 0) {
    const auto some = TRY(run_task(request.body->read_some(limit)));
    if (some.empty()) break;
    out += some;
  }
  return out;
}

/// A message as its description has it, with segments of these contents.
std::string message(const std::vector<std::string>& segments) {
  std::string content;
  std::string body;
  ByteWriter out(body);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    out.u8(static_cast<std::uint8_t>(i + 1));
    out.u8(0);
    out.u64(segments[i].size());
    out.raw(segments[i]);
    out.u64(crc64(segments[i]));
    content += segments[i];
  }
  out.u64(crc64(content));
  std::string whole;
  ByteWriter head(whole);
  head.u8(1);
  head.u64(13 + body.size());
  head.raw(std::string_view("\1\0", 2));
  head.u8(static_cast<std::uint8_t>(segments.size()));
  head.u8(0);
  return whole + body;
}

TEST(StructuredBody, IsWrittenAsDescribed) {
  EXPECT_EQ(encoded("hello"), message({"hello"}));
  EXPECT_EQ(encoded(""), message({""}));
  EXPECT_EQ(encoded("hello").size(), structured_length(5));
}

TEST(StructuredBody, IsReadInPiecesOfAnySize) {
  const auto random = make_seeded_random(3);
  const auto content = random_bytes(*random, 300'000);
  const auto parts = message({content.substr(0, 1), content.substr(1, 149'999), "", content.substr(150'000)});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, parts.size()}) {
    EXPECT_EQ(decoded(parts, content.size(), piece), content) << piece;
  }
  EXPECT_EQ(decoded(parts, content.size(), 10'000, 3), content);
  EXPECT_EQ(decoded(message({}), 0), "");
}

TEST(StructuredBody, LargeContentHasSeveralSegments) {
  const auto random = make_seeded_random(4);
  const auto content = random_bytes(*random, (9UL << 20) + 1);
  const auto whole = encoded(content, 256UL << 10);
  EXPECT_EQ(whole.size(), structured_length(content.size()));
  EXPECT_EQ(whole[11], 3) << "of 4 MiB";
  EXPECT_EQ(decoded(whole, content.size(), 100'000), content);
}

TEST(StructuredBody, AChangedByteIsNoticed) {
  const auto good = message({"first", "second"});
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const auto read = decoded(bad, 11, 5);
    EXPECT_TRUE(read.failed_with(ErrorCode::kInvalidInput) || read.failed_with(ErrorCode::kCrc64Mismatch)) << at;
  }
}

TEST(StructuredBody, AWrongLengthIsNoticed) {
  const auto good = message({"first", "second"});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(decoded(good.substr(0, size), 11).failed_with(ErrorCode::kInvalidInput)) << size;
  }
  EXPECT_TRUE(decoded(good + "x", 11).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(decoded(good, 10).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(decoded(good, 12).failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::blob_store
