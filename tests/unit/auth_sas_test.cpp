#include "common/auth/sas.h"
#include "tests/unit/auth_support.h"

namespace tidemark::auth::testing {
namespace {

const std::string kDates = "st=2024-01-01T00%3A00%3A00Z&se=2034-01-01T00%3A00%3A00Z";

Call make(Service service, std::string path, std::string query) {
  Call call;
  call.service = service;
  call.path = "/devstoreaccount1" + std::move(path);
  call.query = std::move(query);
  return call;
}

std::string escape(const std::string& value) { return percent_encode(value); }

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string query_of(const Fields& fields, const std::string& text) {
  std::string out;
  for (const auto& [name, value] : fields) out += name + "=" + escape(value) + "&";
  return out + "sig=" + escape(signed_with(development_key(), text));
}

// Makes a queue SAS of version 2019-02-02 with these values and a valid signature.
std::string queue_sas(const std::string& sp, const std::string& st, const std::string& se, const std::string& si = "",
                      const std::string& sip = "", const std::string& spr = "") {
  const std::string text =
      sp + "\n" + st + "\n" + se + "\n/queue/devstoreaccount1/jobs\n" + si + "\n" + sip + "\n" + spr + "\n2019-02-02";
  return query_of({{"sv", "2019-02-02"}, {"sp", sp}, {"st", st}, {"se", se}, {"si", si}, {"sip", sip}, {"spr", spr}},
                  text);
}

Result<Identity> queue_call(const std::string& query, const std::string& remote = "127.0.0.1",
                            const PolicyLookup& find_policy = {}) {
  auto call = make(Service::kQueue, "/jobs/messages", query);
  call.remote = remote;
  return run(call, sas_time(), {}, find_policy);
}

std::string account_query(const std::string& ss, const std::string& srt, const std::string& se = "2034-01-01",
                          const std::string& ses = "") {
  const std::string sv = "2021-12-02";
  const std::string text = "devstoreaccount1\nrw\n" + ss + "\n" + srt + "\n\n" + se + "\n\n\n" + sv + "\n" + ses + "\n";
  return query_of({{"sv", sv}, {"ss", ss}, {"srt", srt}, {"sp", "rw"}, {"se", se}, {"ses", ses}}, text);
}

}  // namespace

std::vector<Vector> sas_vectors() {
  const auto queue = Service::kQueue, blob = Service::kBlob, table = Service::kTable;
  const std::string file = "/samplecontainer/dir/my%20file.txt";
  return {
      {"A1", make(queue, "/any",
                  "sv=2026-04-06&ss=btqf&srt=sco&spr=https%2Chttp&" + kDates +
                      "&sp=rwdlacup&sig=p0%2FoxE59POzChLNayrdNWprjLfGbbFTrdUsT1raTXbU%3D")},
      {"A2", make(blob, file,
                  "sv=2019-12-12&ss=btqf&srt=sco&" + kDates +
                      "&sp=rwdlacup&sig=FywRyj5%2BSP%2FNV7YksZny9X7Snc0ifG5EQ60kJUJnUOg%3D")},
      {"T3", make(table, "/Tables",
                  "sv=2019-02-02&ss=t&srt=sco&" + kDates +
                      "&sp=rwdlau&sig=5GOQ%2FKvLXz6PDbAQxXN8rYO9B8vsTje%2BDspjK8A3QNY%3D")},
      {"T1", make(table, "/SampleTable",
                  "sv=2019-02-02&spr=https%2Chttp&" + kDates +
                      "&sp=raud&sig=C0aJGOnwiHR2gV99pwvZtfFJQVvs1gSpDk0x0vnQMgg%3D"
                      "&tn=SampleTable&srk=0&spk=a&epk=c&erk=9")},
      {"T2", make(table, "/SampleTable",
                  "sv=2019-02-02&si=ro&sig=P9XyCnprcqd%2FaS4pRNLvBoykDjk7gqGMmMMulj4Egfc%3D"
                  "&tn=SampleTable")},
      {"Q1", make(queue, "/sample-queue/messages",
                  "sv=2026-04-06&spr=https%2Chttp&" + kDates +
                      "&sip=127.0.0.1-127.0.0.9&sp=raup&sig=hBo7PNFEhzL3lnIGR7mjxKYlNckhjAMic5wK%2FiDQXmc%3D")},
      {"Q2", make(queue, "/sample-queue",
                  "sv=2019-02-02&" + kDates + "&sp=raup&sig=YbphYae5ckyayctC92xLQTHOSEtNuCL8S2LCFKeopgE%3D")},
      {"B1", make(blob, file,
                  "sv=2021-12-02&" + kDates +
                      "&sr=b&sp=r&rscd=attachment%3B%20filename%3Dx.html&rsct=text%2Fhtml"
                      "&sig=rWliOCXr7pKbyRcyds%2B%2BoYMlyx1p1po%2BKylqS3zYi5w%3D")},
      {"B2", make(blob, file,
                  "sv=2018-11-09&" + kDates + "&sr=c&sp=rl&sig=dgJy6q7FgHiox%2F5UCor5qgSzxXzLBeCCbtl%2FWnDucZo%3D")},
      {"B3", make(blob, "/samplecontainer",
                  "sv=2015-04-05&" + kDates + "&sr=c&sp=rl&sig=JRnDUwC%2FI3hWr%2FJxZD%2Bk7wcMTp1KRJAYCQwmdqFI2lk%3D")},
  };
}

PolicyLookup policy_of_t2() {
  return [](std::string_view account, std::string_view resource,
            std::string_view id) -> Result<std::optional<StoredPolicy>> {
    if (account != "devstoreaccount1" || resource != "sampletable" || id != "ro") return std::nullopt;
    return StoredPolicy{"ro", std::nullopt, "2034-01-01T00:00:00Z", "r"};
  };
}

namespace {

TEST(Sas, AcceptsEveryVector) {
  for (const auto& [name, call] : sas_vectors()) {
    auto identity = run(call, sas_time(), {}, policy_of_t2());
    EXPECT_TRUE(identity.has_value()) << name << (identity ? "" : identity.error().fields.at(0).second);
  }
}

TEST(Sas, ASnapshotIsPartOfWhatIsSigned) {
  const std::string sv = "2021-12-02", time = "2026-11-28T02:00:00.0000001Z";
  const auto sas = [&](const std::string& sr, const std::string& signed_time, const std::string& version) {
    const std::string text = "r\n\n2034-01-01\n/blob/devstoreaccount1/box/b\n\n\n\n" + version + "\n" + sr + "\n" +
                             signed_time + (version < "2020-12-06" ? "\n\n\n\n\n" : "\n\n\n\n\n\n");
    return query_of({{"sv", version}, {"sr", sr}, {"sp", "r"}, {"se", "2034-01-01"}}, text);
  };
  const auto granted = [](const std::string& query) {
    return run(make(Service::kBlob, "/box/b", query), sas_time()).has_value();
  };
  for (const std::string version : {"2018-11-09", "2021-12-02"}) {
    EXPECT_TRUE(granted(sas("bs", time, version) + "&snapshot=" + escape(time))) << version;
  }
  EXPECT_EQ(
      run(make(Service::kBlob, "/box/b", sas("bs", time, sv) + "&snapshot=" + escape(time)), sas_time())->resource,
      "box/b");
  EXPECT_FALSE(granted(sas("bs", time, sv)));
  EXPECT_FALSE(granted(sas("bs", "", sv)));
  EXPECT_FALSE(granted(sas("bs", time, sv) + "&snapshot=2026-11-28T02%3A00%3A00.0000002Z"));
  EXPECT_FALSE(granted(sas("bs", time, sv) + "&snapshot=" + escape(time) + "&snapshot=" + escape(time)));
  EXPECT_TRUE(granted(sas("bs", time, sv) + "&Snapshot=" + escape(time)));
  for (const std::string other : {"", "2026-11-28T02%3A00%3A00.0000002Z"}) {
    EXPECT_FALSE(granted("Snapshot=" + other + "&" + sas("bs", time, sv) + "&snapshot=" + escape(time))) << other;
  }
  EXPECT_TRUE(granted(sas("b", "", sv) + "&snapshot=" + escape(time))) << "whoever reads a blob reads its snapshots";
}

TEST(Sas, TheNameOfABlobIsSignedWithSlashesHoweverTheUrlWritesThem) {
  const auto sas = [&](const std::string& name) {
    const std::string text = "r\n\n2034-01-01\n/blob/devstoreaccount1/box/" + name + "\n\n\n\n2018-03-28\n\n\n\n\n";
    return query_of({{"sv", "2018-03-28"}, {"sr", "b"}, {"sp", "r"}, {"se", "2034-01-01"}}, text);
  };
  for (const std::string path : {"/box/dir/sub/a", "/box/dir%5Csub%5Ca", "/box/dir%5csub/a", "/box/dir\\sub\\a"}) {
    const auto identity = run(make(Service::kBlob, path, sas("dir/sub/a")), sas_time());
    ASSERT_TRUE(identity) << path;
    EXPECT_EQ(identity->resource, "box/dir/sub/a") << path;
    EXPECT_FALSE(run(make(Service::kBlob, path, sas("dir\\sub\\a")), sas_time())) << path;
  }
}

TEST(Sas, RefusesEveryVectorWithOneByteChanged) {
  for (const auto& [name, call] : sas_vectors()) {
    for (std::size_t i = 0; i < call.query.size(); ++i) {
      // The letter case of the table's name and of percent escapes is free.
      for (const char other : {'0', 'z', '&'}) {
        Call changed = call;
        if (changed.query[i] == other) continue;
        changed.query[i] = other;
        EXPECT_FALSE(run(changed, sas_time(), {}, policy_of_t2()).has_value()) << name << " " << changed.query;
      }
    }
  }
}

TEST(Sas, TellsWhatTheTokenGrants) {
  const auto vectors = sas_vectors();
  const auto get = [&](std::size_t i) { return run(vectors[i].call, sas_time(), {}, policy_of_t2()).value(); };
  const auto a1 = get(0);
  EXPECT_EQ(a1.scheme, Scheme::kAccountSas);
  EXPECT_EQ(a1.permissions, "rwdlacup");
  EXPECT_EQ(a1.services, "btqf");
  EXPECT_EQ(a1.resource_types, "sco");
  EXPECT_EQ(a1.version, "2026-04-06");
  const auto t1 = get(3);
  EXPECT_EQ(t1.scheme, Scheme::kServiceSas);
  EXPECT_EQ(t1.resource, "sampletable");
  EXPECT_EQ(t1.start_pk, "a");
  EXPECT_EQ(t1.start_rk, "0");
  EXPECT_EQ(t1.end_pk, "c");
  EXPECT_EQ(t1.end_rk, "9");
  EXPECT_EQ(get(4).permissions, "r");
  EXPECT_FALSE(get(4).start_pk.has_value());
  EXPECT_EQ(get(5).resource, "sample-queue");
  const auto b1 = get(7);
  EXPECT_EQ(b1.resource, "samplecontainer/dir/my file.txt");
  const std::vector<std::pair<std::string, std::string>> overrides{
      {"Content-Disposition", "attachment; filename=x.html"}, {"Content-Type", "text/html"}};
  EXPECT_EQ(b1.response_overrides, overrides);
  EXPECT_EQ(get(8).resource, "samplecontainer");
}

TEST(Sas, HoldsFromStartUntilJustBeforeExpiry) {
  const auto q2 = sas_vectors()[6].call;
  EXPECT_TRUE(run(q2, at("2024-01-01T00:00:00Z")).has_value());
  EXPECT_TRUE(run(q2, at("2034-01-01T00:00:00Z") - Ticks(1)).has_value());
  EXPECT_EQ(code_of(run(q2, at("2024-01-01T00:00:00Z") - Ticks(1))), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(run(q2, at("2034-01-01T00:00:00Z"))), ErrorCode::kAuthenticationFailed);
  EXPECT_TRUE(queue_call(queue_sas("r", "", "2034-01-01")).has_value());
  EXPECT_TRUE(queue_call(queue_sas("r", "2024-01-01T00:00Z", "2034-01-01T00:00:00.1234567Z")).has_value());
  for (const char* expiry : {"", "soon", "2034-13-01", "2034-01-01T00:00:00Zz"}) {
    EXPECT_EQ(code_of(queue_call(queue_sas("r", "", expiry))), ErrorCode::kAuthenticationFailed) << expiry;
  }
  EXPECT_EQ(code_of(queue_call(queue_sas("r", "x", "2034-01-01"))), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(queue_call(queue_sas("", "", "2034-01-01"))), ErrorCode::kAuthenticationFailed);
}

TEST(Sas, HoldsForItsAddresses) {
  const auto ip = [](const char* sip) { return queue_sas("r", "", "2034-01-01", "", sip); };
  EXPECT_TRUE(queue_call(ip("10.0.0.5"), "10.0.0.5").has_value());
  EXPECT_TRUE(queue_call(ip("10.0.0.5"), "::ffff:10.0.0.5").has_value());
  EXPECT_TRUE(queue_call(ip("10.0.0.5-10.0.1.0"), "10.0.0.255").has_value());
  EXPECT_TRUE(queue_call(ip("10.0.0.5-10.0.1.0"), "10.0.1.0").has_value());
  for (const char* remote : {"10.0.0.4", "10.0.1.1", "::1", "", "9.255.255.255"}) {
    EXPECT_EQ(code_of(queue_call(ip("10.0.0.5-10.0.1.0"), remote)), ErrorCode::kAuthorizationSourceIPMismatch);
  }
  for (const char* sip : {"10.0.0", "10.0.0.256", "10.0.0.5-", "-10.0.0.5", "10.0.0.5-x", "::1", "10.0.0.0005"}) {
    EXPECT_EQ(code_of(queue_call(ip(sip), "10.0.0.5")), ErrorCode::kAuthenticationFailed) << sip;
  }
}

TEST(Sas, HoldsForItsProtocol) {
  const auto spr = [](const char* text) { return queue_call(queue_sas("r", "", "2034-01-01", "", "", text)); };
  EXPECT_TRUE(spr("https,http").has_value());
  EXPECT_EQ(code_of(spr("https")), ErrorCode::kAuthorizationProtocolMismatch);
  EXPECT_EQ(code_of(spr("gopher")), ErrorCode::kAuthenticationFailed);
}

TEST(Sas, TakesEachTermFromTheTokenOrItsPolicyAndNeverFromBoth) {
  std::optional<StoredPolicy> stored = StoredPolicy{"p", "2024-01-01T00:00:00.0000000Z", "2034-01-01", "r"};
  const PolicyLookup lookup = [&](std::string_view, std::string_view resource,
                                  std::string_view id) -> Result<std::optional<StoredPolicy>> {
    if (resource != "jobs" || id != "p") return std::nullopt;
    return stored;
  };
  const auto with = [&](const std::string& sp, const std::string& st, const std::string& se, const char* si = "p") {
    return queue_call(queue_sas(sp, st, se, si), "127.0.0.1", lookup);
  };
  ASSERT_TRUE(with("", "", "").has_value());
  EXPECT_EQ(with("", "", "")->permissions, "r");
  EXPECT_EQ(code_of(with("r", "", "")), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(with("", "2024-01-01", "")), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(with("", "", "2034-01-01")), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(with("", "", "", "gone")), ErrorCode::kAuthenticationFailed);
  stored->expiry.reset();
  EXPECT_EQ(code_of(with("", "", "")), ErrorCode::kAuthenticationFailed);
  EXPECT_TRUE(with("", "", "2034-01-01").has_value());
  stored->expiry = "2025-01-01";
  EXPECT_EQ(code_of(with("", "", "")), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(queue_call(queue_sas("", "", "", "p"))), ErrorCode::kAuthenticationFailed);  // no lookup
}

TEST(Sas, LooksUpNoPolicyForAForgedToken) {
  bool asked = false;
  const PolicyLookup lookup = [&](std::string_view, std::string_view,
                                  std::string_view) -> Result<std::optional<StoredPolicy>> {
    asked = true;
    return fail(ErrorCode::kServerBusy);
  };
  auto query = queue_sas("", "", "", "p");
  EXPECT_TRUE(queue_call(query, "127.0.0.1", lookup).failed_with(ErrorCode::kServerBusy));
  asked = false;
  query[query.find("sig=") + 5] ^= 1;
  EXPECT_EQ(code_of(queue_call(query, "127.0.0.1", lookup)), ErrorCode::kAuthenticationFailed);
  EXPECT_FALSE(asked);
}

TEST(Sas, AccountTokenHoldsForItsServices) {
  EXPECT_TRUE(queue_call(account_query("q", "o")).has_value());
  EXPECT_EQ(code_of(queue_call(account_query("bt", "o"))), ErrorCode::kAuthorizationServiceMismatch);
  EXPECT_EQ(code_of(queue_call(account_query("qx", "o"))), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(queue_call(account_query("q", "x"))), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(queue_call(account_query("q", "o", "2025-01-01"))), ErrorCode::kAuthenticationFailed);
}

TEST(Sas, AnEncryptionScopeIsNotOffered) {
  const auto of_blobs = [](const std::string& query) { return run(make(Service::kBlob, "/box/b", query), sas_time()); };
  const auto scoped = account_query("bq", "o", "2034-01-01", "scope");
  EXPECT_EQ(code_of(of_blobs(scoped)), ErrorCode::kNotImplemented);
  EXPECT_TRUE(queue_call(scoped).has_value()) << "only blobs have scopes";
  const std::string text = "r\n\n2034-01-01\n/blob/devstoreaccount1/box/b\n\n\n\n2021-12-02\nb\n\nscope\n\n\n\n\n";
  EXPECT_EQ(code_of(of_blobs(query_of(
                {{"sv", "2021-12-02"}, {"sr", "b"}, {"sp", "r"}, {"se", "2034-01-01"}, {"ses", "scope"}}, text))),
            ErrorCode::kNotImplemented);
}

TEST(Sas, IsForOneQueueOrBlob) {
  auto q2 = sas_vectors()[6].call;
  q2.path = "/devstoreaccount1/another";
  EXPECT_EQ(code_of(run(q2, sas_time())), ErrorCode::kAuthenticationFailed);
  auto b1 = sas_vectors()[7].call;
  b1.path = "/devstoreaccount1/samplecontainer/dir/other";
  EXPECT_EQ(code_of(run(b1, sas_time())), ErrorCode::kAuthenticationFailed);
  b1.path = "/devstoreaccount1/samplecontainer";
  EXPECT_EQ(code_of(run(b1, sas_time())), ErrorCode::kAuthenticationFailed);
}

TEST(Sas, SignsTheFieldsOfItsVersion) {
  const std::string se = "2034-01-01";
  const std::string terms = "r\n\n" + se + "\n";
  struct Case {
    Service service;
    const char* path;
    Fields fields;
    std::string text;
  };
  const std::vector<Case> cases{
      {Service::kQueue, "/jobs", {{"sv", "2012-02-12"}}, terms + "/devstoreaccount1/jobs\n\n2012-02-12"},
      {Service::kQueue, "/jobs", {{"sv", "2015-02-21"}}, terms + "/queue/devstoreaccount1/jobs\n\n2015-02-21"},
      {Service::kTable,
       "/T",
       {{"sv", "2013-08-15"}, {"tn", "T"}, {"spk", "a"}},
       terms + "/devstoreaccount1/t\n\n2013-08-15\na\n\n\n"},
      {Service::kBlob, "/c/b", {{"sv", "2012-02-12"}, {"sr", "b"}}, terms + "/devstoreaccount1/c/b\n\n2012-02-12"},
      {Service::kBlob,
       "/c/b",
       {{"sv", "2014-02-14"}, {"sr", "c"}, {"rsct", "a/b"}},
       terms + "/devstoreaccount1/c\n\n2014-02-14\n\n\n\n\na/b"},
      {Service::kBlob,
       "/c/b",
       {{"sv", "2020-12-06"}, {"sr", "b"}},
       terms + "/blob/devstoreaccount1/c/b\n\n\n\n2020-12-06\nb\n\n\n\n\n\n\n"},
  };
  for (auto [service, path, fields, text] : cases) {
    fields.insert(fields.end(), {{"sp", "r"}, {"se", se}});
    EXPECT_TRUE(run(make(service, path, query_of(fields, text)), sas_time()).has_value()) << text;
    fields.front().second = "2011-08-18";
    EXPECT_FALSE(run(make(service, path, query_of(fields, text)), sas_time()).has_value()) << text;
  }
}

TEST(Sas, RefusesFieldsItsVersionDoesNotSign) {
  const std::string text = "r\n\n2034-01-01\n/devstoreaccount1/c\n\n2012-02-12";
  const Fields fields{{"sv", "2012-02-12"}, {"sr", "c"}, {"sp", "r"}, {"se", "2034-01-01"}};
  const auto query = query_of(fields, text);
  EXPECT_TRUE(run(make(Service::kBlob, "/c/b", query), sas_time()).has_value());
  for (const char* extra : {"&rsct=text%2Fhtml", "&sip=1.2.3.4", "&spr=https"}) {
    EXPECT_FALSE(run(make(Service::kBlob, "/c/b", query + extra), sas_time()).has_value()) << extra;
  }
}

TEST(Sas, RefusesRepeatedFieldsControlCharactersAndUnsupportedKinds) {
  const auto good = queue_sas("r", "", "2034-01-01");
  EXPECT_TRUE(queue_call(good).has_value());
  EXPECT_TRUE(queue_call(good + "&timeout=30&comp=x").has_value());
  for (const char* extra : {"&sp=rw", "&sv=2019-02-02", "&rscd=a%0D%0AX%3Ay", "&x=%zz", "&skoid=1&sv=2020-02-10"}) {
    EXPECT_EQ(code_of(queue_call(good + extra)), ErrorCode::kAuthenticationFailed) << extra;
  }
  EXPECT_EQ(code_of(queue_call(good + "&skoid=1")), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(queue_call("sig=AAAA")), ErrorCode::kAuthenticationFailed);
  EXPECT_EQ(code_of(queue_call("sig=AAAA&sv=2019-02-02&ss=q&srt=o")), ErrorCode::kAuthenticationFailed);
}

TEST(Sas, TakesAPlusInTheSignatureAsItIs) {
  auto b1 = sas_vectors()[7].call;
  for (std::size_t at_plus = 0; (at_plus = b1.query.find("%2B")) != std::string::npos;)
    b1.query.replace(at_plus, 3, "+");
  EXPECT_TRUE(run(b1, sas_time()).has_value());
}

TEST(Anonymous, PassesOnlyIfAllowed) {
  const auto call = make(Service::kBlob, "/c/b", "timeout=3");
  EXPECT_EQ(code_of(run(call, sas_time())), ErrorCode::kNoAuthenticationInformation);
  const auto identity = run(call, sas_time(), {.allow_anonymous = true});
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->scheme, Scheme::kAnonymous);
}

}  // namespace
}  // namespace tidemark::auth::testing
