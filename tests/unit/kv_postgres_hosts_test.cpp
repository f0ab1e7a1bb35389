// In which order the hosts of a database are asked.
#include <gtest/gtest.h>

#include "common/kv/postgres_hosts.h"

namespace tidemark::kv::detail {
namespace {

TEST(PostgresHosts, TheOneThatTookWritesLastIsAskedFirst) {
  LatestHosts latest;
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

}  // namespace
}  // namespace tidemark::kv::detail
