// Block lists, ranges, conditions and names, as tables.
#include <gtest/gtest.h>

#include "blob_store/model/block_list.h"
#include "blob_store/model/byte_range.h"
#include "blob_store/model/conditions.h"
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_records.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

TEST(BlobModel, BlockListSemantics) {
  const std::vector<Extent> committed{{0, 10, 1, 0, "A"}, {10, 20, 2, 0, "B"}};
  const StagedBlocks staged{{"B", {3, 30}}, {"C", {4, 40}}};
  using enum BlockSource;
  struct Case {
    std::vector<BlockChoice> choices;
    std::optional<std::vector<std::uint64_t>> payloads;  // absent: refused
    std::vector<std::uint64_t> shared;
    std::set<std::uint64_t> left_out;
  };
  const Case cases[] = {
      {{}, {{}}, {}, {3, 4}},
      {{{kLatest, "A"}}, {{1}}, {1}, {3, 4}},
      {{{kLatest, "B"}}, {{3}}, {}, {4}},
      {{{kCommitted, "B"}}, {{2}}, {2}, {3, 4}},
      {{{kUncommitted, "B"}}, {{3}}, {}, {4}},
      {{{kUncommitted, "C"}, {kCommitted, "A"}, {kLatest, "C"}}, {{4, 1, 4}}, {1, 4}, {3}},
      {{{kUncommitted, "A"}}, std::nullopt, {}, {}},
      {{{kCommitted, "C"}}, std::nullopt, {}, {}},
      {{{kLatest, "A"}, {kLatest, "D"}}, std::nullopt, {}, {}},
  };
  for (const auto& c : cases) {
    const auto resolved = resolve_block_list(c.choices, committed, staged);
    if (!c.payloads) {
      EXPECT_TRUE(resolved.failed_with(ErrorCode::kInvalidBlockList));
      continue;
    }
    ASSERT_TRUE(resolved);
    std::vector<std::uint64_t> payloads;
    for (const auto& extent : resolved->extents) payloads.push_back(extent.payload);
    EXPECT_EQ(payloads, *c.payloads);
    EXPECT_EQ(resolved->shared, c.shared);
    EXPECT_EQ(resolved->left_out, c.left_out);
    std::uint64_t end = 0;
    for (const auto& extent : resolved->extents) EXPECT_EQ(extent.start, std::exchange(end, end + extent.size));
    EXPECT_EQ(resolved->size, end);
  }
}

TEST(BlobModel, Ranges) {
  const auto range = [](std::string_view text, std::uint64_t size) {
    const auto parsed = parse_range(text, size);
    if (!parsed) return std::string("416");
    if (!*parsed) return std::string("whole");
    return std::to_string((*parsed)->offset) + "+" + std::to_string((*parsed)->length);
  };
  EXPECT_EQ(range("bytes=0-", 10), "0+10");
  EXPECT_EQ(range("bytes=2-4", 10), "2+3");
  EXPECT_EQ(range("bytes=9-99", 10), "9+1");
  EXPECT_EQ(range("bytes=10-", 10), "416");
  EXPECT_EQ(range("bytes=0-", 0), "416");
  const std::string endless(23, '9');
  EXPECT_EQ(range("bytes=" + endless + "-", 10), "416");
  EXPECT_EQ(range("bytes=2-" + endless, 10), "2+8");
  for (const auto* ignored : {"", "bytes=-5", "bytes=5-2", "bytes=0-1,3-4", "items=0-1", "bytes=x-", "bytes=1"}) {
    EXPECT_EQ(range(ignored, 10), "whole") << ignored;
  }
}

TEST(BlobModel, ALeaseIsKnownByItsGuidWithBracesOrWithout) {
  const std::string id = "12345678-1234-1234-1234-123456789012";
  const Time now{std::chrono::hours(1)};
  for (const auto& [taken, used] : {std::pair("{" + id + "}", id), {id, "{" + id + "}"}}) {
    Lease lease;
    const auto does = [&](LeaseAction action, const std::string& with) {
      return act(lease, {action, with, with, -1, {}}, now).has_value();
    };
    ASSERT_TRUE(does(LeaseAction::kAcquire, taken));
    EXPECT_TRUE(check_lease_of_write(lease, used, now, Leased::kBlob));
    EXPECT_TRUE(check_lease_of_read(lease, used, now, Leased::kBlob));
    for (const auto action : {LeaseAction::kAcquire, LeaseAction::kRenew, LeaseAction::kRelease}) {
      EXPECT_TRUE(does(action, used));
    }
  }
}

TEST(BlobModel, ASnapshotIsNamedExactly) {
  const auto version = Stamp::at(Time(std::chrono::seconds(1'700'000'000) + Ticks(5)));
  EXPECT_EQ(version.snapshot(), "2023-11-14T22:13:20.0000005Z");
  for (const auto* const text : {"2023-11-14T22:13:20.0000005Z", "2023-11-14T22:13:20.0000005+00:00"}) {
    EXPECT_EQ(Stamp::parse_snapshot(text), version) << text;
  }
  for (const auto* const text : {"2023-11-14T22:13:20.00000050Z", "2023-11-14T22:13:20.00000051"}) {
    EXPECT_FALSE(Stamp::parse_snapshot(text)) << text;
  }
}

TEST(BlobModel, Conditions) {
  const auto version = Stamp::at(Time(std::chrono::seconds(1'700'000'000) + Ticks(5)));
  Conditions none;
  EXPECT_TRUE(check_read(none, version));
  Conditions match{parse_etags("\"0x1\", \"" + version.etag() + "\""), {}, {}, {}};
  EXPECT_TRUE(check_read(match, version));
  EXPECT_TRUE(check_write(match, &version, true));
  EXPECT_TRUE(check_write(match, nullptr, true).failed_with(ErrorCode::kConditionNotMet));
  // An empty tag is a tag, which no blob has; an empty text is no condition.
  for (const auto* const unmet : {"\"\"", "W/\"\"", "\"\", \"0x1\"", ","}) {
    Conditions nobody{parse_etags(unmet), {}, {}, {}};
    EXPECT_TRUE(check_read(nobody, version).failed_with(ErrorCode::kConditionNotMet)) << unmet;
    EXPECT_TRUE(check_write(nobody, &version, true).failed_with(ErrorCode::kConditionNotMet)) << unmet;
    Conditions not_nobody{{}, parse_etags(unmet), {}, {}};
    EXPECT_TRUE(check_read(not_nobody, version)) << unmet;
  }
  EXPECT_TRUE(parse_etags("").empty());
  Conditions star{{}, {"*"}, {}, {}};
  EXPECT_TRUE(check_write(star, nullptr, true));
  EXPECT_TRUE(check_write(star, &version, true).failed_with(ErrorCode::kBlobAlreadyExists));
  EXPECT_TRUE(check_write(star, &version, false).failed_with(ErrorCode::kConditionNotMet));
  EXPECT_TRUE(check_read(star, version).failed_with(ErrorCode::kUnsatisfiableCondition));
  Conditions unchanged{{}, {version.etag()}, {}, {}};
  EXPECT_TRUE(check_read(unchanged, version).failed_with(ErrorCode::kNotModified));
  Conditions since{{}, {}, Time(std::chrono::seconds(1'700'000'000)), {}};
  EXPECT_TRUE(check_read(since, version).failed_with(ErrorCode::kNotModified));
  Conditions until{{}, {}, {}, Time(std::chrono::seconds(1'700'000'000))};
  EXPECT_TRUE(check_read(until, version));
  until.if_unmodified_since = Time(std::chrono::seconds(1'699'999'999));
  EXPECT_TRUE(check_read(until, version).failed_with(ErrorCode::kConditionNotMet));
}

TEST(BlobModel, WhoMayOnlyCreateDoesNotOverwrite) {
  Conditions creator;
  creator.only_creates = true;
  std::optional<Blob> nothing, blob(std::in_place);
  EXPECT_TRUE(admit_write(creator, nothing, true, {}));
  EXPECT_TRUE(admit_write(creator, blob, true, {}).failed_with(ErrorCode::kUnauthorizedBlobOverwrite));
  creator.if_none_match = {"*"};
  EXPECT_TRUE(admit_write(creator, blob, true, {}).failed_with(ErrorCode::kBlobAlreadyExists));
}

TEST(BlobModel, ALeaseIdIsAGuidInAnyForm) {
  const std::string id = "01234567-89ab-cdef-0123-456789abcdef";
  for (const auto* form : {"01234567-89ab-cdef-0123-456789abcdef", "01234567-89AB-CDEF-0123-456789ABCDEF",
                           "0123456789abcdef0123456789abcdef", "{01234567-89ab-cdef-0123-456789abcdef}",
                           "(01234567-89ab-cdef-0123-456789abcdef)"}) {
    EXPECT_EQ(parse_lease_id(form), id) << form;
  }
  for (const auto* form :
       {"", "{", "{}", "mine", "{01234567-89ab-cdef-0123-456789abcdef)", "{0123456789abcdef0123456789abcdef}",
        "01234567-89ab-cdef-0123-456789abcdeg", "01234567-89ab-cdef-0123-456789abcde",
        "0123456789abcdef0123456-89abcdef", "01234567089ab-cdef-0123-456789abcdef"}) {
    EXPECT_FALSE(parse_lease_id(form)) << form;
  }
}

TEST(BlobModel, NamesAndMetadata) {
  for (const auto* good : {"abc", "a-b-c", "$root", "123"}) EXPECT_TRUE(check_container_name(good)) << good;
  for (const auto* bad : {"ab", "-ab", "ab-", "a--b", "Abc", "a_b", "$other"}) EXPECT_FALSE(check_container_name(bad));
  EXPECT_TRUE(check_metadata({{"a_1", "x"}}));
  EXPECT_TRUE(check_metadata({{"a", "x"}, {"A", "y"}}).failed_with(ErrorCode::kInvalidMetadata));
  EXPECT_TRUE(check_metadata({{"", "x"}}).failed_with(ErrorCode::kEmptyMetadataKey));
  EXPECT_TRUE(check_metadata({{"a", std::string(9000, 'x')}}).failed_with(ErrorCode::kMetadataTooLarge));
}

TEST(BlobModel, ContentHeadersAreThoseThatAnAnswerCanHave) {
  ContentHeaders good{"text/plain; charset=\"a\tb\"", "", "caf\xC3\xA9", "latin \xE9", "no-cache", ""};
  EXPECT_TRUE(check_content_headers(good));
  for (auto header : {&ContentHeaders::type, &ContentHeaders::encoding, &ContentHeaders::language,
                      &ContentHeaders::disposition, &ContentHeaders::cache_control, &ContentHeaders::md5}) {
    for (const std::string bad : {"text/\x01plain", "a\r\nX-Injected: 1", "a\nb", " a", "a\t", "a\x7F", "\x1F"}) {
      auto headers = good;
      headers.*header = bad;
      EXPECT_TRUE(check_content_headers(headers).failed_with(ErrorCode::kInvalidHeaderValue)) << bad;
    }
  }
  good.type = std::string("a\0b", 3);
  EXPECT_EQ(check_content_headers(good).error().fields,
            (std::vector<std::pair<std::string, std::string>>{{"HeaderName", "Content-Type"},
                                                              {"HeaderValue", std::string("a\0b", 3)}}));
}

TEST(BlobModel, StoredBytesStayAsTheyAre) {
  Container container;
  container.generation = 300;
  container.version.ticks = 77;
  container.metadata = {{"k", "v"}};
  container.public_access = "blob";
  container.policies = {{"a", "2024-01-01", std::nullopt, "rw"}};
  EXPECT_EQ(hex_encode(records::kContainer.encode(container)),
            "02ac024d0000000000000001016b017604626c6f62010161010a323032342d30312d30310001027277000000000000000000000000"
            "000000000000");
  Blob blob;
  blob.version.ticks = 5;
  blob.created.ticks = 4;
  blob.size = 1000;
  blob.headers = {"t", "e", "l", "d", "c", "m"};
  blob.metadata = {{"q", "w"}};
  blob.source_version = -9;
  EXPECT_EQ(hex_encode(records::kBlob.encode(blob)),
            "020005000000000000000400000000000000e80700000001740165016c01640163016d0101710177"
            "01000000000000000000000000000000000000000000000000000000000000000001f7ffffffffffffff");
  EXPECT_EQ(hex_encode(records::kExtent.encode(Extent{0, 300, 5, 6, "id"})), "02ac020506026964");
  EXPECT_EQ(hex_encode(records::kStagedBlock.encode(StagedBlock{7, 8})), "020708");
  EXPECT_EQ(hex_encode(records::kStagedSummary.encode(records::StagedSummary{9, 10, Time(Ticks(123456))})),
            "02090a40e2010000000000");
}

}  // namespace
}  // namespace tidemark::blob_store
