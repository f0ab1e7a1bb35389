// Names and bytes of archived entities, and how jobs name archives.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/spec/job_spec.h"
#include "table_store/odata/entity_text.h"

namespace tidemark::jobs {
namespace {

using table_store::Binary;
using table_store::Entity;
using table_store::Guid;

std::string all_bytes() {
  std::string out;
  for (int c = 0; c < 256; ++c) out += static_cast<char>(c);
  return out;
}

Entity awkward(const std::string& partition, const std::string& row) {
  Entity entity;
  entity.partition_key = partition;
  entity.row_key = row;
  entity.version = 17'637'123'456'789'012;
  std::string controls;
  for (char c = 1; c < 0x20; ++c) controls += c;
  Guid guid;
  for (std::size_t i = 0; i < 16; ++i) guid.bytes[i] = static_cast<std::uint8_t>(i * 17);
  entity.properties = {
      {"Empty", std::string()},
      {"Text", std::string("\"quoted\\\" \xF0\x9F\x8C\x8A ") + controls + "\x7F</script>"},
      {"Least32", std::numeric_limits<std::int32_t>::min()},
      {"Most64", std::numeric_limits<std::int64_t>::max()},
      {"Zero64", std::int64_t{0}},
      {"Third", 1.0 / 3},
      {"Whole", 5.0},
      {"NegativeZero", -0.0},
      {"Tiny", std::numeric_limits<double>::denorm_min()},
      {"Huge", std::numeric_limits<double>::max()},
      {"Infinite", -std::numeric_limits<double>::infinity()},
      {"Yes", true},
      {"No", false},
      {"Earliest", *parse_iso8601("1601-01-01T00:00:00Z")},
      {"Latest", *parse_iso8601("9999-12-31T23:59:59.9999999Z")},
      {"Guid", guid},
      {"Bytes", Binary{all_bytes()}},
      {"NoBytes", Binary{}},
      {"\xC3\x84rger", std::string("2026-11-21T00:00:00Z")},
  };
  return entity;
}

void expect_same(const Entity& a, const Entity& b) {
  EXPECT_EQ(a.partition_key, b.partition_key);
  EXPECT_EQ(a.row_key, b.row_key);
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.operation, b.operation);
  ASSERT_EQ(a.properties.size(), b.properties.size());
  for (std::size_t i = 0; i < a.properties.size(); ++i) {
    EXPECT_EQ(a.properties[i].name, b.properties[i].name);
    EXPECT_EQ(a.properties[i].value, b.properties[i].value) << a.properties[i].name;
    const auto* number = std::get_if<double>(&a.properties[i].value);
    if (number != nullptr) {
      EXPECT_EQ(std::signbit(*number), std::signbit(std::get<double>(b.properties[i].value)));
    }
  }
}

TEST(EntityText, ReadsBackExactlyWithEveryType) {
  for (const auto* key : {"", "'", "a b", "\xC3\xA9", "%2F", "100%", "\"", "{\"a\":1}", "tidemark.job"}) {
    auto entity = awkward(key, key);
    entity.operation = "job-1";
    std::string text;
    table_store::append_entity_text(text, entity);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto read = table_store::parse_entity_text(text);
    ASSERT_TRUE(read.has_value()) << text;
    expect_same(entity, *read);
  }
}

TEST(EntityText, ANaNStaysOne) {
  auto entity = awkward("p", "r");
  entity.properties = {{"N", std::nan("")}};
  std::string text;
  table_store::append_entity_text(text, entity);
  const auto read = table_store::parse_entity_text(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(std::isnan(std::get<double>(read->properties.at(0).value)));
}

TEST(EntityText, IsTheJsonOfTheTableEndpoint) {
  Entity entity;
  entity.partition_key = "p";
  entity.row_key = "r";
  entity.version = parse_iso8601("2026-11-21T19:30:04.1234567Z")->time_since_epoch().count();
  entity.operation = "op";
  entity.properties = {{"Big", std::int64_t{5}}, {"Small", std::int32_t{5}}};
  std::string text;
  table_store::append_entity_text(text, entity);
  EXPECT_EQ(text, R"({"tidemark.job":"op","odata.etag":"W/\"datetime'2026-11-21T19%3A30%3A04.1234567Z'\"",)"
                  R"("PartitionKey":"p","RowKey":"r","Timestamp":"2026-11-21T19:30:04.1234567Z",)"
                  R"("Big@odata.type":"Edm.Int64","Big":"5","Small":5})");
}

TEST(EntityText, RefusesWhatIsNoArchivedEntity) {
  for (const auto* text : {"", "{", "[]", "{}", R"({"PartitionKey":"p","RowKey":"r"})",
                           R"({"PartitionKey":"p","RowKey":"r","Timestamp":"yesterday"})",
                           R"({"PartitionKey":"p","Timestamp":"2026-11-21T19:30:04Z"})",
                           R"({"PartitionKey":"p","RowKey":"r","Timestamp":"2026-11-21T19:30:04Z"} x)"}) {
    EXPECT_FALSE(table_store::parse_entity_text(text).has_value()) << text;
  }
}

TEST(PartText, ReadsBackPlainAndCompressed) {
  std::vector<Entity> entities;
  for (int i = 0; i < 300; ++i) entities.push_back(awkward("p" + std::to_string(i % 3), std::to_string(i)));
  for (const bool gzip : {false, true}) {
    const auto bytes = part_text(entities, "old/people/", gzip);
    EXPECT_EQ(bytes.starts_with("\x1F\x8B"), gzip);
    const auto read = parse_part_text(bytes);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->archive, "old/people/");
    ASSERT_EQ(read->entities.size(), entities.size());
    for (std::size_t i = 0; i < entities.size(); ++i) expect_same(entities[i], read->entities[i]);
    EXPECT_FALSE(parse_part_text(bytes.substr(0, bytes.size() - 1)).has_value()) << "a part cut off";
  }
  EXPECT_LT(part_text(entities, "x/", true).size(), part_text(entities, "x/", false).size() / 4);
  EXPECT_TRUE(parse_part_text(part_text(entities, "", false))->archive.empty()) << "of an earlier version";
  EXPECT_FALSE(parse_part_text(part_text(entities, "a/", false) + part_text(entities, "b/", false)).has_value());
}

TEST(PartText, DecompressionIsBounded) {
  const auto bomb = gzip_compress(std::string(10'000'000, 'x'));
  EXPECT_TRUE(gzip_decompress(bomb, 1'000'000).failed_with(ErrorCode::kCorruption));
  EXPECT_EQ(gzip_decompress(bomb, 10'000'000)->size(), 10'000'000U);
  auto broken = bomb;
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
  EXPECT_TRUE(gzip_decompress(broken, 10'000'000).failed_with(ErrorCode::kCorruption));
  EXPECT_TRUE(gzip_decompress(bomb + "x", 10'000'000).failed_with(ErrorCode::kCorruption));
}

TEST(ObjectNames, NoTwoKeysShareASegment) {
  const std::string long_a(512, 'a');
  const auto long_b = std::string(511, 'a') + "b";
  std::string wide;
  for (int i = 0; i < 512; ++i) wide += "\xE6\xBC\xA2";
  std::set<std::string> segments;
  const std::vector<std::string> keys = {"",   "~",        ".",    "..",   "%",  "%7E", "a",   "A", "a b",
                                         "a.", "\xC3\xA9", long_a, long_b, wide, "'",   "a~b", "+"};
  for (const auto& key : keys) {
    const auto segment = key_segment(key);
    EXPECT_TRUE(segments.insert(segment).second) << segment;
    EXPECT_LE(segment.size(), kMaxKeySegment);
    EXPECT_FALSE(segment.empty());
    for (const char c : segment)
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-_%~", c)) << c;
  }
  EXPECT_EQ(key_segment("a b.\xC3\xA9"), "a%20b%2E%C3%A9");
  EXPECT_EQ(key_segment(""), "~");
}

TEST(ObjectNames, AreSaidInTheHeader) {
  ObjectArchive archive;
  archive.prefix = "old/";
  archive.table = "People";
  EXPECT_EQ(document_name(archive, "p/q", ""), "old/people/p%2Fq/~.json");
  const auto version = parse_iso8601("2026-01-02T03:04:05Z")->time_since_epoch().count();
  EXPECT_EQ(part_group(archive, "p q", version), "p%20q");
  archive.per = PartUnit::kHour;
  EXPECT_EQ(part_group(archive, "p", version), "2026-01-02T03");
  archive.per = PartUnit::kDay;
  EXPECT_EQ(part_group(archive, "p", version), "2026-01-02");
  archive.per = PartUnit::kMonth;
  EXPECT_EQ(part_group(archive, "p", version), "2026-01");
  archive.gzip = true;
  EXPECT_EQ(part_name(archive, "2026-01", "job", 3, 12), "old/people/2026-01/job-0003-000012.jsonl.gz");
  EXPECT_TRUE(is_part_name("x/job-0003-000012.jsonl.gz"));
  EXPECT_TRUE(is_document_name("x.json"));
  EXPECT_FALSE(is_document_name("x.jsonl"));
}

TEST(ObjectNames, BelongToOneArchiveAlone) {
  ObjectArchive people;
  people.table = "People";
  ObjectArchive below;  // its root begins with the other's
  below.prefix = "people/";
  below.table = "Others";
  EXPECT_TRUE(is_object_name(people, document_name(people, "p", "r")));
  EXPECT_TRUE(is_object_name(below, document_name(below, "p", "r")));
  EXPECT_FALSE(is_object_name(people, document_name(below, "p", "r")));
  EXPECT_FALSE(is_object_name(below, document_name(people, "p", "r")));
  EXPECT_FALSE(is_object_name(people, part_name(people, "g", "job", 1, 1))) << "another format";
  people.format = below.format = ArchiveFormat::kLines;
  EXPECT_TRUE(is_object_name(people, part_name(people, "g", "job", 1, 1)));
  EXPECT_FALSE(is_object_name(people, part_name(below, "g", "job", 1, 1)));
  EXPECT_EQ(root_of_object("people/others/p/r.json"), "people/others/");
  for (const auto* name : {"", "/", "a", "a/b", "/b"}) EXPECT_EQ(root_of_object(name), "") << name;
}

std::string problems_of(const std::string& destination) {
  const auto spec =
      parse_job_spec(R"({"kind":"archive","source":"People","filter":"","destination":)" + destination + "}");
  return spec ? "" : spec.error().message;
}

TEST(ObjectArchive, IsReadAndWrittenBack) {
  for (const auto* text :
       {R"({"container":"old-people","table":"People","format":"entity"})",
        R"({"container":"abc","prefix":"a/b.c/","table":"Other","format":"lines","per":"hour","gzip":true})",
        R"({"directory":"nas_1","table":"People","format":"lines","per":"partition"})"}) {
    const auto spec =
        parse_job_spec(std::string(R"({"kind":"archive","source":"People","filter":"","destination":)") + text + "}");
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    EXPECT_NE(canonical_text(*spec).find(text), std::string::npos) << canonical_text(*spec);
    const auto again = parse_job_spec(canonical_text(*spec));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*again, *spec);
    const auto back =
        parse_job_spec(std::string(R"({"kind":"unarchive","destination":"People","filter":"","source":)") + text + "}");
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(std::get<UnarchiveSpec>(back->work).archive, std::get<ArchiveSpec>(spec->work).archive);
  }
}

TEST(ObjectArchive, RefusesNamesThatLeadElsewhere) {
  for (const auto* destination :
       {R"({})", R"({"container":"a","directory":"b"})", R"({"container":"Up"})", R"({"container":"a--b"})",
        R"({"directory":"/etc"})", R"({"directory":".."})", R"({"container":"abc","prefix":"../"})",
        R"({"container":"abc","prefix":"/a/"})", R"({"container":"abc","prefix":"a"})",
        R"({"container":"abc","prefix":"a//"})", R"({"container":"abc","prefix":"./"})",
        R"({"container":"abc","prefix":"a/.hidden/"})", R"({"container":"abc","format":"xml"})",
        R"({"container":"abc","gzip":true})", R"({"container":"abc","per":"day"})",
        R"({"container":"abc","format":"lines","per":"week"})", R"({"container":"abc","color":"red"})",
        R"({"container":"abc","table":"1"})", R"({"container":"abc","table":"TidemarkJobs"})"}) {
    EXPECT_NE(problems_of(destination), "") << destination;
  }
  EXPECT_EQ(problems_of(R"({"container":"abc","prefix":"a/b-c_d/e.f/"})"), "");
}

}  // namespace
}  // namespace tidemark::jobs
