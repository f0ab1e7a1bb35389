#include "common/kv/key_codec.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tidemark::kv {
namespace {

std::string text_key(std::string_view text) {
  std::string key;
  append_text(key, text);
  return key;
}

std::string utf16_key(std::string_view text) {
  std::string key;
  append_utf16(key, text);
  return key;
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (int value : values) out.push_back(static_cast<char>(value));
  return out;
}

TEST(KeyCodec, TextBytes) {
  EXPECT_EQ(text_key(""), bytes({0, 1}));
  EXPECT_EQ(text_key("ab"), bytes({'a', 'b', 0, 1}));
  EXPECT_EQ(text_key(bytes({0, 'a', 0})), bytes({0, 0xFF, 'a', 0, 0xFF, 0, 1}));
}

TEST(KeyCodec, Utf16Bytes) {
  EXPECT_EQ(utf16_key("a\u00E9\u20AC"), bytes({'a', 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0, 1}));
  EXPECT_EQ(utf16_key("x\U00010000y"), bytes({'x', 0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80, 'y', 0, 1}));
  EXPECT_EQ(utf16_key("\U0010FFFF"), bytes({0xED, 0xAF, 0xBF, 0xED, 0xBF, 0xBF, 0, 1}));
}

TEST(KeyCodec, U64Bytes) {
  std::string key;
  append_u64(key, 0x0102030405060708U);
  EXPECT_EQ(key, bytes({1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(KeyCodec, AKeyIsItsPartsInOrder) {
  EXPECT_EQ(key('x', std::uint64_t{258}, "raw", Text{"t"}, Utf16{"\u00E9"}),
            bytes({'x', 0, 0, 0, 0, 0, 0, 1, 2, 'r', 'a', 'w', 't', 0, 1, 0xC3, 0xA9, 0, 1}));
  const auto all = under(key('x', std::uint64_t{0xFF}));
  EXPECT_EQ(all.lower, bytes({'x', 0, 0, 0, 0, 0, 0, 0, 0xFF}));
  EXPECT_EQ(all.upper, bytes({'x', 0, 0, 0, 0, 0, 0, 1}));
}

TEST(KeyCodec, CharactersBeyondTheBmpSortBeforeU_E000) {
  EXPECT_LT(utf16_key("\U00010000"), utf16_key("\uFFFD"));
  EXPECT_LT(utf16_key("\U0010FFFF"), utf16_key("\uE000"));
  EXPECT_LT(utf16_key("\uD7FF"), utf16_key("\U00010000"));
}

TEST(KeyCodec, TextOrderIsByteOrderWhateverFollows) {
  std::mt19937 random(7);
  auto word = [&random] {
    std::string text;
    for (auto n = random() % 5; n > 0; --n) text.push_back(bytes({0, 1, 'a', 0xFE, 0xFF})[random() % 5]);
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    const auto a = std::pair(word(), word());
    const auto b = std::pair(word(), word());
    ASSERT_EQ(a < b, text_key(a.first) + text_key(a.second) < text_key(b.first) + text_key(b.second));
  }
}

std::string utf8_of(const std::vector<char32_t>& points) {
  std::string out;
  for (auto p : points) {
    const auto c = static_cast<unsigned>(p);
    auto tail = [&out, c](unsigned shift) { out.push_back(static_cast<char>(0x80 | ((c >> shift) & 0x3F))); };
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out.push_back(static_cast<char>(0xC0 | (c >> 6)));
      tail(0);
    } else if (c < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | (c >> 12)));
      tail(6), tail(0);
    } else {
      out.push_back(static_cast<char>(0xF0 | (c >> 18)));
      tail(12), tail(6), tail(0);
    }
  }
  return out;
}

std::u16string utf16_of(const std::vector<char32_t>& points) {
  std::u16string out;
  for (auto p : points) {
    if (p < 0x10000) {
      out.push_back(static_cast<char16_t>(p));
    } else {
      out.push_back(static_cast<char16_t>(0xD800 + ((p - 0x10000) >> 10)));
      out.push_back(static_cast<char16_t>(0xDC00 + ((p - 0x10000) & 0x3FF)));
    }
  }
  return out;
}

TEST(KeyCodec, Utf16OrderIsCodeUnitOrderAndComesBack) {
  const std::vector<char32_t> alphabet = {0,      1,      'a',    0x7F,   0x80,    0x7FF,   0x800,
                                          0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF};
  std::mt19937 random(8);
  auto word = [&] {
    std::vector<char32_t> points;
    for (auto n = random() % 5; n > 0; --n) points.push_back(alphabet[random() % alphabet.size()]);
    return points;
  };
  for (int i = 0; i < 20000; ++i) {
    const auto a = word(), b = word();
    const auto key = utf16_key(utf8_of(a));
    ASSERT_EQ(utf16_of(a) < utf16_of(b), key < utf16_key(utf8_of(b)));
    const auto longer = key + "rest";
    std::string_view rest = longer;
    ASSERT_EQ(take_utf16(rest), utf8_of(a));
    ASSERT_EQ(rest, "rest");
  }
}

TEST(KeyCodec, TakesPartsInTurn) {
  std::string key;
  append_u64(key, 42);
  append_text(key, bytes({'a', 0}));
  append_u64(key, ~std::uint64_t{0});
  std::string_view rest = key;
  EXPECT_EQ(take_u64(rest), 42U);
  EXPECT_EQ(take_text(rest), bytes({'a', 0}));
  EXPECT_EQ(take_u64(rest), ~std::uint64_t{0});
  EXPECT_TRUE(rest.empty());
}

TEST(KeyCodec, RefusesWhatIsNotSuchAPart) {
  for (const auto& broken : {bytes({}), bytes({'a'}), bytes({'a', 0}), bytes({0, 2}), bytes({'a', 0, 0xFF})}) {
    std::string_view rest = broken;
    EXPECT_FALSE(take_text(rest));
    EXPECT_EQ(rest, broken);
  }
  for (const auto& broken : {bytes({0xED, 0xA0, 0x80, 0, 1}), bytes({0xED, 0xB0, 0x80, 0, 1}),
                             bytes({0xED, 0xA0, 0x80, 'a', 0, 1}), bytes({0xF0, 0x90, 0x80, 0x80, 0, 1})}) {
    std::string_view rest = broken;
    EXPECT_FALSE(take_utf16(rest));
    EXPECT_EQ(rest, broken);
  }
  std::string_view seven = "1234567";
  EXPECT_FALSE(take_u64(seven));
}

TEST(KeyCodec, PrefixEndIsJustAfterThePrefix) {
  EXPECT_EQ(prefix_end("ab"), "ac");
  EXPECT_EQ(prefix_end("a\xFF\xFF"), "b");
  EXPECT_EQ(prefix_end("\xFF"), "");
  EXPECT_EQ(prefix_end(""), "");
  EXPECT_EQ(prefix_end("\x7F"), "\x80");
}

}  // namespace
}  // namespace tidemark::kv
