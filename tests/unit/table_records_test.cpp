#include <gtest/gtest.h>

#include "common/base/encoding.h"
#include "common/base/operation_ledger.h"
#include "tests/support/seeded_random.h"
#include "tests/support/stored_entities.h"

namespace tidemark::table_store {
namespace {

TEST(TableRecords, GoldenBytes) {
  const std::vector<Property> properties{
      {"a", Value(std::string("x"))}, {"b", Value(std::int32_t{-1})}, {"c", Value(true)}};
  EXPECT_EQ(hex_encode(encode_entity(258, std::nullopt, properties)),
            "010002010000000000000301610101780162020101630501");
  EXPECT_EQ(hex_encode(encode_entity(1, 2, std::vector<Property>())), "01010100000000000000020000000000000000");
  EXPECT_EQ(hex_encode(encode_entity(1, 2, std::vector<Property>(), "op")),
            "01030100000000000000020000000000000002"
            "6f7000");
  EXPECT_EQ(hex_encode(encode_entity(1, 2, std::vector<Property>(), "op", true)),
            "01070100000000000000020000000000000002"
            "6f7000");
  EXPECT_EQ(hex_encode(encode_entity(1, 2, std::string_view("\0", 1), "op", false, OriginView{"f", "p", "r"})),
            "010b0100000000000000020000000000000002"
            "6f70"
            "016601700172"
            "00");
  EXPECT_EQ(hex_encode(kCounterRecord.encode(5)), "010500000000000000");
  EXPECT_EQ(hex_encode(entity_key(1, "a", "b")),
            "6500000000000000016100016200"
            "01");
  EXPECT_EQ(hex_encode(table_key("A", "Tab")), "744100017461620001");
}

TEST(TableRecords, AnOriginIsReadAsItWasWritten) {
  const Origin origin{"follower", "p", ""};
  const auto record = encode_entity(7, 6, property_block({{"n", Value(std::int32_t{1})}}), "", false, view_of(origin));
  Entity entity;
  ASSERT_TRUE(decode_entity(record, entity).has_value());
  EXPECT_EQ(entity.origin, origin);
  EXPECT_EQ(entity.properties.size(), 1U);
  for (std::size_t n = 0; n < record.size(); ++n) {
    EXPECT_FALSE(decode_entity(record.substr(0, n), entity).has_value()) << n;
  }
}

TEST(TableRecords, EveryTruncationAndMutationIsSafe) {
  const std::vector<Property> properties{{"s", Value(std::string("text"))},
                                         {"d", Value(2.5)},
                                         {"g", Value(Guid{})},
                                         {"x", Value(Binary{"bytes"})},
                                         {"l", Value(std::int64_t{7})},
                                         {"t", Value(Time(Ticks(9)))}};
  const auto good = encode_entity(7, 6, properties);
  Entity entity;
  ASSERT_TRUE(decode_entity(good, entity).has_value());
  EXPECT_EQ(entity.source_version, 6);
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_entity(good.substr(0, n), entity).has_value()) << n;
  EXPECT_FALSE(decode_entity(good + "x", entity).has_value());
  auto random = make_seeded_random(1);
  for (int i = 0; i < 20000; ++i) {
    auto bad = good;
    for (std::uint64_t n = random->below(3); n < 3; ++n)
      bad[random->below(bad.size())] = static_cast<char>(random->below(256));
    if (decode_entity(bad, entity)) {
      // Decoded bytes encode to bytes that decode to the same.
      Entity again;
      ASSERT_TRUE(
          decode_entity(encode_entity(entity.version, entity.source_version, entity.properties), again).has_value());
    }
    (void)kTableRecord.decode(bad).has_value();
    (void)decode_ledger(bad).has_value();
    (void)parse_entity_key(bad);
  }
}

}  // namespace
}  // namespace tidemark::table_store
