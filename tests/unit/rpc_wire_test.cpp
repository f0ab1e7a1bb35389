// Values on the wire: written values are read back, bytes that are no value are refused, and no bytes do harm.
#include "common/rpc/wire.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "common/base/time.h"
#include "common/rpc/forwarded.h"

namespace tidemark::wire {
namespace {

enum class Colour : std::uint8_t { kRed = 1, kGreen = 2, kLast = kGreen };

struct Inner {
  std::string name;
  std::array<std::uint8_t, 3> raw{};
  bool operator==(const Inner&) const = default;
};

struct Message {
  bool flag = false;
  std::uint16_t small = 0;
  std::uint64_t large = 0;
  std::int32_t number = 0;
  std::int64_t version = 0;
  double rate = 0;
  Colour colour = Colour::kRed;
  Duration delay{};
  Time at{};
  std::string text;
  std::optional<std::string> maybe;
  std::vector<Inner> inner;
  std::vector<bool> flags;
  std::pair<std::string, std::uint64_t> counter;
  std::variant<std::string, std::int32_t, Inner> value;
  bool operator==(const Message&) const = default;
};

Message example() {
  Message message;
  message.flag = true;
  message.small = 300;
  message.large = std::numeric_limits<std::uint64_t>::max();
  message.number = -3;
  message.version = -1;
  message.rate = 1.5;
  message.colour = Colour::kGreen;
  message.delay = std::chrono::seconds(1);
  message.at = Time(Ticks(7));
  message.text = "text";
  message.maybe = "";
  message.inner = {{"a", {1, 2, 3}}, {"", {}}};
  message.flags = {true, false, true};
  message.counter = {"n", 5};
  message.value = Inner{"v", {9, 9, 9}};
  return message;
}

TEST(Wire, ReadsWhatWasWritten) {
  EXPECT_EQ(decode<Message>(encode(example())), example());
  EXPECT_EQ(decode<Message>(encode(Message())), Message());
  for (const auto number : {0, 1, -1, 63, -64, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    EXPECT_EQ(decode<std::int32_t>(encode(std::int32_t{number})), number);
  }
}

TEST(Wire, HasTheseBytes) {
  struct Small {
    bool flag = true;
    std::uint64_t count = 300;
    std::int32_t number = -2;
    Colour colour = Colour::kGreen;
    std::int64_t version = 1;
    std::string text = "ab";
    std::optional<bool> maybe;
    std::vector<std::uint64_t> list = {7, 8};
    std::variant<std::string, bool> value = true;
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(encode(Small()),
            "\x01\xAC\x02\x03\x02\x01\0\0\0\0\0\0\0\x02"
            "ab\0\x02\x07\x08\x01\x01"s);
}

TEST(Wire, ResultsCarryTheCodeOfTheirError) {
  const std::vector<Result<void>> outcomes = {{}, fail(ErrorCode::kTableNotFound, "Which one?")};
  const auto read = decode<std::vector<Result<void>>>(encode(outcomes));
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_TRUE((*read)[0].has_value());
  EXPECT_TRUE((*read)[1].failed_with(ErrorCode::kTableNotFound));
  EXPECT_EQ((*read)[1].error().message, default_message_of(ErrorCode::kTableNotFound));
  EXPECT_EQ(**decode<Result<std::string>>(encode(Result<std::string>("x"))), "x");
  EXPECT_FALSE(decode<Result<void>>("\xFF\xFF\x03"));  // no such code
}

TEST(Wire, RefusesWhatIsNoValue) {
  EXPECT_FALSE(decode<bool>("\x02"));
  EXPECT_FALSE(decode<Colour>(std::string_view("\0", 1)));
  EXPECT_FALSE(decode<Colour>("\x03"));
  EXPECT_FALSE(decode<std::uint16_t>("\x80\x80\x04"));                                // 65536
  EXPECT_FALSE(decode<std::int32_t>("\x80\x80\x80\x80\x10"));                         // 2^32
  EXPECT_FALSE((decode<std::variant<bool, double>>(std::string_view("\x02\0", 2))));  // no such alternative
  EXPECT_FALSE(decode<bool>(std::string_view("\x01\0", 2)));                          // more bytes than the value has
}

TEST(Wire, ACountPromisesNoMoreThanTheBytesBehindIt) {
  std::string bytes;
  ByteWriter out(bytes);
  out.varint(1'000'000'000'000);
  EXPECT_FALSE(decode<std::vector<Inner>>(bytes));
  bytes.clear();
  out.varint(kMaxItems + 1);
  bytes.append(kMaxItems + 1, '\1');
  EXPECT_FALSE(decode<std::vector<bool>>(bytes));
}

TEST(Wire, NoTruncationIsAValue) {
  const auto whole = encode(example());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode<Message>(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(Wire, AnyBytesAreAValueOrNothing) {
  std::mt19937_64 dice(1);
  const auto whole = encode(example());
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = whole;
    if (i % 2 == 0) bytes.resize(dice() % 200);
    const auto changes = i % 2 == 0 ? bytes.size() : 1 + dice() % 4;
    for (std::size_t n = 0; n < changes && !bytes.empty(); ++n)
      bytes[dice() % bytes.size()] = static_cast<char>(dice());
    const auto read = decode<Message>(bytes);
    // Not the same bytes (a varint has longer forms), but the same value. A NaN differs from itself.
    if (read && read->rate == read->rate) EXPECT_EQ(decode<Message>(encode(*read)), *read);
  }
}

TEST(ForwardedMethod, HasAShardOrNone) {
  const auto to_shard = rpc::forwarded_to(7, "queue.put");
  EXPECT_EQ(rpc::read_forwarded(to_shard).method, "queue.put");
  EXPECT_EQ(rpc::read_forwarded(to_shard).shard, 7U);
  EXPECT_TRUE(rpc::read_forwarded("forwarded.owners.look").forwarded);
  EXPECT_EQ(rpc::read_forwarded("forwarded.owners.look").method, "owners.look");
  EXPECT_EQ(rpc::read_forwarded("forwarded.owners.look").shard, std::nullopt);
  for (const std::string_view plain : {"queue.put", "7.queue.put", "", "forwarded"}) {
    EXPECT_EQ(rpc::read_forwarded(plain).method, plain);
    EXPECT_FALSE(rpc::read_forwarded(plain).forwarded);
  }
  for (const std::string_view odd : {"7", "-1.a", "99999999999999999999.a", ".a", "7a.b"}) {
    const auto method = std::string(rpc::kForwarded).append(odd);
    EXPECT_EQ(rpc::read_forwarded(method).method, odd);
    EXPECT_EQ(rpc::read_forwarded(method).shard, std::nullopt);
  }
}

}  // namespace
}  // namespace tidemark::wire
