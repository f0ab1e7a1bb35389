// Definitions of indexes: parsing, refusals with every problem, and definitions that exclude each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "indexes/store/declare.h"

namespace tidemark::indexes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kCopies =
    R"({"kind":"copies","source":"Employees","filter":"Grade gt 3 and not (Left or Timestamps eq 1) ",
    "destination" : "EmployeesByMail",
    "partitionKey" : "{Department}",
    "rowKey" : "mail_{Email}_{RowKey}",
    "properties" : ["Name"],
    "maxChanges" : 5,
    "beyond" : "refuse",
    "buildPerSecond" : 100,
    "scrubPerSecond" : 7
})";
constexpr std::string_view kLists =
    R"({"kind":"lists","source":"Packages","by":["Maintainer","PartitionKey"],"where":"partition",
        "destination":"Packages","unique":true})";
constexpr std::string_view kInBlobs =
    R"({"kind":"lists","source":"Packages","by":["Maintainer"],"where":"blobs","container":"lists","prefix":"by/"})";
constexpr std::string_view kSummary =
    R"({"kind":"summary","source":"Packages","by":["Section"],"of":"InstalledSize","destination":"Sections"})";

constexpr std::string_view kDenormalised =
    R"({"kind":"denormalised","source":"Departments","destination":"Employees","filter":"Left ne true",
        "partitionKey":"{Country}","rowKey":"{DepartmentId}","properties":{"DepartmentName":"Name","Head":"Head"},
        "missing":"empty"})";

Definition read(std::string_view text) {
  auto definition = parse_definition(text);
  EXPECT_TRUE(definition) << definition.error().message;
  return definition ? std::move(*definition) : Definition{};
}

std::vector<std::string> problems_of(std::string_view text) {
  std::vector<std::string> out;
  const auto definition = parse_definition(text);
  if (definition) return out;
  EXPECT_EQ(definition.error().code, ErrorCode::kIndexInvalid);
  for (const auto& [name, problem] : definition.error().fields) out.push_back(problem);
  EXPECT_FALSE(out.empty());
  return out;
}

TEST(IndexDefinition, IsReadAndWrittenWithoutLoss) {
  for (const auto text : {kCopies, kLists, kInBlobs, kSummary, kDenormalised}) {
    const auto definition = read(text);
    EXPECT_EQ(read(to_json(definition).dump()), definition) << to_json(definition);
  }
  const auto copies = read(kCopies);
  EXPECT_EQ(copies.kind_name(), "copies");
  EXPECT_EQ(copies.destination(), "EmployeesByMail");
  EXPECT_EQ(copies.max_changes, 5U);
  EXPECT_TRUE(copies.refuse_writes);
  EXPECT_EQ(std::get<CopiesKind>(copies.kind).properties, std::vector<std::string>{"Name"});
  EXPECT_EQ(std::get<ListsKind>(read(kLists).kind).where, ListsKind::Where::kPartition);
  EXPECT_EQ(std::get<SummaryKind>(read(kSummary).kind).of, "InstalledSize");
  EXPECT_EQ(read(kSummary).scrub_per_second, 200U);
}

TEST(IndexDefinition, KnowsOnWhatThePlaceOfARowDepends) {
  EXPECT_THAT(read(kCopies).key_properties(), ElementsAre("Department", "Email", "Grade", "Left", "Timestamps"));
  EXPECT_THAT(read(kLists).key_properties(), ElementsAre("Maintainer"));
  EXPECT_THAT(read(kSummary).key_properties(), ElementsAre("Section"));
  EXPECT_THAT(read(kDenormalised).key_properties(), ElementsAre("Country", "DepartmentId", "Left"));
}

TEST(IndexDefinition, KnowsWhatItFollows) {
  EXPECT_EQ(read(kLists).entities(), "Packages");
  EXPECT_EQ(read(kLists).referred(), "");
  const auto denormalised = read(kDenormalised);
  EXPECT_EQ(denormalised.entities(), "Employees");
  EXPECT_EQ(denormalised.referred(), "Departments");
  EXPECT_TRUE(denormalised.follows("departments"));
  EXPECT_TRUE(denormalised.follows("employees"));
  EXPECT_FALSE(denormalised.follows("Others"));
}

TEST(IndexDefinition, NamesOfDenormalisedPropertiesMayBeTheSame) {
  const auto definition = read(
      R"({"kind":"denormalised","source":"Abc","destination":"Def","partitionKey":"a","rowKey":"{B}",
          "properties":["Name","Head"]})");
  const auto& kind = std::get<DenormalisedKind>(definition.kind);
  EXPECT_THAT(kind.properties,
              ElementsAre(DenormalisedKind::Taken{"Head", "Head"}, DenormalisedKind::Taken{"Name", "Name"}));
  EXPECT_EQ(kind.missing, DenormalisedKind::Missing::kRemove);
}

TEST(IndexDefinition, TellsOfViolationsOnlyWhatIsUnique) {
  constexpr std::string_view kTold =
      R"({"kind":"lists","source":"Abc","by":["X"],"destination":"Def","unique":true,
          "onViolation":{"url":"https://example.com/hook","secret":"s2"}})";
  const auto definition = read(kTold);
  EXPECT_EQ(std::get<ListsKind>(definition.kind).on_violation->secret, "s2");
  EXPECT_EQ(read(to_json(definition).dump()), definition);
  EXPECT_THAT(problems_of(R"({"kind":"lists","source":"Abc","by":["X"],"destination":"Def",
                              "onViolation":{"url":"ftp://x"}})"),
              ElementsAre(HasSubstr("onViolation: url"), HasSubstr("for lists with unique: true")));
}

TEST(IndexDefinition, RefusesDenormalisedValuesThatNeverRest) {
  EXPECT_THAT(
      problems_of(R"({"kind":"denormalised","source":"Abc"})"),
      ElementsAre("destination is missing", "partitionKey is missing", "rowKey is missing", "properties is missing"));
  EXPECT_THAT(problems_of(R"({"kind":"denormalised","source":"Abc","destination":"abc","partitionKey":"{A}",
                              "rowKey":"{B}","properties":{"B":"C","C":"D","E":"C"},"filter":"E eq 1",
                              "beyond":"refuse","missing":"null"})"),
              ElementsAre(HasSubstr("missing must be one of remove, empty"), HasSubstr("properties must not set B"),
                          HasSubstr("must not set C and take it as B in one table"),
                          HasSubstr("must not set C and take it as E in one table"),
                          HasSubstr("beyond: refuse is not for denormalised"), HasSubstr("filter must not use E")));
  for (const auto* bad : {"[]", "{}", "\"A\"", "[\"A\",\"A\"]", "[1]", "{\"RowKey\":\"A\"}", "{\"A\":\"Timestamp\"}"}) {
    EXPECT_THAT(problems_of(std::string(R"({"kind":"denormalised","source":"Abc","destination":"Def",
                                            "partitionKey":"a","rowKey":"{B}","properties":)") +
                            bad + "}"),
                ElementsAre(HasSubstr("properties must be 1 to 64 names")))
        << bad;
  }
}

TEST(IndexDefinition, ListsEveryProblem) {
  EXPECT_THAT(
      problems_of(
          R"({"kind":"copies","source":"1x","filter":"a eq","destination":"tidemarkjobs","partitionKey":"{a","rowKey":"{Timestamp}",
              "properties":["a","a"],"maxChanges":0,"beyond":"wait","buildPerSecond":-1,"scrubPerSecond":0,"more":1})"),
      ElementsAre(HasSubstr("source must be a table name"), HasSubstr("filter: "), HasSubstr("maxChanges must be"),
                  HasSubstr("beyond must be one of stale, refuse"), HasSubstr("buildPerSecond must be"),
                  HasSubstr("scrubPerSecond must be"), HasSubstr("destination must not be tidemarkjobs"),
                  HasSubstr("partitionKey has a brace"), HasSubstr("rowKey must not use {Timestamp}"),
                  HasSubstr("properties must be a list of 1 to 64"), HasSubstr("unknown member 'more'")));
  EXPECT_THAT(problems_of("{}"), ElementsAre("kind is missing", "source is missing"));
  EXPECT_THAT(problems_of(R"({"kind":"copies","source":"Abc"})"),
              ElementsAre("destination is missing", "partitionKey is missing", "rowKey is missing"));
  EXPECT_THAT(problems_of(R"({"kind":"lists","source":"Abc"})"),
              ElementsAre("by is missing", "destination is missing"));
  EXPECT_THAT(problems_of("[]"), ElementsAre("it must be a JSON object"));
  EXPECT_THAT(problems_of("{"), SizeIs(1));
  EXPECT_THAT(problems_of(std::string(100'000, ' ')), ElementsAre(HasSubstr("longer than 30000 bytes")));
}

TEST(IndexDefinition, RefusesWhatCouldNotFollow) {
  const auto first_problem = [](std::string_view text) {
    const auto problems = problems_of(text);
    return problems.empty() ? std::string() : problems.front();
  };
  EXPECT_THAT(
      first_problem(
          R"({"kind":"copies","source":"Abc","destination":"aBC","partitionKey":"{PartitionKey}","rowKey":"{RowKey}"})"),
      HasSubstr("need other keys"));
  EXPECT_THAT(first_problem(R"({"kind":"lists","source":"Abc","by":["X"],"destination":"abc"})"),
              HasSubstr("destination must not be the source"));
  EXPECT_THAT(first_problem(R"({"kind":"summary","source":"Abc","by":["X"],"destination":"Abc"})"),
              HasSubstr("destination must not be the source"));
  EXPECT_THAT(problems_of(R"({"kind":"lists","source":"Abc","by":["X"],"where":"blobs","destination":"Def"})"),
              ElementsAre("container is missing", "destination is for where: across and partition"));
  EXPECT_THAT(problems_of(R"({"kind":"lists","source":"Abc","by":["X"],"where":"blobs","container":"C","prefix":"p"})"),
              ElementsAre(HasSubstr("container must have 3 to 63"), HasSubstr("prefix must be segments")));
  EXPECT_THAT(first_problem(R"({"kind":"lists","source":"Abc","by":["X"],"destination":"Def","container":"c"})"),
              HasSubstr("container and prefix are for where: blobs"));
  EXPECT_THAT(first_problem(R"({"kind":"lists","source":"Abc","by":["Timestamp"],"destination":"Def"})"),
              HasSubstr("changes with every write"));
  EXPECT_THAT(first_problem(R"({"kind":"lists","source":"Abc","by":["A","B","C","D","E"],"destination":"Def"})"),
              HasSubstr("list of 1 to 4"));
  EXPECT_THAT(first_problem(R"({"kind":"summary","source":"Abc","by":["X"],"of":"RowKey","destination":"Def"})"),
              HasSubstr("holds numbers"));
  EXPECT_THAT(
      first_problem(
          R"({"kind":"lists","source":"Abc","by":["X"],"destination":"Def","filter":"Timestamp gt datetime'2026-01-01'"})"),
      HasSubstr("filter must not use Timestamp"));
  for (const auto* table : {"TidemarkJobs", "tidemarkfiles", "TidemarkOnChange"}) {
    EXPECT_THAT(
        first_problem(std::string(R"({"kind":"lists","by":["X"],"destination":"Def","source":")") + table + "\"}"),
        HasSubstr("source must not be"));
  }
  EXPECT_THAT(problems_of(R"({"kind":"triggers","source":"Abc"})"),
              ElementsAre("kind must be one of copies, lists, summary, denormalised"));
}

TEST(IndexDefinition, Names) {
  EXPECT_TRUE(is_index_name("by-mail2"));
  for (const auto* bad : {"", "2mail", "by_mail", "-a", "a/b", "a.b"}) EXPECT_FALSE(is_index_name(bad)) << bad;
  EXPECT_TRUE(is_index_name(std::string(63, 'a')));
  EXPECT_FALSE(is_index_name(std::string(64, 'a')));
}

Index declared(const std::string& name, std::string_view text) {
  Index index;
  index.name = name;
  index.definition = read(text);
  return index;
}

std::string declared_lists(const std::string& source, const std::string& destination,
                           const std::string& where = "across") {
  return R"({"kind":"lists","by":["X"],"source":")" + source + R"(","destination":")" + destination + R"(","where":")" +
         where + "\"}";
}

std::string copies(const std::string& partition_key, const std::string& row_key) {
  return R"({"kind":"copies","source":"Abc","destination":"Def","partitionKey":")" + partition_key + R"(","rowKey":")" +
         row_key + "\"}";
}

TEST(IndexConflicts, RowsThatMayMeet) {
  const auto meet = [](const std::string& one, const std::string& other) {
    return !conflicts_of("one", read(one), {declared("two", other)}).empty();
  };
  EXPECT_TRUE(meet(declared_lists("Abc", "Def"), declared_lists("Ghi", "dEF")));
  EXPECT_FALSE(meet(declared_lists("Abc", "Def"), declared_lists("Abc", "Ghi")));
  EXPECT_FALSE(meet(declared_lists("Abc", "Def", "partition"), declared_lists("Ghi", "Def", "partition")));
  EXPECT_TRUE(
      meet(declared_lists("Abc", "Def"), R"({"kind":"summary","source":"Abc","by":["X"],"destination":"Def"})"));
  EXPECT_TRUE(meet(copies("{A}", "{B}"), copies("{A}", "b_{B}")));
  EXPECT_FALSE(meet(copies("{A}", "a_{B}"), copies("{A}", "b_{B}")));
  EXPECT_FALSE(meet(copies("a_{A}", "{B}"), copies("b_{A}", "{B}")));
  EXPECT_TRUE(meet(copies("{A}", "a{B}"), copies("{A}", "aa_{B}")));
  EXPECT_FALSE(meet(copies("{A}", "mail_{B}"), declared_lists("Abc", "Def", "partition")));
  EXPECT_TRUE(meet(copies("{A}", "two_{B}"), declared_lists("Abc", "Def", "partition")));
}

TEST(IndexConflicts, KeysOfWhatALookupCannotAskFor) {
  for (const std::string name : {"prefix", "top", "continuation", "select", "minVersion", "maxLag", "wait"}) {
    const auto problem = HasSubstr("must not be made of " + name + ",");
    EXPECT_THAT(conflicts_of("one", read(copies("{" + name + "}", "{B}")), {}), ElementsAre(problem));
    EXPECT_THAT(conflicts_of("one", read(copies("{A}", "b_{" + name + "}")), {}), ElementsAre(problem));
    EXPECT_TRUE(parse_definition(std::string_view(copies("{" + name + "}", "{B}")))) << "it may be there already";
  }
  EXPECT_THAT(conflicts_of("one", read(copies("{Top}", "{value}")), {}), IsEmpty());
}

TEST(IndexConflicts, BlobsThatMayMeet) {
  const auto in = [](const std::string& container, const std::string& prefix) {
    return R"({"kind":"lists","by":["X"],"source":"Abc","where":"blobs","container":")" + container +
           R"(","prefix":")" + prefix + "\"}";
  };
  const auto meet = [](const std::string& one, const std::string& other) {
    return !conflicts_of("one", read(one), {declared("two", other)}).empty();
  };
  EXPECT_TRUE(meet(in("lists", ""), in("lists", "by-name/")));
  EXPECT_TRUE(meet(in("lists", "by/name/"), in("lists", "by/")));
  EXPECT_FALSE(meet(in("lists", "by-name/"), in("lists", "by/")));
  EXPECT_FALSE(meet(in("lists", ""), in("others", "")));
  EXPECT_FALSE(meet(in("lists", ""), declared_lists("Abc", "Def")));
}

TEST(IndexConflicts, Circles) {
  const std::vector<Index> others{declared("a", declared_lists("Abc", "Def")),
                                  declared("b", declared_lists("Def", "Ghi")),
                                  declared("c", declared_lists("Ghi", "Ghi", "partition"))};
  EXPECT_THAT(conflicts_of("d", read(declared_lists("Ghi", "Jkl")), others), IsEmpty());
  EXPECT_THAT(conflicts_of("d", read(declared_lists("ghi", "abc")), others),
              ElementsAre(HasSubstr("leads back to the source ghi by the indexes a, b")));
  EXPECT_THAT(conflicts_of("d", read(declared_lists("Def", "Def", "partition")), others), IsEmpty());
}

std::string denormalised(const std::string& source, const std::string& destination, const std::string& row_key,
                         const std::string& properties) {
  return R"({"kind":"denormalised","partitionKey":"{P}","source":")" + source + R"(","destination":")" + destination +
         R"(","rowKey":"{)" + row_key + R"(}","properties":)" + properties + "}";
}

TEST(IndexConflicts, CirclesOfDenormalisedValues) {
  const std::vector<Index> others{declared("a", denormalised("Abc", "Def", "R", R"({"X":"Y"})"))};
  const auto problems = [&](const std::string& text) { return conflicts_of("b", read(text), others); };
  EXPECT_THAT(problems(denormalised("Def", "Abc", "R", R"({"Y":"X"})")), ElementsAre(HasSubstr("leads back")));
  EXPECT_THAT(problems(denormalised("Def", "Abc", "R", R"({"Z":"X"})")), IsEmpty()) << "nobody takes Z";
  EXPECT_THAT(problems(denormalised("Def", "Abc", "R", R"({"Y":"Z"})")), IsEmpty()) << "nobody sets Z";
  EXPECT_THAT(problems(denormalised("Def", "Def", "X", R"({"Z":"V"})")), IsEmpty());
  EXPECT_THAT(problems(denormalised("Ghi", "Def", "R", R"({"X":"V"})")), ElementsAre(HasSubstr("X is set by index a")));
  EXPECT_THAT(problems(declared_lists("Def", "Abc")), ElementsAre(HasSubstr("leads back")))
      << "any row of Abc may be taken";
  EXPECT_THAT(problems(declared_lists("Def", "Ghi")), IsEmpty());
  const std::vector<Index> in_one{declared("a", denormalised("Abc", "Abc", "R", R"({"X":"Y"})"))};
  EXPECT_THAT(conflicts_of("b", read(denormalised("Abc", "Abc", "S", R"({"Y":"X"})")), in_one),
              ElementsAre(HasSubstr("leads back")));
  EXPECT_THAT(conflicts_of("b", read(denormalised("Abc", "Abc", "X", R"({"Z":"V"})")), in_one), IsEmpty());
  EXPECT_THAT(conflicts_of("b", read(denormalised("Abc", "Abc", "X", R"({"R":"V"})")), in_one),
              ElementsAre(HasSubstr("leads back")))
      << "each sets what the other refers by";
}

TEST(IndexConflicts, AsManyAsATableCanHave) {
  std::vector<Index> others;
  for (char c = 'a'; c < 'q'; ++c) others.push_back(declared({c}, declared_lists("Abc", std::string("Def") + c)));
  ASSERT_THAT(others, SizeIs(table_store::kMaxFollowers));
  EXPECT_THAT(conflicts_of("z", read(declared_lists("Abc", "Defz")), others),
              ElementsAre(HasSubstr("as many as a table")));
  EXPECT_THAT(conflicts_of("z", read(denormalised("Ghi", "Abc", "R", R"(["X"])")), others),
              ElementsAre(HasSubstr("destination Abc has 16 indexes")));
}

}  // namespace
}  // namespace tidemark::indexes
