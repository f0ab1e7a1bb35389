#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "jobs/kinds/index/run/index_pieces.h"
#include "jobs/plan/plan.h"
#include "table_store/model/limits.h"
#include "workers/runtime/source.h"

namespace tidemark::workers {
namespace {

using table_store::Value;

TEST(IndexKey, EncodesWhatAKeyCannotHold) {
  EXPECT_EQ(encode_index_key("Jane Doe <j@x.org>"), "Jane Doe <j@x.org>");
  EXPECT_EQ(encode_index_key("a/b\\c#d?e%f\n"), "a%2Fb%5Cc%23d%3Fe%25f%0A");
  EXPECT_EQ(encode_index_key("\xC2\x85"), "%C2%85");  // a control character beyond ASCII
  EXPECT_EQ(encode_index_key("\xC2\xA0\xC3\x85"), "\xC2\xA0\xC3\x85");
  EXPECT_EQ(encode_index_key(""), "");
}

TEST(IndexKey, LongValuesBecomeADigest) {
  const auto a = encode_index_key(std::string(513, 'a'));
  EXPECT_EQ(a.size(), 8U + 64U);
  EXPECT_NE(a, encode_index_key(std::string(514, 'a')));
  EXPECT_EQ(encode_index_key(std::string(512, 'a')), std::string(512, 'a'));
  EXPECT_NE(encode_index_key(a), a);  // a value that looks like a digest is not one
}

TEST(IndexValue, HasOneText) {
  EXPECT_EQ(jobs::value_text(Value(std::int32_t{-7})), "-7");
  EXPECT_EQ(jobs::value_text(Value(std::int64_t{1} << 40)), "1099511627776");
  EXPECT_EQ(jobs::value_text(Value(0.1)), "0.1");
  EXPECT_EQ(jobs::value_text(Value(std::numeric_limits<double>::infinity())), "Infinity");
  EXPECT_EQ(jobs::value_text(Value(true)), "true");
  EXPECT_EQ(jobs::value_text(Value(table_store::Binary{"\x01\x02"})), "AQI=");
  table_store::Guid guid;
  guid.bytes = {0x0d, 0x39, 0x1d, 0x16, 0x97, 0xf1, 0x4b, 0x9a, 0xbe, 0x68, 0x4c, 0xc8, 0x71, 0xf9, 0x00, 0x01};
  EXPECT_EQ(jobs::value_text(Value(guid)), "0d391d16-97f1-4b9a-be68-4cc871f90001");
}

TEST(IndexPieces, HoldEveryKeyOnceInOrderAndStayWithinTheirLimits) {
  std::vector<jobs::EntityKey> keys;
  for (int i = 0; i < 20'000; ++i)
    keys.push_back({"partition-" + std::to_string(i / 7), "row \"é\" " + std::to_string(i)});
  const auto pieces = make_pieces("v", keys, 5);
  ASSERT_GT(pieces.size(), 1U);
  std::vector<jobs::EntityKey> read;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].row_key, piece_row_key(i));
    std::size_t units = 0;
    std::int32_t count = -1;
    std::int32_t listed = 0;
    for (const auto& property : pieces[i].properties) {
      if (property.name == "Count") count = std::get<std::int32_t>(property.value);
      if (!property.name.starts_with("Keys")) continue;
      const auto& text = std::get<std::string>(property.value);
      EXPECT_LE(utf16_length(text), 32'768U);
      units += utf16_length(text);
      const auto list = nlohmann::json::parse(text);
      for (const auto& pair : list) {
        read.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
        ++listed;
      }
    }
    EXPECT_EQ(count, listed);
    EXPECT_LE(units * 2, 256U << 10);
  }
  EXPECT_EQ(read, keys);
}

TEST(IndexPieces, TellTheValueAsItIsOrNotAtAll) {
  const auto told = [](const std::string& value) {
    const auto pieces = make_pieces(value, {{"p", "r"}}, 5);
    table_store::Entity piece;
    piece.properties = pieces.at(0).properties;
    piece.source_version = 5;
    EXPECT_TRUE(is_piece(piece));
    const auto* found = piece.find("Value");
    return found == nullptr ? std::nullopt : std::optional(std::get<std::string>(*found));
  };
  EXPECT_EQ(told(""), "");
  for (const std::size_t length : {31'999UL, 32'001UL, table_store::kMaxStringUnits}) {
    EXPECT_EQ(told(std::string(length, 'x')), std::string(length, 'x')) << length;
  }
  EXPECT_EQ(told(std::string(table_store::kMaxStringUnits + 1, 'x')), std::nullopt) << "not the empty text";
}

TEST(IndexPieces, NoKeysNoPieces) { EXPECT_TRUE(make_pieces("v", {}, 5).empty()); }

TEST(PartitionGroups, AreOfOnePartitionAndBounded) {
  std::vector<table_store::Entity> entities;
  for (int i = 0; i < 250; ++i) entities.push_back({"a", std::to_string(i), 1, {}, {}});
  for (int i = 0; i < 6; ++i) entities.push_back({"b", std::to_string(i), 1, {}, {{"X", std::string(900'000, 'x')}}});
  const auto groups = partition_groups(entities);
  std::vector<std::string> rows;
  for (const auto& group : groups) {
    EXPECT_LE(group.size(), 100U);
    std::size_t bytes = 0;
    for (const auto& entity : group) {
      EXPECT_EQ(entity.partition_key, group.front().partition_key);
      bytes += jobs::entity_bytes(entity);
      rows.push_back(entity.row_key);
    }
    EXPECT_LE(bytes, kGroupBytes);
  }
  ASSERT_EQ(rows.size(), entities.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], entities[i].row_key);
  EXPECT_EQ(groups.size(), 5U);
}

}  // namespace
}  // namespace tidemark::workers
