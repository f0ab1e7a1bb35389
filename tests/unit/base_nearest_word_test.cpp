// Words that are taken for misspelt, and words that are not.
#include "common/base/nearest_word.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark {
namespace {

const std::vector<std::string> kCommands{"job", "poison", "schedule", "index", "explain", "worker", "table"};

std::string nearest(std::string_view word) { return nearest_word(word, kCommands).value_or("-"); }

TEST(NearestWord, FewMistakes) {
  EXPECT_EQ(nearest("jobs"), "job");
  EXPECT_EQ(nearest("jbo"), "job");
  EXPECT_EQ(nearest("posion"), "poison");
  EXPECT_EQ(nearest("schedul"), "schedule");
  EXPECT_EQ(nearest("exlpain"), "explain");
  EXPECT_EQ(nearest("sched"), "schedule");
}

TEST(NearestWord, NothingIsGuessedFromTooLittle) {
  EXPECT_EQ(nearest("fly"), "-");
  EXPECT_EQ(nearest(""), "-");
  EXPECT_EQ(nearest("j"), "-");
  EXPECT_EQ(nearest(std::string(1 << 20, 'j')), "-");
  EXPECT_EQ(nearest_word("job", {}), std::nullopt);
}

TEST(NearestWord, TheClosestWins) {
  const std::vector<std::string> known{"lease_ms", "lease_s", "release_s"};
  EXPECT_EQ(nearest_word("leases_s", known), "lease_s");
}

TEST(NearestWord, AllThatAreEquallyCloseAreMeant) {
  const std::vector<std::string> known{"--file", "--filter", "--wait", "--file"};
  EXPECT_EQ(nearest_words("--filer", known), (std::vector<std::string>{"--file", "--filter"}));
  EXPECT_EQ(guess_of("--filer", known), R"( Did you mean "--file" or "--filter"?)");
  EXPECT_EQ(guess_of("--wai", known), R"( Did you mean "--wait"?)");
  EXPECT_EQ(guess_of("--colour", known), "");
  const std::vector<std::string> many{"aa1", "aa2", "aa3", "aa4"};
  EXPECT_EQ(nearest_words("aa", many).size(), 3U);
}

}  // namespace
}  // namespace tidemark
