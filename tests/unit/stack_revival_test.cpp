// When a process that has ended is started again, and the settings that are printed for shells and SDKs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "stack/addresses.h"
#include "stack/revival.h"

namespace tidemark::stack {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(Revival, IsAtOnceAndThenLaterAndLater) {
  Revival revival;
  EXPECT_EQ(revival.ended(seconds(1)), Duration::zero());
  EXPECT_EQ(revival.ended(seconds(1)), milliseconds(500));
  EXPECT_EQ(revival.ended(seconds(1)), seconds(1));
  EXPECT_EQ(revival.ended(seconds(1)), seconds(2));
}

TEST(Revival, IsGivenUpAfterManyEndsInARow) {
  Revival revival;
  for (int i = 0; i < Revival::kMostInARow; ++i) EXPECT_TRUE(revival.ended(seconds(1))) << i;
  EXPECT_FALSE(revival.ended(seconds(1)));
}

TEST(Revival, BeginsAnewForAProcessThatWasWell) {
  Revival revival;
  for (int i = 0; i < 10 * Revival::kMostInARow; ++i) {
    EXPECT_EQ(revival.ended(Revival::kWell), Duration::zero());
    EXPECT_EQ(revival.ended(seconds(1)), milliseconds(500));
  }
}

Addresses some() {
  Addresses out;
  out.blob = "https://127.0.0.1:1/own";
  out.queue = "https://127.0.0.1:2/own";
  out.table = "https://127.0.0.1:3/own";
  out.api = "https://127.0.0.1:4";
  out.account = "own";
  out.certificate = "/it's here/a.pem";
  out.data = "/srv/a b";
  return out;
}

TEST(StackAddresses, AreQuotedForEachShell) {
  EXPECT_THAT(for_bash(some()), HasSubstr("export TIDEMARK_CA_FILE='/it'\\''s here/a.pem'\n"));
  EXPECT_THAT(for_bash(some()), HasSubstr("export TIDEMARK_DATA='/srv/a b'\n"));
  EXPECT_THAT(for_bash(some()), HasSubstr("export TIDEMARK_API=https://127.0.0.1:4\n"));
  EXPECT_THAT(for_powershell(some()), HasSubstr("$env:TIDEMARK_CA_FILE = '/it''s here/a.pem'\n"));
  const auto json = nlohmann::json::parse(as_json(some()));
  EXPECT_EQ(json["environment"]["TIDEMARK_CA_FILE"], "/it's here/a.pem");
  EXPECT_EQ(json["blob"], "https://127.0.0.1:1/own");
}

TEST(StackAddresses, HaveNoKeyOfYourOwn) {
  EXPECT_THAT(for_bash(some()), HasSubstr("DefaultEndpointsProtocol=https;AccountName=own;AccountKey=KEY;"));
  EXPECT_THAT(for_bash(some()), HasSubstr("export TIDEMARK_KEY=KEY\n"));
}

class AzuriteAccounts : public testing::Test {
 protected:
  static constexpr const char* kVariables[] = {"AZURITE_ACCOUNTS", "TIDEMARK_ACCOUNTS", "TIDEMARK_ACCOUNTS_FILE",
                                               "TIDEMARK_ACCOUNT"};
  void SetUp() override { TearDown(); }
  void TearDown() override {
    for (const auto* name : kVariables) ::unsetenv(name);
  }
  static std::string value_of(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  }
};

TEST_F(AzuriteAccounts, AreGivenToThePrograms) {
  ::setenv("AZURITE_ACCOUNTS", "one:AAAA;two:BBBB:CCCC;", 1);
  take_over_azurite_accounts();
  EXPECT_EQ(value_of("TIDEMARK_ACCOUNTS"), "one:AAAA,two:BBBB:CCCC");
  EXPECT_EQ(value_of("TIDEMARK_ACCOUNT"), "one");
}

TEST_F(AzuriteAccounts, GiveWayToOurOwnSettings) {
  ::setenv("AZURITE_ACCOUNTS", "one:AAAA", 1);
  ::setenv("TIDEMARK_ACCOUNTS_FILE", "/etc/accounts", 1);
  take_over_azurite_accounts();
  EXPECT_EQ(value_of("TIDEMARK_ACCOUNTS"), "");
  EXPECT_EQ(value_of("TIDEMARK_ACCOUNT"), "");
}

}  // namespace
}  // namespace tidemark::stack
