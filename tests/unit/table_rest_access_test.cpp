// Access rights: keys, shared access signatures, stored policies, protocols; CORS and the account's own operations.
#include "table_rest_fixture.h"

namespace tidemark::table_store {
namespace {

using testing::HasSubstr;

struct TableAccess : TableRestFixture {
  void SetUp() override {
    TableRestFixture::SetUp();
    make_table();
    for (const char* pk : {"a", "b", "c"}) {
      for (const char* rk : {"1", "2"}) ASSERT_EQ(call("PUT", one(rk, pk), "{}").status, 204U);
    }
  }
  std::string batch(const std::vector<std::string>& parts) const {
    std::string out = "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n";
    for (const auto& part : parts) {
      out += "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + part;
    }
    return out + "\r\n--changeset_1--\r\n--batch_1--\r\n";
  }
  static std::string put(const std::string& pk, const std::string& rk) {
    return "PUT http://h/devstoreaccount1/" + one(rk, pk) +
           " HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{\"x\":1}\r\n";
  }
  static std::string rows_of(const Reply& answer) {
    std::string out;
    for (std::size_t at = 0; (at = answer.body.find("\"PartitionKey\":\"", at)) != std::string::npos; ++at) {
      out += answer.body.substr(at + 16, 1) + answer.body.substr(answer.body.find("\"RowKey\":\"", at) + 10, 1) + " ";
    }
    return out;
  }
  const Headers multipart = {{"Content-Type", "multipart/mixed; boundary=batch_1"}};
};

TEST_F(TableAccess, BothKeysOfAnAccountWork) {
  account.keys.push_back("another key of the account");
  restart();
  EXPECT_EQ(call("GET", "Tables").status, 200U);
  std::swap(account.keys[0], account.keys[1]);  // the routes still know both
  EXPECT_EQ(call("GET", "Tables").status, 200U);
  account.keys[0] = "not a key of the account";
  EXPECT_EQ(call("GET", "Tables").status, 403U);
}

TEST_F(TableAccess, RefusalsComeAsJson) {
  account.keys[0] = "wrong";
  auto refused = call("POST", "$batch", "x", {{"x-ms-client-request-id", "abc"}});
  EXPECT_EQ(refused.status, 403U);
  EXPECT_EQ(refused.code(), "AuthenticationFailed");
  EXPECT_EQ(refused.header("Content-Type"), "application/json");
  EXPECT_EQ(refused.header("x-ms-error-code"), "AuthenticationFailed");
  EXPECT_EQ(refused.header("x-ms-version"), "");
  EXPECT_EQ(refused.header("x-ms-client-request-id"), "");
  EXPECT_THAT(refused.body, HasSubstr("\\nRequestId:11111111-2222-3333-4444-555555555555\\nTime:2026-11-21T12:09:13."));
  EXPECT_THAT(refused.body, HasSubstr("including the signature.\\nThe signature does not match the request."));
  EXPECT_EQ(send("GET", "/devstoreaccount1/Tables", {}).code(), "NoAuthenticationInformation");
  EXPECT_EQ(send("GET", "/devstoreaccount1/Tables", {{"Authorization", "Nonsense"}}).code(),
            "InvalidAuthenticationInfo");
}

TEST_F(TableAccess, KeyRangeHoldsEverywhere) {
  const auto sas = table_sas("raud", {{"spk", "a"}, {"srk", "2"}, {"epk", "b"}, {"erk", "1"}});
  EXPECT_EQ(rows_of(with_sas(sas, "GET", "people()")), "a2 b1 ");
  EXPECT_EQ(rows_of(with_sas(sas, "GET", "people()?$filter=PartitionKey%20ge%20'a'")), "a2 b1 ");
  EXPECT_EQ(with_sas(sas, "GET", one("2", "a")).status, 200U);
  for (const auto& [pk, rk] : {std::pair{"a", "1"}, std::pair{"b", "2"}, std::pair{"c", "1"}}) {
    EXPECT_EQ(with_sas(sas, "GET", one(rk, pk)).code(), "AuthorizationFailure");
    EXPECT_EQ(with_sas(sas, "PUT", one(rk, pk), "{}").code(), "AuthorizationFailure");
    EXPECT_EQ(with_sas(sas, "PATCH", one(rk, pk), "{}", {{"If-Match", "*"}}).status, 403U);
    EXPECT_EQ(with_sas(sas, "DELETE", one(rk, pk), {}, {{"If-Match", "*"}}).code(), "AuthorizationFailure");
    EXPECT_EQ(with_sas(sas, "POST", "$batch", batch({put(pk, rk)}), multipart).code(), "AuthorizationFailure");
  }
  EXPECT_EQ(with_sas(sas, "POST", "people", R"({"PartitionKey":"c","RowKey":"9"})").code(), "AuthorizationFailure");
  EXPECT_EQ(with_sas(sas, "POST", "$batch", batch({put("a", "2"), put("a", "1")}), multipart).status, 403U);
  EXPECT_EQ(with_sas(sas, "POST", "$batch", batch({put("a", "2"), put("a", "3")}), multipart).status, 202U);
  // A query inside a batch is no way around it.
  const std::string lone =
      "--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
      "GET http://h/devstoreaccount1/people() HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n--batch_1--\r\n";
  EXPECT_EQ(rows_of(with_sas(sas, "POST", "$batch", lone, multipart)), "a2 a3 b1 ");
  // Nor is the continuation of another client's query.
  const std::string from = "people()?NextPartitionKey=1!4!Yw--&NextRowKey=1!4!MQ--";
  EXPECT_EQ(rows_of(with_sas(sas, "GET", from)), "");
  // Without row keys the boundary partitions are included whole.
  EXPECT_EQ(rows_of(with_sas(table_sas("r", {{"spk", "b"}, {"epk", "b"}}), "GET", "people()")), "b1 b2 ");
}

TEST_F(TableAccess, ContinuationsNameNothingOutsideOfTheKeyRange) {
  for (int batch_number = 0; batch_number < 11; ++batch_number) {
    std::vector<Mutation> mutations;
    for (int i = 0; i < 100; ++i) {
      mutations.emplace_back().row_key = "secret" + std::to_string(100 * batch_number + i);
    }
    ASSERT_TRUE(run_task(service->mutate(kAccount, "people", "b", std::move(mutations), {})).has_value());
  }
  const auto sas = table_sas("r", {{"spk", "a"}, {"srk", "1"}, {"epk", "b"}, {"erk", "1"}});
  const auto page = with_sas(sas, "GET", "people()?$top=3");
  EXPECT_EQ(rows_of(page), "a1 a2 b1 ");
  EXPECT_EQ(page.header("x-ms-continuation-NextPartitionKey"), "");
  EXPECT_EQ(page.header("x-ms-continuation-NextRowKey"), "");
  // Rows before the range are not walked through either.
  const auto later =
      with_sas(table_sas("r", {{"spk", "b"}, {"srk", "t"}}), "GET", "people()?$top=1&$filter=n%20eq%201");
  EXPECT_EQ(rows_of(later), "");
  EXPECT_EQ(later.header("x-ms-continuation-NextPartitionKey"), "");
}

TEST_F(TableAccess, TheVersionComesBackAsItWasAskedFor) {
  const auto versioned = [&](const std::string& version) {
    return with_sas(account_sas("l"), "GET", "Tables", {}, {{"x-ms-version", version}});
  };
  EXPECT_EQ(versioned("2020-12-06").header("x-ms-version"), "2020-12-06");
  EXPECT_EQ(versioned("2099-01-01").status, 200U);  // clients are ahead of servers
  EXPECT_EQ(versioned("").header("x-ms-version"), "2019-02-02");
  EXPECT_EQ(with_sas(account_sas("l"), "GET", "Tables").header("x-ms-version"), "2019-02-02");
  for (const char* none : {"latest", "2019-2-2", "2019-02-02 ", "2019-02-02;"}) {
    EXPECT_EQ(versioned(none).code(), "InvalidHeaderValue") << none;
  }
}

TEST_F(TableAccess, TextInAFilterDoesNotChooseTheFormOfARefusal) {
  const auto refused = call("GET", "people()?$filter=a%20eq%20'restype=service'%20and");
  EXPECT_EQ(refused.code(), "InvalidInput");
}

TEST_F(TableAccess, TableSasNeedsTheLetterAndTheTable) {
  EXPECT_EQ(with_sas(table_sas("a"), "GET", "people()").code(), "AuthorizationPermissionMismatch");
  EXPECT_EQ(with_sas(table_sas("r"), "POST", "people", R"({"PartitionKey":"a","RowKey":"9"})").status, 403U);
  EXPECT_EQ(with_sas(table_sas("a"), "PUT", one("9"), "{}").status, 403U);
  EXPECT_EQ(with_sas(table_sas("u"), "PUT", one("9"), "{}").status, 403U);
  EXPECT_EQ(with_sas(table_sas("au"), "PUT", one("9"), "{}").status, 204U);
  EXPECT_EQ(with_sas(table_sas("r"), "GET", "Tables").status, 403U);
  EXPECT_EQ(with_sas(table_sas("raud"), "GET", "people?comp=acl").status, 403U);
  EXPECT_EQ(with_sas(account_sas("rwdlau"), "GET", "people?comp=acl").status, 403U);
  EXPECT_EQ(with_sas(table_sas("r", {}, "others"), "GET", "people()").code(), "AuthorizationFailure");
  // The name in the signature may differ from the table's in letter case.
  make_table("MixedCase");
  EXPECT_EQ(with_sas(table_sas("r", {}, "mixedcase"), "GET", "MixedCase()").status, 200U);
}

TEST_F(TableAccess, PoliciesTakeEffectWhenChanged) {
  const auto set = [&](const std::string& permission) {
    return call("PUT", "people?comp=acl",
                "<SignedIdentifiers><SignedIdentifier><Id>p1</Id><AccessPolicy><Start>2020-01-01T00:00:00Z</Start>"
                "<Expiry>2034-01-01T00:00:00Z</Expiry><Permission>" +
                    permission + "</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>")
        .status;
  };
  const auto sas = table_sas("", {{"si", "p1"}});
  EXPECT_EQ(with_sas(sas, "GET", "people()").code(), "AuthenticationFailed");
  ASSERT_EQ(set("r"), 204U);
  EXPECT_EQ(with_sas(sas, "GET", "people()").status, 200U);
  EXPECT_EQ(with_sas(sas, "DELETE", one("1", "a"), {}, {{"If-Match", "*"}}).status, 403U);
  EXPECT_THAT(call("GET", "people?comp=acl").body,
              HasSubstr("<Id>p1</Id><AccessPolicy><Start>2020-01-01T00:00:00.0000000Z</Start>"));
  ASSERT_EQ(set("rd"), 204U);
  EXPECT_EQ(with_sas(sas, "DELETE", one("1", "a"), {}, {{"If-Match", "*"}}).status, 204U);
  ASSERT_EQ(call("PUT", "people?comp=acl", "<SignedIdentifiers/>").status, 204U);
  EXPECT_EQ(with_sas(sas, "GET", "people()").code(), "AuthenticationFailed");
}

TEST_F(TableAccess, HttpsOnlyTokensNeedHttps) {
  const auto https_only = table_sas("r", {{"spr", "https"}});
  const Headers forwarded = {{"X-Forwarded-Proto", "https"}};
  auto refused = with_sas(https_only, "GET", "people()", {}, forwarded);
  EXPECT_EQ(refused.status, 403U);
  EXPECT_EQ(refused.code(), "AuthorizationProtocolMismatch");
  EXPECT_EQ(with_sas(account_sas("r", "sco", "https"), "GET", "people()").code(), "AuthorizationProtocolMismatch");
  policy.trust_forwarded_proto = true;
  restart();
  auto trusted = with_sas(https_only, "GET", "people()", {}, forwarded);
  EXPECT_EQ(trusted.status, 200U);
  EXPECT_THAT(trusted.body, HasSubstr("\"odata.metadata\":\"https://127.0.0.1:10002/"));
  EXPECT_EQ(with_sas(https_only, "GET", "people()").status, 403U);
  EXPECT_EQ(with_sas(https_only, "GET", "people()", {}, {{"X-Forwarded-Proto", "http"}}).status, 403U);
  EXPECT_EQ(with_sas(https_only, "GET", "people()", {}, {{"X-Forwarded-Proto", "https"}, {"X-Forwarded-Proto", "http"}})
                .status,
            403U);
  EXPECT_EQ(with_sas(table_sas("r", {{"spr", "https,http"}}), "GET", "people()").status, 200U);
}

TEST_F(TableAccess, AccountSasReachesWhatItsTypesSay) {
  EXPECT_EQ(with_sas(account_sas("l", "c"), "GET", "Tables").status, 200U);
  EXPECT_EQ(with_sas(account_sas("l", "o"), "GET", "Tables").code(), "AuthorizationResourceTypeMismatch");
  EXPECT_EQ(with_sas(account_sas("r", "o"), "GET", "people()").status, 200U);
  EXPECT_EQ(with_sas(account_sas("a", "o"), "GET", "people()").code(), "AuthorizationPermissionMismatch");
  EXPECT_EQ(with_sas(account_sas("r", "s"), "GET", "?restype=service&comp=properties").status, 200U);
  EXPECT_EQ(with_sas(account_sas("r", "s"), "PUT", "?restype=service&comp=properties").status, 403U);
}

TEST_F(TableAccess, HeadTellsTheLengthAlone) {
  auto got = call("GET", "people?comp=acl");
  auto head = call("HEAD", "people?comp=acl");
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.declared_length, got.body.size());
}

TEST_F(TableAccess, StatsAreTheSecondarysToTell) {
  auto primary = call("GET", "?restype=service&comp=stats");
  EXPECT_EQ(primary.status, 400U);
  EXPECT_THAT(primary.body, HasSubstr("<m:code>InvalidQueryParameterValue</m:code>"));
  auto secondary = send("GET", "/devstoreaccount1-secondary/?restype=service&comp=stats&" + account_sas("r"), {});
  EXPECT_EQ(secondary.status, 200U);
  EXPECT_THAT(secondary.body, HasSubstr("<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Sat, "
                                        "21 Nov 2026 12:09:13 GMT</LastSyncTime></GeoReplication>"));
  EXPECT_EQ(send("GET", "/devstoreaccount1-secondary/people()?" + account_sas("r"), {}).status, 200U);
  EXPECT_EQ(send("PUT", "/devstoreaccount1-secondary/" + one("9") + "?" + account_sas("au"), {}, "{}").status, 403U);
}

TEST_F(TableAccess, CorsFollowsTheServiceProperties) {
  const Headers preflight = {{"Origin", "https://app.example"}, {"Access-Control-Request-Method", "PUT"}};
  const std::string path = "/devstoreaccount1/people(PartitionKey='p',RowKey='r')";
  EXPECT_EQ(send("OPTIONS", path, preflight).code(), "CorsPreflightFailure");
  const std::string rules =
      "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://app.example</AllowedOrigins>"
      "<AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>*</AllowedHeaders><ExposedHeaders>x-ms-*"
      "</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>";
  EXPECT_EQ(call("PUT", "?restype=service&comp=properties", rules).status, 202U);
  EXPECT_THAT(call("GET", "?restype=service&comp=properties").body,
              HasSubstr("<AllowedMethods>GET,PUT</AllowedMethods>"));
  auto allowed = send("OPTIONS", path, preflight);
  EXPECT_EQ(allowed.status, 200U);
  EXPECT_EQ(allowed.header("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(allowed.header("Access-Control-Max-Age"), "60");
  EXPECT_EQ(send("OPTIONS", path, {{"Origin", "https://app.example"}}).code(), "InvalidHeaderValue");
  // Actual requests, failures and refusals included.
  const Headers origin = {{"Origin", "https://app.example"}};
  for (const auto& answer : {call("GET", "people()", {}, origin), call("GET", "nobody()", {}, origin),
                             send("GET", "/devstoreaccount1/people()", origin)}) {
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "https://app.example");
    EXPECT_EQ(answer.header("Vary"), "Origin");
    EXPECT_THAT(answer.header("Access-Control-Expose-Headers"), HasSubstr("x-ms-request-id"));
  }
  auto stranger = call("GET", "people()", {}, {{"Origin", "https://other"}});
  EXPECT_EQ(stranger.status, 200U);
  EXPECT_EQ(stranger.header("Access-Control-Allow-Origin"), "");
  // The rules survive a restart, and belong to one account.
  restart();
  EXPECT_EQ(send("OPTIONS", path, preflight).status, 200U);
  EXPECT_EQ(send("OPTIONS", "/second/people", preflight).status, 403U);
}

}  // namespace
}  // namespace tidemark::table_store
