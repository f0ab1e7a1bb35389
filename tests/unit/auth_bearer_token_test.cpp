// The token of a stack: the first process makes it, and it is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <thread>

#include "common/auth/bearer_token.h"

namespace tidemark::auth {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class BearerToken : public ::testing::Test {
 protected:
  void SetUp() override {
    auto path = (fs::temp_directory_path() / "tidemark-token-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    data_ = path;
    fs::create_directories(data_ / "run");
  }
  void TearDown() override { fs::remove_all(data_); }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  [[nodiscard]] fs::path file() const { return data_ / "run" / "token"; }
  fs::path data_;
};

TEST_F(BearerToken, IsMadeOnceForThisUserAlone) {
  EXPECT_FALSE(stored_bearer_token(data_));
  const auto token = bearer_token(data_, "");
  ASSERT_TRUE(token);
  EXPECT_EQ(token->size(), 64U);
  struct stat found{};
  ASSERT_EQ(::stat(file().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_EQ(bearer_token(data_, "").value(), *token);
  EXPECT_EQ(stored_bearer_token(data_), *token);
  EXPECT_EQ(std::distance(fs::directory_iterator(data_ / "run"), {}), 1) << "nothing is left beside it";
}

TEST_F(BearerToken, IsTheSameForAllWhoBeginTogether) {
  std::set<std::string> seen;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto token = bearer_token(data_, "");
      const std::lock_guard lock(mutex);
      seen.insert(token.value_or("none"));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), 1U);
  EXPECT_FALSE(seen.contains("none"));
}

TEST_F(BearerToken, IsWhatIsConfigured) {
  EXPECT_EQ(bearer_token(data_, "mine").value(), "mine");
  EXPECT_FALSE(fs::exists(file())) << "a secret of the configuration is not copied";
}

TEST_F(BearerToken, IsRefusedIfItIsNone) {
  for (const auto* text : {"", "\n", "short\n", "with a blank in the middle of it\n"}) {
    write(text);
    const auto token = bearer_token(data_, "");
    ASSERT_TRUE(token.failed_with(ErrorCode::kConfigInvalid)) << text;
    EXPECT_THAT(token.error().message, HasSubstr("remove it"));
  }
  write("  of-an-operators-own-choice \n");
  EXPECT_EQ(bearer_token(data_, "").value(), "of-an-operators-own-choice");
  EXPECT_TRUE(bearer_token(data_ / "absent", "").failed_with(ErrorCode::kConfigInvalid));
}

TEST(Bears, TheWholeToken) {
  EXPECT_TRUE(bears("Bearer secret", "secret"));
  EXPECT_TRUE(bears("bearer secret", "secret"));
  for (const auto* wrong : {"", "Bearer", "Bearer ", "Bearer s", "Bearer secret ", "Bearer  secret", "Basic secret"}) {
    EXPECT_FALSE(bears(wrong, "secret")) << wrong;
  }
  EXPECT_FALSE(bears(std::nullopt, "secret"));
}

}  // namespace
}  // namespace tidemark::auth
