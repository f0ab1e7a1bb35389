// Stored records and the ledgers, byte by byte: data on disks stays readable.
#include "common/base/record.h"

#include <gtest/gtest.h>

#include "common/base/encoding.h"
#include "common/base/operation_ledger.h"

namespace tidemark {
namespace {

struct Everything {
  std::uint8_t small = 0;
  bool flag = false;
  std::uint32_t count = 0;
  std::uint64_t wide = 0;
  std::int64_t number = 0;
  Time time;
  std::string text;
  std::optional<std::string> given, absent;
  std::vector<std::string> list;
  bool operator==(const Everything&) const = default;
};

constexpr auto kEverything = record_format<Everything>(7, "everything", [](auto& io, auto& record) {
  io.u8(record.small);
  io.boolean(record.flag);
  io.varint(record.count);
  io.u64(record.wide);
  io.i64(record.number);
  io.time(record.time);
  io.string(record.text);
  for (auto* maybe : {&record.given, &record.absent}) io.optional(*maybe, [&](auto& text) { io.string(text); });
  io.list(record.list, [&](auto& text) { io.string(text); });
});

const Everything kExample{9, true, 300, 5, -2, Time(Ticks(6)), "ab", "c", std::nullopt, {"d", ""}};

TEST(Record, IsReadAsItWasWritten) {
  EXPECT_EQ(kEverything.encode(kExample), std::string("\x07\x09\x01\xAC\x02"
                                                      "\x05\0\0\0\0\0\0\0"
                                                      "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
                                                      "\x06\0\0\0\0\0\0\0"
                                                      "\x02"
                                                      "ab"
                                                      "\x01\x01"
                                                      "c"
                                                      "\0"
                                                      "\x02\x01"
                                                      "d"
                                                      "\0",
                                                      40));
  EXPECT_EQ(*kEverything.decode(kEverything.encode(kExample)), kExample);
}

TEST(Record, OfAnotherFormatOrLengthIsCorrupt) {
  const auto bytes = kEverything.encode(kExample);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_TRUE(kEverything.decode(bytes.substr(0, length)).failed_with(ErrorCode::kCorruption)) << length;
  }
  EXPECT_TRUE(kEverything.decode(bytes + "x").failed_with(ErrorCode::kCorruption));
  EXPECT_TRUE(kEverything.decode("\x08" + bytes.substr(1)).failed_with(ErrorCode::kCorruption));
}

TEST(Record, OfALedger) {
  const OperationLedger ledger{5, true, {{"moved", 300}, {"x", 1}}};
  const auto bytes = encode_ledger(ledger);
  EXPECT_EQ(hex_encode(bytes), "01050102056d6f766564ac02017801");
  EXPECT_EQ(decode_ledger(bytes)->counters, ledger.counters);
}

}  // namespace
}  // namespace tidemark
