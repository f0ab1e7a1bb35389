#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/process/config.h"

namespace tidemark::process {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Config : public ::testing::Test {
 protected:
  Config() {
    std::string name = (std::filesystem::temp_directory_path() / "tidemark-config-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    settings_.add("data", data_, "Where the data is.");
    settings_.add("port", port_, 1, 65535, "The port.");
    settings_.add("fast_mode", fast_, "Faster.");
    settings_.add_choice("log_level", level_, {"debug", "info"}, "How much is logged.");
    settings_.add("accounts", accounts_, "Names and keys.", true);
  }
  ~Config() override {
    for (const char* name : {"TIDEMARK_PORT", "TIDEMARK_DATA", "TIDEMARK_CONFIG", "TIDEMARK_FAST_MODE"})
      ::unsetenv(name);
    std::filesystem::remove_all(directory_);
  }
  std::string file(const std::string& text) {
    auto path = directory_ / "config.json";
    std::ofstream(path) << text;
    return path.string();
  }
  Result<Settings::Outcome> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    return settings_.parse(static_cast<int>(arguments.size()), arguments.data());
  }
  std::string parse_error(std::vector<const char*> arguments) {
    auto parsed = parse(std::move(arguments));
    EXPECT_TRUE(parsed.failed_with(ErrorCode::kConfigInvalid));
    return parsed ? "" : parsed.error().message;
  }
  std::string file_error(const std::string& text) {
    auto path = file(text);
    return parse_error({"--config", path.c_str()});
  }

  std::filesystem::path directory_;
  std::string data_ = "./data";
  std::int64_t port_ = 10002;
  bool fast_ = false;
  std::string level_ = "info";
  std::string accounts_;
  Settings settings_{"program", "Does things."};
};

TEST_F(Config, DefaultsHoldWithoutAnySource) {
  ASSERT_TRUE(parse({}));
  EXPECT_EQ(data_, "./data");
  EXPECT_EQ(port_, 10002);
  EXPECT_FALSE(fast_);
}

TEST_F(Config, LaterSourcesWin) {
  auto path = file(R"({"port": 1, "data": "from file", "fast_mode": true, "log_level": "debug"})");
  ASSERT_TRUE(parse({"--config", path.c_str()}));
  EXPECT_EQ(port_, 1);
  EXPECT_EQ(data_, "from file");
  EXPECT_TRUE(fast_);
  EXPECT_EQ(level_, "debug");

  ::setenv("TIDEMARK_PORT", "2", 1);
  ASSERT_TRUE(parse({"--config", path.c_str()}));
  EXPECT_EQ(port_, 2);

  ASSERT_TRUE(parse({"--config", path.c_str(), "--port", "3", "--fast-mode=false"}));
  EXPECT_EQ(port_, 3);
  EXPECT_FALSE(fast_);
}

TEST_F(Config, FileMayBeNamedByTheEnvironment) {
  ::setenv("TIDEMARK_CONFIG", file(R"({"port": 7})").c_str(), 1);
  ASSERT_TRUE(parse({}));
  EXPECT_EQ(port_, 7);
}

TEST_F(Config, EmptyEnvironmentVariableCountsAsNotSet) {
  ::setenv("TIDEMARK_PORT", "", 1);
  ASSERT_TRUE(parse({}));
  EXPECT_EQ(port_, 10002);
}

TEST_F(Config, BareFlagMeansTrue) {
  ASSERT_TRUE(parse({"--fast-mode", "--port", "5"}));
  EXPECT_TRUE(fast_);
  EXPECT_EQ(port_, 5);
}

TEST_F(Config, EmptyTextOnTheCommandLineIsAValue) {
  ASSERT_TRUE(parse({"--data", ""}));
  EXPECT_EQ(data_, "");
}

TEST_F(Config, NegativeNumbersAreValues) {
  EXPECT_THAT(parse_error({"--port", "-1"}), AllOf(HasSubstr("port"), HasSubstr("'-1'"), HasSubstr("1 to 65535")));
}

TEST_F(Config, ErrorsNameSettingValueSourceAndWhatIsAllowed) {
  EXPECT_THAT(file_error(R"({"port": 70000})"),
              AllOf(HasSubstr("port"), HasSubstr("'70000'"), HasSubstr("config.json"), HasSubstr("1 to 65535")));
  EXPECT_THAT(file_error(R"({"port": "80"})"), HasSubstr("1 to 65535"));
  EXPECT_THAT(file_error(R"({"port": 1.5})"), HasSubstr("'1.5'"));
  EXPECT_THAT(file_error(R"({"port": 99999999999999999999})"), HasSubstr("1 to 65535"));
  EXPECT_THAT(file_error(R"({"port": null})"), HasSubstr("'null'"));
  EXPECT_THAT(file_error(R"({"data": 5})"), HasSubstr("allowed: text"));
  EXPECT_THAT(file_error(R"({"fast_mode": "yes"})"), HasSubstr("true or false"));
  EXPECT_THAT(parse_error({"--log-level", "loud"}),
              AllOf(HasSubstr("log_level"), HasSubstr("'loud'"), HasSubstr("--log-level"), HasSubstr("debug, info")));
  ::setenv("TIDEMARK_PORT", "12x", 1);
  EXPECT_THAT(parse_error({}), AllOf(HasSubstr("'12x'"), HasSubstr("TIDEMARK_PORT"), HasSubstr("1 to 65535")));
}

TEST_F(Config, UnknownNamesAreErrors) {
  EXPECT_THAT(file_error(R"({"prot": 1})"), AllOf(HasSubstr("'prot'"), HasSubstr("config.json"), HasSubstr("port")));
  EXPECT_THAT(parse_error({"--prot", "1"}), HasSubstr("--prot"));
  EXPECT_THAT(parse_error({"stray"}), HasSubstr("without an option"));
  EXPECT_THAT(parse_error({"--port"}), HasSubstr("--port"));
}

TEST_F(Config, OneFileServesEveryProgram) {
  const auto shared = file(R"({"data": "/srv", "port": 1, "lease_s": 5, "worker": {"port": 2, "lease_s": 9},
                               "table_store": {"port": 3}})");
  Settings worker("worker", "Works.");
  std::string data;
  std::int64_t port = 0;
  std::int64_t lease = 0;
  worker.add("data", data, "Where the data is.");
  worker.add("port", port, 0, 65535, "The port.");
  worker.add("lease_s", lease, 1, 60, "The lease.");
  const char* line[] = {"worker", "--config", shared.c_str()};
  ASSERT_TRUE(worker.parse(3, line));
  EXPECT_EQ(data, "/srv");
  EXPECT_EQ(port, 2);  // its own section takes precedence
  EXPECT_EQ(lease, 9);
  ASSERT_TRUE(parse({"--config", shared.c_str()}));  // has no lease_s and no section
  EXPECT_EQ(port_, 1);
}

TEST_F(Config, SectionsAreChecked) {
  EXPECT_THAT(file_error(R"({"wroker": {"port": 1}})"), AllOf(HasSubstr("'wroker'"), HasSubstr("table_store, worker")));
  Settings api("api", "Answers.");
  std::int64_t port = 0;
  api.add("port", port, 0, 65535, "The port.");
  // Its own section may contain only its own settings.
  const auto path = file(R"({"api": {"lease_s": 5}})");
  const char* line[] = {"api", "--config", path.c_str()};
  const auto parsed = api.parse(3, line);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_THAT(parsed.error().message, AllOf(HasSubstr("'lease_s'"), HasSubstr("api")));
  const auto wrong = file(R"({"api": {"port": 70000}})");
  const char* other[] = {"api", "--config", wrong.c_str()};
  EXPECT_THAT(api.parse(3, other).error().message, HasSubstr("section api"));
}

TEST_F(Config, BrokenFilesAreErrors) {
  EXPECT_THAT(file_error("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(file_error("[]"), HasSubstr("one JSON object"));
  EXPECT_THAT(file_error(R"({"port": 1, "port": 2})"), HasSubstr("twice"));
  EXPECT_THAT(file_error(R"({"api": {"port": 1, "port": 2}})"), HasSubstr("twice"));
  EXPECT_THAT(file_error(std::string(2 << 20, ' ')), HasSubstr("1024 KiB"));
  EXPECT_THAT(parse_error({"--config", "/nonexistent/file"}), HasSubstr("cannot be read: No such file"));
  EXPECT_THAT(parse_error({"--config", directory_.c_str()}), HasSubstr("cannot be"));
}

TEST_F(Config, SecretsAreNeverShown) {
  EXPECT_THAT(file_error(R"({"accounts": ["s3cret"]})"), AllOf(HasSubstr("accounts"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(file_error(R"({"accounts": "s3cret)"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(parse_error({"--acounts=s3cret"}), AllOf(HasSubstr("--acounts"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(parse_error({"--acounts", "s3cret"}), AllOf(HasSubstr("--acounts"), Not(HasSubstr("s3cret"))));
  ASSERT_TRUE(parse({"--accounts", "s3cret"}));
  EXPECT_EQ(accounts_, "s3cret");
  EXPECT_THAT(settings_.describe(),
              AllOf(HasSubstr("accounts=***"), HasSubstr("port=10002"), Not(HasSubstr("s3cret"))));
}

TEST_F(Config, HelpAndVersionPrintAndEnd) {
  ::testing::internal::CaptureStdout();
  auto help = parse({"--help"});
  auto text = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(help);
  EXPECT_EQ(*help, Settings::Outcome::kExitSuccess);
  EXPECT_THAT(text, AllOf(HasSubstr("--port"), HasSubstr("10002"), HasSubstr("TIDEMARK_PORT"), HasSubstr("--config")));

  ::testing::internal::CaptureStdout();
  auto version = parse({"--version"});
  text = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(version);
  EXPECT_EQ(*version, Settings::Outcome::kExitSuccess);
  EXPECT_THAT(text, ::testing::StartsWith("program "));
}

}  // namespace
}  // namespace tidemark::process
