// A data directory as a record of its processes: the facts that are believed, and those that are not.
#include "stack/data_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace tidemark::stack {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  Folder() { EXPECT_TRUE(folder_.prepare()); }
  ~Folder() override { fs::remove_all(directory_); }
  void say(const std::string& line) { std::ofstream(folder_.output("api")) << line << "\n"; }

  static fs::path fresh() {
    auto name = (fs::temp_directory_path() / "tmstackXXXXXX").string();
    return ::mkdtemp(name.data());
  }
  fs::path directory_ = fresh();
  DataFolder folder_ = *DataFolder::open(directory_);
};

TEST_F(Folder, KnowsThePortOfAProcessThatIsReady) {
  say("ready api port=10003 scheme=https");
  const auto ready = folder_.ready("api");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->port, "10003");
  EXPECT_EQ(ready->scheme, "https");
  EXPECT_EQ(ready->line, " port=10003 scheme=https");
}

TEST_F(Folder, BelievesNothingThatWouldLeadElsewhere) {
  for (const auto* line : {"ready api port=1@example.org:80/", "ready api port=99999", "ready api port=1 scheme=ftp",
                           "ready api port=10003 scheme=https://example.org/?", "not yet"}) {
    say(line);
    EXPECT_FALSE(folder_.ready("api")) << line;
  }
}

TEST_F(Folder, RemembersChoices) {
  EXPECT_FALSE(folder_.choices().port_base);
  ASSERT_TRUE(folder_.remember({11000, "/a b/c.pem", "/a b/k.pem", "/etc/t.json"}));
  const auto choices = folder_.choices();
  EXPECT_EQ(choices.port_base, 11000);
  EXPECT_EQ(choices.certificate, "/a b/c.pem");
  EXPECT_EQ(choices.key, "/a b/k.pem");
  EXPECT_EQ(choices.config, "/etc/t.json");
  EXPECT_FALSE(fs::exists(folder_.path() / "run/stack.draft"));
}

TEST_F(Folder, ANumberInAFileThatNobodyLocksIsNoProcess) {
  std::ofstream(folder_.pid_file("api")) << "1\n";
  EXPECT_FALSE(folder_.running("api"));
  EXPECT_EQ(folder_.noted(), std::vector<std::string>{"api"});
  folder_.forget_processes();
  EXPECT_TRUE(folder_.noted().empty());
}

}  // namespace
}  // namespace tidemark::stack
