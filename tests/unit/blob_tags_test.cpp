// Tags: valid tags, expressions, and the index against a look at every blob.
#include <map>

#include "blob_store/model/conditions.h"
#include "blob_store/model/tag_query.h"
#include "blob_store/model/tags.h"
#include "blob_store/rest/blob_xml.h"
#include "blob_store/rest/crc64.h"
#include "tests/support/blob_service_fixture.h"

namespace tidemark::blob_store {
namespace {

TEST(BlobTags, Checks) {
  EXPECT_EQ(*checked_tags({{"b", "2"}, {"a", "1"}}), (Tags{{"a", "1"}, {"b", "2"}}));
  EXPECT_TRUE(checked_tags({{"A z0+-./:=_", ""}}));
  EXPECT_TRUE(checked_tags({{"", "1"}}).failed_with(ErrorCode::kEmptyTagName));
  EXPECT_TRUE(checked_tags({{"a", "1"}, {"a", "2"}}).failed_with(ErrorCode::kDuplicateTagNames));
  EXPECT_TRUE(checked_tags({{"a", "1"}, {"A", "2"}}));
  EXPECT_TRUE(checked_tags({{"a#", "1"}}).failed_with(ErrorCode::kInvalidTag));
  EXPECT_TRUE(checked_tags({{"a", "\xC3\xA9"}}).failed_with(ErrorCode::kInvalidTag));
  EXPECT_TRUE(checked_tags({{std::string(128, 'k'), std::string(256, 'v')}}));
  EXPECT_TRUE(checked_tags({{std::string(129, 'k'), ""}}).failed_with(ErrorCode::kTagsTooLarge));
  EXPECT_TRUE(checked_tags({{"k", std::string(257, 'v')}}).failed_with(ErrorCode::kTagsTooLarge));
  EXPECT_TRUE(checked_tags(Tags(11)).failed_with(ErrorCode::kTagsTooLarge));
}

TEST(BlobTags, Header) {
  EXPECT_EQ(*parse_tag_header("t1=a%20b&t2=x%2Fy&t+3=c+d&t4="),
            (Tags{{"t 3", "c d"}, {"t1", "a b"}, {"t2", "x/y"}, {"t4", ""}}));
  EXPECT_TRUE(parse_tag_header("")->empty());
  EXPECT_TRUE(parse_tag_header("a=%2").failed_with(ErrorCode::kInvalidTag));
  EXPECT_TRUE(parse_tag_header("=1").failed_with(ErrorCode::kEmptyTagName));
  EXPECT_TRUE(parse_tag_header("a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=0&k=1").failed_with(ErrorCode::kTagsTooLarge));
}

TEST(BlobTags, Xml) {
  const std::string tags =
      "<Tags><TagSet><Tag><Key>b</Key><Value>2</Value></Tag>"
      "<Tag><Key>a</Key><Value /></Tag></TagSet></Tags>";
  EXPECT_EQ(*parse_tags(tags), (Tags{{"a", ""}, {"b", "2"}}));
  EXPECT_TRUE(parse_tags("<Tags><TagSet /></Tags>")->empty());
  for (const auto* const bad : {"", "<Tags />", "<Tags><TagSet><Tag><Key>a</Key></Tag></TagSet></Tags>",
                                "<Tags><TagSet><Tog><Key>a</Key><Value/></Tog></TagSet></Tags>"}) {
    EXPECT_TRUE(parse_tags(bad).failed_with(ErrorCode::kInvalidXmlDocument)) << bad;
  }
}

TEST(BlobTags, Conditions) {
  const Tags tags{{"a", "1"}, {"b", "x y"}};
  const std::pair<std::string_view, bool> cases[] = {
      {R"("a" = '1')", true},
      {"a='1'", true},
      {"a = '2'", false},
      {"a <> '2' AND b > 'x'", true},
      {"a <> '1' or b >= 'x y'", true},
      {"a < '1' OR a > '1'", false},
      {"a <= '1'", true},
      {"a = '2' AND a = '1' OR b = 'x y'", true},
      {"a = '2' AND (a = '1' OR b = 'x y')", false},
      {"((a = '1'))", true},
      {"missing = ''", false},
      {"missing <> 'x'", true},
      {"missing < 'x'", false},
      {R"("b"='x y'and a='1')", true},
  };
  for (const auto& [text, holds] : cases) {
    const auto condition = TagCondition::parse(text);
    ASSERT_TRUE(condition) << text;
    EXPECT_EQ(condition->holds(tags), holds) << text;
  }
  EXPECT_TRUE(TagCondition().holds(tags));
  const auto deep = std::string(100, '(') + "a='1'" + std::string(100, ')');
  for (const std::string& bad :
       {std::string(), std::string("a"), std::string("a ="), std::string("a = 1"), std::string("a = '1"),
        std::string("'a' = '1'"), std::string("a = '1' b = '2'"), std::string("a = '1' AND"), std::string("(a = '1'"),
        std::string("a = '1')"), std::string("\"\" = '1'"), std::string("a == '1'"), std::string("a+1 = '1'"),
        std::string("a--1 = '1'"), std::string("@container = 'box'"), std::string("@a = '1'"),
        std::string("\"a#\" = '1'"), std::string("a = '$'"), deep}) {
    EXPECT_TRUE(TagCondition::parse(bad).failed_with(ErrorCode::kInvalidInput)) << bad;
  }
}

TEST(BlobTags, AConditionHasAsManyTermsAndAsLongOnesAsItsHeader) {
  const Tags tags{{"a", "1"}};
  std::string many = "a <> 'v0'";
  for (int i = 1; i < 3000; ++i) many += " and a <> 'v" + std::to_string(i) + "'";
  EXPECT_TRUE(TagCondition::parse(many)->holds(tags));
  EXPECT_FALSE(TagCondition::parse(many + " and a <> '1'")->holds(tags));
  EXPECT_TRUE(TagCondition::parse("a <> '" + std::string(300, 'v') + "'")->holds(tags));
  EXPECT_FALSE(TagCondition::parse(std::string(140, 'k') + " = '1'")->holds(tags));
}

TEST(BlobTags, ConditionsOfReadsAndWrites) {
  Conditions conditions;
  conditions.if_tags = *TagCondition::parse("a = '1'");
  std::optional<Blob> blob(std::in_place);
  EXPECT_TRUE(admit_read(conditions, *blob, Time()).failed_with(ErrorCode::kConditionNotMet));
  EXPECT_TRUE(admit_write(conditions, blob, false, Time()).failed_with(ErrorCode::kConditionNotMet));
  blob->tags = {{"a", "1"}};
  EXPECT_TRUE(admit_read(conditions, *blob, Time()));
  EXPECT_TRUE(admit_write(conditions, blob, false, Time()));
  blob.reset();
  EXPECT_TRUE(admit_write(conditions, blob, true, Time()).failed_with(ErrorCode::kConditionNotMet));
}

TEST(BlobTags, Searches) {
  const auto search = TagSearch::parse(R"(@container = 'c' AND tag1='x' and "tag 2" >= 'y')");
  ASSERT_TRUE(search);
  EXPECT_EQ(search->container, "c");
  ASSERT_EQ(search->terms.size(), 2U);
  EXPECT_EQ(search->terms[1].key, "tag 2");
  EXPECT_TRUE(search->matches({{"tag 2", "z"}, {"tag1", "x"}}));
  EXPECT_FALSE(search->matches({{"tag1", "x"}}));
  EXPECT_TRUE(TagSearch::parse("@container='$web' and a='1'"));
  for (const auto* const bad : {"", "a='1' or b='2'", "(a='1')", "a<>'1'", "@container='c'", "@container>'c' and a='1'",
                                "@container='c' and @container='d' and a='1'", "a='1' and"}) {
    EXPECT_TRUE(TagSearch::parse(bad).failed_with(ErrorCode::kInvalidInput)) << bad;
  }
}

TEST(BlobTags, ASearchThatIsNoneSaysWhere) {
  const auto near = [](int position, const std::string& why) {
    return "Error parsing query at or near character position " + std::to_string(position) + ": " + why;
  };
  const std::string range =
      "Error parsing query: can't have multiple conditions for a single tag unless they define a range";
  const std::pair<std::string, std::string> cases[] = {
      {"a='1' and @container11='c'", near(11, "unsupported parameter '@container11'")},
      {R"("k#"='1')", near(3, "a character is not permitted in tag name or value")},
      {"k='v @'", near(6, "a character is not permitted in tag name or value")},
      {"'k'='v'", near(1, "expected a tag name, in double quotes unless it is a word")},
      {"k-1='v'", near(2, "expected an operator: =, <>, <, <=, > or >=")},
      {"k = v", near(5, "expected a tag value in single quotes")},
      {"k='v' or l='w'", near(7, "expected AND or the end")},
      {std::string(129, 'k') + "='v'", near(1, "tag must be between 1 and 128 characters in length")},
      {"k='" + std::string(257, 'v') + "'", near(3, "tag value must be between 0 and 256 characters in length")},
      {"a='1' and a='2'", range},
      {"a>'1' and b='2' and a>='2'", range},
      {"a='1' and a<'2'", range},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(TagSearch::parse(text).error().message, message) << text;
  EXPECT_TRUE(TagSearch::parse("a>='1' and a<'2'"));
  const auto of_container = TagSearch::parse("a='1' and @container='c'", SearchedIn::kContainer);
  EXPECT_EQ(of_container.error().message, near(11, "unsupported parameter '@container'"));
}

TEST(BlobTags, ASearchNamesTenTagsAndTheContainer) {
  std::string ten = "@container='c'";
  for (int i = 0; i < 10; ++i) ten += " and k" + std::to_string(i) + ">'a' and k" + std::to_string(i) + "<'b'";
  EXPECT_EQ(TagSearch::parse(ten)->terms.size(), 20U);
  EXPECT_EQ(TagSearch::parse(ten + " and k10='a'").error().message,
            "Error parsing query: there can be at most 10 unique tags in a query");
}

TEST(BlobChecksum, Crc64) {
  EXPECT_EQ(crc64_text(crc64("hello world")), "vo7q9sPVKY0=");
  EXPECT_EQ(crc64_text(crc64("AAA")), "Cc/2Kr4DuKg=");
  EXPECT_EQ(crc64_text(crc64("BBB")), "+3yuPEA7IqE=");
  EXPECT_EQ(crc64("123456789"), 0xAE8B14860A799888U);
  // Bit by bit, for every length at which another way of computing begins or ends.
  std::string text;
  std::uint64_t sum = ~std::uint64_t{0};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(crc64(text), ~sum) << i;
    text += static_cast<char>(i * 37 + i / 7);
    sum ^= static_cast<unsigned char>(text.back());
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x9A6C9329AC4BC9B5U : 0);
  }
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc64(std::string_view(text).substr(cut), crc64(std::string_view(text).substr(0, cut))), crc64(text));
  }
}

class BlobTagIndexTest : public BlobServiceTest {
 protected:
  void create(const std::string& container) { ASSERT_TRUE(run(service_.create_container({"acc", container}, {}, ""))); }
  void put(const std::string& container, const std::string& name, const Tags& tags) {
    NewContent content;
    content.tags = tags;
    ASSERT_TRUE(run(service_.put_blob({"acc", container, name}, content, upload(""), {})));
    expected_[container][name] = tags;
  }
  void set(const std::string& container, const std::string& name, const Tags& tags) {
    ASSERT_TRUE(run(service_.set_tags({"acc", container, name}, tags, {})));
    expected_[container][name] = tags;
  }
  void erase(const std::string& container, const std::string& name) {
    ASSERT_TRUE(run(service_.delete_blob({"acc", container, name}, DeleteSnapshots::kNone, {})));
    expected_[container].erase(name);
  }
  std::vector<std::string> find(const std::string& where, const std::string& container = "", std::size_t limit = 5000) {
    TagFind find{*TagSearch::parse(where), container, {}, limit};
    std::vector<std::string> found;
    do {
      const auto page = service_.find_by_tags("acc", find);
      EXPECT_TRUE(page);
      EXPECT_LE(page->items.size(), limit);
      for (const auto& item : page->items) found.push_back(item.container + "/" + item.name);
      find.from = page->next;
    } while (!find.from.name.empty());
    return found;
  }
  std::vector<std::string> naive(const std::string& where, const std::string& container = "") {
    const auto search = *TagSearch::parse(where);
    std::vector<std::string> found;
    for (const auto& [box, blobs] : expected_) {
      if ((!container.empty() && box != container) || (search.container && box != *search.container)) continue;
      for (const auto& [name, tags] : blobs) {
        if (search.matches(tags)) found.push_back(box + "/" + name);
      }
    }
    return found;
  }
  std::size_t rows(char kind) { return keys_of(kind).size(); }

  std::map<std::string, std::map<std::string, Tags>> expected_;
};

TEST_F(BlobTagIndexTest, FindsWhatALookAtEveryBlobFinds) {
  for (const auto* const box : {"one", "two", "three"}) create(box);
  const std::string boxes[] = {"one", "two", "three"};
  const auto random_tags = [&] {
    Tags tags;
    for (const auto* const key : {"a", "b", "c"}) {
      if (random_->below(2) == 0) tags.emplace_back(key, std::to_string(random_->below(4)));
    }
    return tags;
  };
  for (int i = 0; i < 600; ++i) {
    const auto& box = boxes[random_->below(3)];
    const auto name = "blob/" + std::to_string(random_->below(30));
    const bool there = expected_[box].contains(name);
    const auto action = random_->below(4);
    if (action == 0 && there) {
      erase(box, name);
    } else if (action == 1 && there) {
      set(box, name, random_tags());
    } else {
      put(box, name, random_tags());
    }
  }
  for (const auto* const where : {"a='1'", "a='1' and b='2'", "b>'1'", "c<='2' and a>='0'", "a='9'",
                                  "@container='two' and a='1'", "@container='gone' and a='1'"}) {
    for (const std::size_t limit : {1U, 7U, 5000U}) {
      EXPECT_EQ(find(where, "", limit), naive(where)) << where;
      const bool names_one = std::string_view(where).starts_with('@');
      if (!names_one) EXPECT_EQ(find(where, "two", limit), naive(where, "two")) << where;
    }
  }
  std::size_t tagged = 0, tags = 0;
  for (const auto& box : expected_) {
    for (const auto& blob : box.second) {
      tagged += blob.second.empty() ? 0 : 1;
      tags += blob.second.size();
    }
  }
  EXPECT_EQ(rows('t'), tagged);
  EXPECT_EQ(rows('T'), tags);
}

TEST_F(BlobTagIndexTest, ADeletedContainerLeavesNothing) {
  put("box", "b", {{"a", "1"}});
  EXPECT_EQ(find("a='1'").size(), 1U);
  ASSERT_TRUE(run(service_.delete_container({"acc", "box"}, {})));
  EXPECT_TRUE(find("a='1'").empty());
  create("box");
  EXPECT_TRUE(find("a='1'").empty());
  ASSERT_TRUE(run(service_.collector().collect()));
  EXPECT_EQ(rows('t') + rows('T'), 0U);
}

TEST_F(BlobTagIndexTest, TheTierOfASnapshotIsItsOwn) {
  put("box", "b", {});
  BlobRef taken{"acc", "box", "b", snapshot("b")};
  EXPECT_FALSE(*run(service_.set_tier(taken, "Archive", {})));
  EXPECT_EQ(service_.get_blob(taken, {})->tier, "Archive");
  EXPECT_EQ(service_.get_blob(ref("b"), {})->tier, "");
  EXPECT_TRUE(service_.open_blob(taken, {}).failed_with(ErrorCode::kBlobArchived));
  EXPECT_TRUE(*run(service_.set_tier(taken, "Cool", {})));
  EXPECT_TRUE(service_.open_blob(taken, {}));
  taken.snapshot = Stamp{1};
  EXPECT_TRUE(run(service_.set_tier(taken, "Cool", {})).failed_with(ErrorCode::kBlobNotFound));
}

TEST_F(BlobTagIndexTest, TheTagsOfASnapshotAreItsOwn) {
  put("box", "b", {{"a", "1"}});
  BlobRef taken{"acc", "box", "b", snapshot("b")};
  EXPECT_EQ(service_.get_blob(taken, {})->tags, (Tags{{"a", "1"}}));
  const auto version = service_.get_blob(taken, {})->version;
  Conditions conditions;
  conditions.if_tags = *TagCondition::parse("a = '2'");
  EXPECT_TRUE(run(service_.set_tags(taken, {}, conditions)).failed_with(ErrorCode::kConditionNotMet));
  ASSERT_TRUE(run(service_.set_tags(taken, {{"a", "2"}, {"b", "3"}}, {})));
  EXPECT_EQ(service_.get_blob(taken, {})->tags, (Tags{{"a", "2"}, {"b", "3"}}));
  EXPECT_EQ(service_.get_blob(taken, {})->version, version);
  EXPECT_EQ(service_.get_blob(ref("b"), {})->tags, (Tags{{"a", "1"}}));
  EXPECT_EQ(find("a='1'"), (std::vector<std::string>{"box/b"}));
  EXPECT_TRUE(find("a='2'").empty()) << "a search finds no snapshots";
  taken.snapshot = Stamp{1};
  EXPECT_TRUE(run(service_.set_tags(taken, {}, {})).failed_with(ErrorCode::kBlobNotFound));
}

TEST_F(BlobTagIndexTest, TagsAndTierKeepTheVersion) {
  put("box", "b", {{"a", "1"}});
  const BlobRef ref{"acc", "box", "b"};
  const auto version = service_.get_blob(ref, {})->version;
  set("box", "b", {{"a", "2"}});
  EXPECT_FALSE(*run(service_.set_tier(ref, "Archive", {})));
  EXPECT_EQ(service_.get_blob(ref, {})->version, version);
  EXPECT_TRUE(service_.open_blob(ref, {}).failed_with(ErrorCode::kBlobArchived));
  EXPECT_TRUE(run(service_.set_metadata(ref, {}, {})).failed_with(ErrorCode::kBlobArchived));
  EXPECT_TRUE(*run(service_.set_tier(ref, "Hot", {})));
  EXPECT_TRUE(service_.open_blob(ref, {}));
}

TEST_F(BlobTagIndexTest, WhatIsArchivedIsNotReplaced) {
  put("box", "from", {});
  const BlobRef ref{"acc", "box", "b"};
  ASSERT_TRUE(run(service_.put_blob(ref, {{}, {}, {}, "Archive"}, {0, 1, "x"}, {})));
  EXPECT_TRUE(run(service_.put_blob(ref, {}, {0, 1, "y"}, {})).failed_with(ErrorCode::kBlobArchived));
  CopyRequest copy;
  copy.source = {"acc", "box", "from"};
  for (const bool as_new : {false, true}) {
    copy.as_new_block_blob = as_new;
    EXPECT_TRUE(run(service_.copy_blob(copy, ref, {})).failed_with(ErrorCode::kBlobArchived)) << as_new;
  }
  EXPECT_TRUE(run(service_.delete_blob(ref, DeleteSnapshots::kNone, {})));
  EXPECT_TRUE(run(service_.put_blob(ref, {}, {0, 1, "y"}, {})));
  EXPECT_EQ(service_.get_blob(ref, {})->tier, "");
}

TEST_F(BlobTagIndexTest, WhatReplacesABlobHasItsTierUnlessOneIsGiven) {
  put("box", "from", {});
  const BlobRef ref{"acc", "box", "b"};
  ASSERT_TRUE(run(service_.put_blob(ref, {{}, {}, {}, "Cool"}, {0, 1, "x"}, {})));
  const auto changed = service_.get_blob(ref, {})->tier_changed;
  ASSERT_TRUE(run(service_.put_blob(ref, {}, {0, 1, "y"}, {})));
  ASSERT_TRUE(run(service_.put_block_list(ref, {}, {}, {})));
  CopyRequest copy;
  copy.source = {"acc", "box", "from"};
  ASSERT_TRUE(run(service_.copy_blob(copy, ref, {})));
  EXPECT_EQ(service_.get_blob(ref, {})->tier, "Cool");
  EXPECT_EQ(service_.get_blob(ref, {})->tier_changed, changed);
  ASSERT_TRUE(run(service_.put_blob(ref, {{}, {}, {}, "Hot"}, {0, 1, "z"}, {})));
  EXPECT_EQ(service_.get_blob(ref, {})->tier, "Hot");
}

}  // namespace
}  // namespace tidemark::blob_store
