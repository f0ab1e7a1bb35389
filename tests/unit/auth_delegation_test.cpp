// User delegation SAS: a bearer's key signs only certain SAS, and grants no more than the bearer's roles.
#include "common/auth/delegation.h"
#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// A SAS for the container "c", as a client of version 2026-04-06 makes it.
struct Sas {
  Roles roles = kContributor;
  std::string sp = "rw", st = "", se = "2026-06-01T00:00:00Z";
  std::string skoid = "object", sktid = "tenant", skt = "2025-12-31T00:00:00Z", ske = "2026-01-05T00:00:00Z";
  std::string sks = "b", skv = "2026-04-06", saoid = "", suoid = "", spr = "", sv = "2026-04-06", ses = "";
  std::string key = development_key();

  [[nodiscard]] std::string text() const {
    return sp + "\n" + st + "\n" + se + "\n/blob/devstoreaccount1/c\n" + skoid + "\n" + sktid + "\n" + skt + "\n" +
           ske + "\n" + sks + "\n" + skv + "\n" + saoid + "\n" + suoid + "\n\n\n\n\n" + spr + "\n" + sv + "\nc\n\n" +
           ses + "\n\n\n\n\n\n\n";
  }
  [[nodiscard]] std::string query(const Fields& more = {}) const {
    const auto secret = delegation_secret(key, roles, {skoid, sktid, skt, ske, sks, skv});
    Fields fields{{"sv", sv},       {"sp", sp},       {"st", st},       {"se", se},
                  {"sr", "c"},      {"spr", spr},     {"skoid", skoid}, {"sktid", sktid},
                  {"skt", skt},     {"ske", ske},     {"sks", sks},     {"skv", skv},
                  {"saoid", saoid}, {"suoid", suoid}, {"ses", ses},     {"sig", signed_with(secret, text())}};
    fields.insert(fields.end(), more.begin(), more.end());
    std::string out;
    for (const auto& [name, value] : fields) out += (out.empty() ? "" : "&") + name + "=" + percent_encode(value);
    return out;
  }
};

Result<Identity> ask(const std::string& query, Service service = Service::kBlob) {
  Call call;
  call.service = service;
  call.path = "/devstoreaccount1/c/b";
  call.query = query;
  return run(call, sas_time());
}

bool may(const Result<Identity>& who, std::string_view letters) {
  EXPECT_TRUE(who);
  return who && authorize(*who, {ResourceType::kObject, letters}, "c/b").has_value();
}

TEST(Delegation, GrantsWhatBothTheSasAndTheRolesAllow) {
  EXPECT_TRUE(may(ask(Sas{}.query()), "r") && may(ask(Sas{}.query()), "w"));
  EXPECT_FALSE(may(ask(Sas{}.query()), "d")) << "not in the SAS";
  const auto of_reader = ask(Sas{.roles = kReader}.query());
  EXPECT_TRUE(may(of_reader, "r"));
  EXPECT_FALSE(may(of_reader, "w")) << "a reader cannot delegate what it cannot do";
  EXPECT_FALSE(may(ask(Sas{.roles = kDelegator}.query()), "r"));
  EXPECT_TRUE(may(ask(Sas{.roles = kReader | kOwner, .sp = "t"}.query()), "t"));
  EXPECT_TRUE(may(ask(Sas{.saoid = "agent"}.query()), "r"));
  EXPECT_EQ(code_of(ask(Sas{.suoid = "somebody"}.query())), ErrorCode::kAuthenticationFailed)
      << "it is for somebody whose rights nobody could check";
  EXPECT_EQ(code_of(ask(Sas{.ses = "scope"}.query())), ErrorCode::kNotImplemented);
  EXPECT_EQ(code_of(ask(Sas{.spr = "https"}.query())), ErrorCode::kAuthorizationProtocolMismatch);
  const auto elsewhere = authorize(ask(Sas{}.query()).value(), {ResourceType::kObject, "r"}, "other/b");
  EXPECT_EQ(elsewhere.error().code, ErrorCode::kAuthorizationFailure);
}

TEST(Delegation, AnyChangedFieldIsRefused) {
  const auto good = Sas{}.query();
  for (const auto& [from, to] : Fields{{"sp=rw", "sp=rwd"},
                                       {"skoid=object", "skoid=other"},
                                       {"sktid=tenant", "sktid=t"},
                                       {"ske=2026-01-05", "ske=2027-01-05"},
                                       {"skt=2025", "skt=2024"},
                                       {"skv=2026", "skv=2025"},
                                       {"se=2026", "se=2027"},
                                       {"saoid=", "saoid=x"},
                                       {"spr=", "spr=https"}}) {
    auto changed = good;
    changed.replace(changed.find(from), from.size(), to);
    EXPECT_EQ(code_of(ask(changed)), ErrorCode::kAuthenticationFailed) << to;
  }
  EXPECT_EQ(code_of(ask(Sas{.key = "another key of another account"}.query())), ErrorCode::kAuthenticationFailed);
  for (const auto* more : {"si", "sduoid", "skdutid", "srh", "srq"}) {
    EXPECT_EQ(code_of(ask(Sas{}.query({{more, "x"}}))), ErrorCode::kAuthenticationFailed) << more;
  }
}

TEST(Delegation, TheKeyHasItsOwnLifetimeAndService) {
  EXPECT_EQ(code_of(ask(Sas{.ske = "2026-01-01T00:00:00Z"}.query())), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(ask(Sas{.skt = "2026-01-01T00:00:01Z"}.query())), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(ask(Sas{.ske = "soon"}.query())), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(ask(Sas{.se = "2026-01-01T00:00:00Z"}.query())), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(ask(Sas{.sks = "q"}.query())), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(ask(Sas{.sv = "2018-03-28"}.query())), ErrorCode::kAuthenticationFailed);
}

TEST(Delegation, RolesThatAllowTheSameAreOne) {
  EXPECT_EQ(strongest(kReader | kContributor | kOwner), kOwner);
  EXPECT_EQ(strongest(kReader | kContributor | kMessageSender), kContributor);
  EXPECT_EQ(strongest(kReader | kMessageSender | kDelegator), kReader | kMessageSender);
  EXPECT_EQ(strongest(kDelegator), 0);
}

}  // namespace
}  // namespace tidemark::auth::testing
