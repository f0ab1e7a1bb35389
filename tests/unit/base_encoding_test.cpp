#include <gtest/gtest.h>

#include "common/base/bytes.h"
#include "common/base/encoding.h"
#include "common/base/error.h"
#include "common/base/query.h"
#include "common/base/text.h"
#include "tests/support/seeded_random.h"

namespace tidemark {
namespace {

TEST(Encoding, RoundTripsAnyBytes) {
  auto random = make_seeded_random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto bytes = random_bytes(*random, random->below(101));
    ASSERT_EQ(base64_decode(base64_encode(bytes)), bytes);
    ASSERT_EQ(hex_decode(hex_encode(bytes)), bytes);
    ASSERT_EQ(percent_decode(percent_encode(bytes), true), bytes);
  }
}

TEST(Encoding, Base64IsStrict) {
  EXPECT_EQ(base64_encode("f"), "Zg==");
  for (const auto* text : {"Z", "Zg", "Zg=", "Zg==\n", "Z===", "Zm9v!A==", " Zg=="})
    EXPECT_FALSE(base64_decode(text)) << text;
}

TEST(Encoding, PercentDecoding) {
  EXPECT_EQ(percent_decode("a+b%20c", true), "a b c");
  EXPECT_EQ(percent_decode("a+b%2B", false), "a+b+");
  for (const auto* text : {"%", "%2", "%zz", "a%"}) EXPECT_FALSE(percent_decode(text, false)) << text;
}

TEST(Encoding, KnownDigests) {
  EXPECT_EQ(hex_encode(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_encode(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex_encode(hmac_sha256("key", "The quick brown fox jumps over the lazy dog")),
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
}

TEST(Encoding, Utf8) {
  EXPECT_TRUE(is_valid_utf8("héllo 日本 😀"));
  for (const auto* text : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80", "\xF0\x80\x80\x80"}) {
    EXPECT_FALSE(is_valid_utf8(text));
  }
  EXPECT_EQ(utf16_length("aé日😀"), 5U);
  for (std::size_t bytes = 0; bytes < 12; ++bytes) EXPECT_TRUE(is_valid_utf8(beginning_of("aé日😀", bytes))) << bytes;
  EXPECT_EQ(beginning_of("aé日😀", 5), "aé");
  EXPECT_EQ(beginning_of("aé日😀", 6), "aé日");
  EXPECT_EQ(beginning_of("aé日😀", 99), "aé日😀");
}

TEST(Bytes, ReadsWhatWasWrittenAndSurvivesAnyTruncation) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(7);
  out.varint(300);
  out.i64(-5);
  out.f64(1.5);
  out.string("text");
  out.boolean(true);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    ByteReader in(std::string_view(bytes).substr(0, length));
    const auto a = in.u8();
    const auto b = in.varint();
    const auto c = in.i64();
    const auto d = in.f64();
    const auto e = in.string();
    const auto f = in.boolean();
    EXPECT_EQ(in.finished(), length == bytes.size());
    if (length == bytes.size()) {
      EXPECT_EQ(a, 7);
      EXPECT_EQ(b, 300U);
      EXPECT_EQ(c, -5);
      EXPECT_EQ(d, 1.5);
      EXPECT_EQ(e, "text");
      EXPECT_TRUE(f);
    }
  }
}

TEST(Bytes, AnEndlessVarintIsRefused) {
  ByteReader in(std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 11));
  in.varint();
  EXPECT_FALSE(in.ok());
}

TEST(ErrorCodes, EveryNumberNamesItsCodeAndHasAnHttpStatus) {
  int known = 0;
  for (std::uint32_t number = 0; number <= 65535; ++number) {
    const auto code = error_code_from_number(static_cast<std::uint16_t>(number));
    if (!code) continue;
    ++known;
    EXPECT_EQ(static_cast<std::uint32_t>(*code), number);
    EXPECT_GE(http_status_of(*code), 300U);
    EXPECT_LT(http_status_of(*code), 600U);
    EXPECT_FALSE(azure_name_of(*code).empty());
    EXPECT_FALSE(default_message_of(*code).empty());
  }
  EXPECT_GT(known, 80);
}

TEST(Random, GuidsHaveTheirForm) {
  auto random = make_system_random();
  for (int i = 0; i < 100; ++i) {
    const auto guid = random->guid();
    ASSERT_EQ(guid.size(), 36U);
    EXPECT_EQ(guid[14], '4');
    EXPECT_NE(std::string("89ab").find(guid[19]), std::string::npos);
  }
}

TEST(QueryParameters, DecodesWhatIsEscapedAndPointsAtTheRest) {
  const std::string raw = "a=1%20b&c&d=x+y&&e=&sig=a+b%2Bc&%41+=%2f";
  auto parsed = QueryParameters::parse(raw);
  ASSERT_TRUE(parsed);
  const auto moved = std::move(*parsed);  // views stay as they are
  const std::vector<QueryParameters::Parameter> expected{{"a", "1 b"}, {"c", ""},        {"d", "x y"},
                                                         {"e", ""},    {"sig", "a+b+c"}, {"A ", "/"}};
  EXPECT_TRUE(std::equal(moved.begin(), moved.end(), expected.begin(), expected.end()));
  EXPECT_EQ(moved.find("d"), "x y");
  EXPECT_FALSE(moved.find("D"));
}

TEST(QueryParameters, RefusesBrokenEscapesAndTooMany) {
  EXPECT_FALSE(QueryParameters::parse("a=%zz"));
  EXPECT_FALSE(QueryParameters::parse("a=%2"));
  EXPECT_FALSE(QueryParameters::parse("%=1"));
  std::string many = "a";
  for (int i = 1; i < 100; ++i) many += "&a";
  EXPECT_TRUE(QueryParameters::parse(many));
  EXPECT_FALSE(QueryParameters::parse(many + "&a"));
  EXPECT_TRUE(QueryParameters::parse(""));
}

TEST(Encoding, Utf8AndItsLengthDoNotDependOnWhereAWordEnds) {
  for (std::size_t before = 0; before < 20; ++before) {
    const std::string ascii(before, 'a');
    EXPECT_TRUE(is_valid_utf8(ascii));
    EXPECT_EQ(utf16_length(ascii), before);
    const auto mixed = ascii + "\xC3\xA9\xF0\x9F\x98\x80" + ascii;
    EXPECT_TRUE(is_valid_utf8(mixed));
    EXPECT_EQ(utf16_length(mixed), 2 * before + 3);
    EXPECT_FALSE(is_valid_utf8(ascii + "\xC3" + ascii));
    EXPECT_FALSE(is_valid_utf8(ascii + "\xFF"));
  }
}

TEST(Query, AUrlIsToldWithoutItsSignature) {
  EXPECT_EQ(without_signature("/a/c/b"), "/a/c/b");
  EXPECT_EQ(without_signature("/a/c/b?sv=1&sig=secret%3D&se=2"), "/a/c/b?sv=1&sig=XXXXX&se=2");
  EXPECT_EQ(without_signature("/a?sig=secret"), "/a?sig=XXXXX");
  EXPECT_EQ(without_signature("/a?signed=1"), "/a?signed=1");
  EXPECT_EQ(without_signature("/a?"), "/a?");
  EXPECT_EQ(without_signature("http://h/a/b?sig=secret#x"), "http://h/a/b?sig=XXXXX");
  for (const auto* name : {"SIG", "%73ig", "s%69g", "Si%47"}) {
    EXPECT_EQ(without_signature("/a?x=1&" + std::string(name) + "=secret"), "/a?x=1&sig=XXXXX");
  }
}

}  // namespace
}  // namespace tidemark
