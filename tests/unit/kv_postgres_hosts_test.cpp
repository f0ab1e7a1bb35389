// The order in which the hosts of a database are tried.
#include <gtest/gtest.h>

#include "common/postgres/postgres_hosts.h"

namespace tidemark::kv::detail {
namespace {

TEST(PostgresHosts, TheOneThatTookWritesLastIsAskedFirst) {
  DatabaseHosts latest;
  const Hosts hosts{"a,b,c", ""};
  EXPECT_EQ(latest.in_order("url", hosts), hosts) << "nothing is known";
  latest.took_writes("url", {"c", "5432"});
  EXPECT_EQ(latest.in_order("url", hosts), (Hosts{"c,a,b", ""}));
  latest.took_writes("url", {"b", "5432"});
  EXPECT_EQ(latest.in_order("url", hosts), (Hosts{"b,a,c", ""}));
  EXPECT_EQ(latest.in_order("another", hosts), hosts);
}

TEST(PostgresHosts, APortBelongsToItsHost) {
  EXPECT_EQ(with_first({"a,a,b", "1,2,3"}, {"a", "2"}), (Hosts{"a,a,b", "2,1,3"}));
  EXPECT_EQ(with_first({"a,b", "7"}, {"b", "7"}), (Hosts{"b,a", "7"}));
  EXPECT_EQ(with_first({"a,b", "1,2"}, {"b", "1"}), (Hosts{"a,b", "1,2"})) << "it is not among them";
  EXPECT_EQ(with_first({"a,b,c", "1,2"}, {"c", "2"}), (Hosts{"c,a,b", "1,2"})) << "the library says what is wrong";
  EXPECT_EQ(with_first({"", ""}, {"a", "1"}), (Hosts{"", ""}));
  EXPECT_EQ(with_first({"/run/postgresql", ""}, {"/run/postgresql", "5432"}), (Hosts{"/run/postgresql", ""}));
}

TEST(PostgresHosts, ADatabaseThatTakesLongToSayNothingSeemsAwayForAWhile) {
  using std::chrono::seconds;
  DatabaseHosts hosts;
  const DatabaseHosts::Moment begun(seconds(100));
  EXPECT_FALSE(hosts.seems_away("url", begun));
  hosts.nobody_did("url", begun, begun + std::chrono::milliseconds(1));
  EXPECT_FALSE(hosts.seems_away("url", begun + std::chrono::milliseconds(1))) << "that costs nobody anything";
  hosts.nobody_did("url", begun, begun + seconds(2));
  EXPECT_TRUE(hosts.seems_away("url", begun + seconds(5)));
  EXPECT_FALSE(hosts.seems_away("url", begun + seconds(6)));
  EXPECT_FALSE(hosts.seems_away("another", begun + seconds(5)));
  hosts.nobody_did("url", begun, begun + seconds(20));
  EXPECT_TRUE(hosts.seems_away("url", begun + seconds(24)));
  EXPECT_FALSE(hosts.seems_away("url", begun + seconds(25)));
  hosts.took_writes("url", {"a", "1"});
  EXPECT_FALSE(hosts.seems_away("url", begun + seconds(21)));
}

TEST(PostgresHosts, SilencesAreCounted) {
  DatabaseHosts hosts;
  EXPECT_EQ(hosts.silences("url"), 0U);
  hosts.fell_silent("url");
  hosts.took_writes("url", {"a", "1"});
  EXPECT_EQ(hosts.silences("url"), 1U);
  EXPECT_EQ(hosts.silences("another"), 0U);
}

}  // namespace
}  // namespace tidemark::kv::detail
