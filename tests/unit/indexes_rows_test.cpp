// The form of an index's rows: texts that sort as values do, pieces that are divided and read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/base/encoding.h"
#include "indexes/rows/blob_names.h"
#include "indexes/rows/list_piece.h"
#include "table_store/model/group_text.h"
#include "table_store/model/limits.h"
#include "tests/support/seeded_random.h"

namespace tidemark::indexes {
namespace {

using table_store::group_of;
using table_store::join_values;
using table_store::key_text;
using table_store::kMaxGroupUnits;
using table_store::string_text;
using table_store::type_in_text;
using table_store::Value;
using table_store::without_mark;

template <class T>
void expect_in_order(std::vector<T> values) {
  std::vector<std::string> texts;
  for (const auto& value : values) texts.push_back(key_text(Value(value)));
  for (std::size_t i = 1; i < texts.size(); ++i) EXPECT_LT(texts[i - 1], texts[i]);
}

TEST(GroupText, SortsAsTheValuesDo) {
  using Whole = std::numeric_limits<std::int64_t>;
  using Real = std::numeric_limits<double>;
  expect_in_order<std::int64_t>({Whole::min(), Whole::min() + 1, -1'000'000, -10, -9, -1, 0, 1, 9, 10, Whole::max()});
  expect_in_order<double>({-Real::infinity(), -1e300, -1.5, -1e-300, 0.0, 1e-300, 1, 1.5, 2, 10, Real::infinity()});
  expect_in_order<std::string>({"", "a", "a b", "ab", "b"});
  expect_in_order<bool>({false, true});
  EXPECT_EQ(key_text(Value(std::int32_t{42})), key_text(Value(std::int64_t{42})));
  EXPECT_EQ(key_text(Value(-0.0)), key_text(Value(0.0)));
}

TEST(GroupText, TellsTypesApart) {
  table_store::Guid guid;
  guid.bytes.fill(7);
  const std::vector<Value> others{std::int64_t{-42},
                                  1.5,
                                  true,
                                  false,
                                  parse_iso8601("2026-11-22T17:05:11Z").value(),
                                  guid,
                                  table_store::Binary{"ab"},
                                  table_store::Binary{}};
  const std::vector<ValueType> types{ValueType::kWhole, ValueType::kDouble, ValueType::kBoolean, ValueType::kBoolean,
                                     ValueType::kTime,  ValueType::kGuid,   ValueType::kBinary,  ValueType::kBinary};
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto text = key_text(others[i]);
    EXPECT_EQ(type_in_text(text), types[i]) << text;
    if (types[i] == ValueType::kBinary) continue;  // no String is written so
    EXPECT_EQ(key_text(Value(text)), text + "%") << "a String that looks like it";
    EXPECT_EQ(type_in_text(text + "%"), ValueType::kString);
    EXPECT_EQ(without_mark(text + "%"), string_text(text));
    EXPECT_EQ(key_text(Value(text + "x")), text + "x");
  }
  for (const auto* text : {"", "42", "abcd", "pear", "True", "x", "xab", "d5", "%"}) {
    EXPECT_EQ(key_text(Value(std::string(text))), string_text(text)) << text;
  }
  EXPECT_EQ(key_text(Value(std::string("%"))), "%25");
}

TEST(GroupText, TellsCompoundValuesApart) {
  EXPECT_EQ(join_values({key_text(Value("Jones")), key_text(Value("Sales"))}), "Jones,Sales");
  EXPECT_NE(join_values({key_text(Value("a,b")), key_text(Value("c"))}),
            join_values({key_text(Value("a")), key_text(Value("b,c"))}));
  const std::string long_text(2000, 'x');
  EXPECT_LE(utf16_length(join_values({long_text})), kMaxGroupUnits);
  EXPECT_NE(join_values({long_text}), join_values({long_text + "y"}));
}

TEST(GroupText, IsAbsentWithoutAllProperties) {
  EXPECT_EQ(group_of({"PartitionKey", "Name"}, "p", "r", {{"Name", Value("Ann")}}), "p,Ann");
  EXPECT_EQ(group_of({"Name", "Age"}, "p", "r", {{"Name", Value("Ann")}}), std::nullopt);
}

table_store::Entity row_of(const GroupPlace& place, const ListPiece& piece) {
  table_store::Entity row;
  row.partition_key = place.partition_key;
  row.row_key = place.row_key(piece.bound);
  row.properties = piece_rows(piece).front().properties;
  return row;
}

TEST(ListPiece, ComesBackFromItsRow) {
  ListPiece piece{0x00ff00ff00ff00ff, "a group", {}};
  piece.entries.push_back({"p\"1", "r,\\2", std::int64_t{-5}});
  piece.entries.push_back({"\xc3\xa4", "", 2.5});
  piece.entries.push_back({"p", "r", {}});
  std::ranges::sort(piece.entries, {}, &ListEntry::hash);
  const auto read = read_piece(row_of(group_across("a group"), piece));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->bound, piece.bound);
  EXPECT_EQ(read->group, piece.group);
  EXPECT_EQ(read->entries, piece.entries);
}

TEST(ListPiece, KeepsTheTypeOfWholeAndOtherNumbers) {
  ListPiece piece;
  piece.entries.push_back({"p", "whole", std::int64_t{3}});
  piece.entries.push_back({"p", "real", 3.0});
  const auto read = read_piece(row_of(group_across("g"), piece));
  ASSERT_TRUE(read.has_value());
  for (const auto& entry : read->entries) EXPECT_EQ(entry.value.index(), entry.row_key == "whole" ? 1U : 2U);
}

TEST(ListPiece, RefusesWhatIsNone) {
  ListPiece piece;
  piece.entries.push_back({"p", "r", {}});
  auto row = row_of(group_across("g"), piece);
  auto other = row;
  other.row_key = "keys_zz";
  EXPECT_FALSE(read_piece(other).has_value());
  other = row;
  other.properties.pop_back();
  EXPECT_FALSE(read_piece(other).has_value());
  other = row;
  other.properties.back().value = Value("[[1,2]]");
  EXPECT_FALSE(read_piece(other).has_value());
}

TEST(ListPiece, DividesUntilEveryPartFits) {
  SeededRandom random(7);
  ListPiece piece;
  piece.group = "g";
  for (int i = 0; i < 20'000; ++i) {
    ListEntry entry{"partition " + std::to_string(random.below(100)), std::to_string(i)};
    piece.entries.push_back(std::move(entry));
  }
  std::ranges::sort(piece.entries, {}, &ListEntry::hash);
  const auto whole = piece.entries;
  const auto rows = piece_rows(piece);
  ASSERT_GT(rows.size(), 10U);
  std::vector<ListEntry> together;
  for (const auto& row : rows) {
    EXPECT_LE(utf16_length(std::get<std::string>(row.properties.back().value)), kPieceUnits);
    table_store::Entity entity;
    entity.row_key = group_across("g").row_key(row.bound);
    entity.properties = row.properties;
    const auto part = read_piece(entity);
    ASSERT_TRUE(part.has_value());
    ASSERT_FALSE(part->entries.empty());
    EXPECT_LE(part->entries.back().hash(), row.bound);
    if (!together.empty()) EXPECT_GT(part->entries.front().hash(), together.back().hash());
    together.insert(together.end(), part->entries.begin(), part->entries.end());
  }
  EXPECT_EQ(together, whole);
  EXPECT_EQ(rows.back().bound, ~std::uint64_t{0});
}

TEST(ListPiece, LeavesASmallOneAsItIs) {
  const ListPiece piece{5, "g", {{"p", "r"}}};
  const auto rows = piece_rows(piece);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].bound, 5U);
  EXPECT_TRUE(piece_rows({5, "g", {}}).empty());
}

TEST(GroupPlace, HoldsTheRowsOfOneGroupAlone) {
  const auto place = group_in_partition("by-name", "sales", "Jones");
  EXPECT_EQ(place.row_key(0xab), "by-name_Jones_00000000000000ab");
  EXPECT_LT(place.row_key(~std::uint64_t{0}), place.end());
  EXPECT_LT(group_in_partition("by-name", "sales", "Jon").end(), place.row_key(0));
}

TEST(GroupPlace, TellsItsRowsFromThoseBetween) {
  const auto place = group_in_partition("by-name", "sales", "Jones");
  for (const auto bound : {std::uint64_t{0}, std::uint64_t{0xab}, ~std::uint64_t{0}}) {
    EXPECT_TRUE(place.has(place.row_key(bound)));
    EXPECT_EQ(place.row_key(bound).size(), place.row_key_bytes());
    for (const std::string longer : {"Jones_York", "Jones_0", "Jones_00", "Jones_0123456789abcdef", "Jones_"}) {
      const auto between = group_in_partition("by-name", "sales", longer).row_key(bound);
      EXPECT_LT(place.row_prefix, between);
      EXPECT_LT(between, place.end());
      EXPECT_FALSE(place.has(between)) << between;
      EXPECT_NE(between.size(), place.row_key_bytes()) << between;
    }
  }
  EXPECT_FALSE(place.has("by-name_Jones_FFFFFFFFFFFFFFFF"));
  EXPECT_FALSE(place.has("by-name_Jones_fffffffffffffffx"));
  const auto of_job = group_of_value("x");
  EXPECT_TRUE(of_job.has(of_job.row_key(~std::uint64_t{0})) && of_job.has(of_job.row_key(5)));
}

TEST(ValueGroup, IsTheTextOrItsDigest) {
  const auto key = [](std::string_view value) { return group_of_value(value).partition_key; };
  EXPECT_EQ(key("Jane Doe <j@x.org>"), "Jane Doe <j@x.org>");
  EXPECT_EQ(key("a/b\\c#d?e%f\n"), "a%2Fb%5Cc%23d%3Fe%25f%0A");
  EXPECT_EQ(key("\xC2\x85"), "%C2%85");  // a control character beyond ASCII
  EXPECT_EQ(key("\xC2\xA0\xC3\x85"), "\xC2\xA0\xC3\x85");
  EXPECT_EQ(key(""), "");
  const auto a = key(std::string(513, 'a'));
  EXPECT_EQ(a.size(), 8U + 64U);
  EXPECT_NE(a, key(std::string(514, 'a')));
  EXPECT_EQ(key(std::string(512, 'a')), std::string(512, 'a'));
  EXPECT_NE(key(a), a);  // a value that looks like a digest is not one
}

TEST(ListPiece, OfAJobTellsTheValueAsItIsOrNotAtAll) {
  for (const std::size_t length : {0UL, 31'999UL, 32'001UL, table_store::kMaxStringUnits}) {
    ListPiece piece{.group = std::string(length, 'x'), .entries = {{"p", "r"}}};
    auto row = row_of(group_of_value(piece.group), piece);
    row.properties = piece_rows(piece, kIndexJobForm).front().properties;
    const auto read = read_piece(row, kIndexJobForm);
    ASSERT_TRUE(read.has_value()) << length;
    EXPECT_EQ(read->group, piece.group);
    EXPECT_EQ(read->entries, piece.entries);
    EXPECT_EQ(row.row_key, "000000");
  }
  const ListPiece piece{.group = std::string(table_store::kMaxStringUnits + 1, 'x'), .entries = {{"p", "r"}}};
  EXPECT_EQ(piece_rows(piece, kIndexJobForm).front().properties.front().name, "Count") << "not the empty text";
}

TEST(ListPiece, OfAJobSortsBeforeTheLast) {
  const auto place = group_of_value("v");
  EXPECT_LT(place.row_key(0x7fffffffffffffff), place.row_key(~0ULL));
  EXPECT_LT(place.row_key(~0ULL), place.end());
  EXPECT_LT(place.row_key(1), place.row_key(0x10));
}

TEST(BlobName, IsOfOneGroupAlone) {
  std::vector<std::string> groups{"", ".", "..", "a.", "a", "%", "%2E", "a,b.", "a,", "true%"};
  for (auto& group : groups) {
    if (group.find('%') == std::string::npos) continue;
    if (group != "true%") group = string_text(group);
  }
  std::vector<std::string> names;
  for (const auto& group : groups) {
    const PieceBlob blob{group, 0x7fff, 42};
    names.push_back(blob_name("old/lists/", blob));
    EXPECT_EQ(parse_blob_name("old/lists/", names.back()), blob) << names.back();
    EXPECT_EQ(names.back().find("./"), std::string::npos) << names.back();
    EXPECT_EQ(names.back().find("//"), std::string::npos) << names.back();
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(blob_name("", {"Jones", ~0ULL, 1}), "Jones/ffffffffffffffff-0000000000000001");
  EXPECT_EQ(blob_name("by-name/", {".", 1, 2}), "by-name/%2E/0000000000000001-0000000000000002");
}

TEST(BlobName, IsNothingElse) {
  const std::string good = "a/x/0000000000000001-00000000000000ff";
  ASSERT_TRUE(parse_blob_name("a/", good));
  for (const std::string bad :
       {"", "a/", "b/x/0000000000000001-00000000000000ff", "a/0000000000000001-00000000000000ff",
        "a//0000000000000001-00000000000000ff", "a/x/0000000000000001-00000000000000FF",
        "a/x/0000000000000001_00000000000000ff", "a/x./0000000000000001-00000000000000ff", "a/x/1-2", "a/x/notes.txt",
        "a/x/0000000000000001-00000000000000ff.json"}) {
    EXPECT_FALSE(parse_blob_name("a/", bad)) << bad;
  }
}

TEST(ListPiece, InBlobsIsDividedByBytes) {
  ListPiece piece{.group = "x", .entries = {}};
  for (int i = 0; i < 20'000; ++i) piece.entries.push_back({"partition", "row " + std::to_string(i)});
  std::ranges::sort(piece.entries, {}, &ListEntry::hash);
  const auto rows = piece_rows(piece, kBlobListForm);
  EXPECT_EQ(rows.size(), 2U);
  std::size_t count = 0;
  for (const auto& row : rows) {
    for (const auto& property : row.properties) {
      if (property.name == "Keys") EXPECT_LE(std::get<std::string>(property.value).size(), kBlobPieceBytes);
      if (property.name == "Count") count += static_cast<std::size_t>(std::get<std::int32_t>(property.value));
    }
  }
  EXPECT_EQ(count, piece.entries.size());
}

}  // namespace
}  // namespace tidemark::indexes
