// Access rights in the api: tokens, roles, sessions, strangers, and the names of actions in the audit trail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/access/sessions.h"
#include "api/access/strangers.h"
#include "api/access/tokens.h"
#include "api/rest/described_parameters.h"
#include "api/rest/trail.h"
#include "common/base/encoding.h"
#include "tests/support/standing_clock.h"

namespace tidemark::api {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kSecret = "a-secret-of-many-letters";

std::string file_of(const std::string& entries) { return "{\"tokens\":[" + entries + "]}"; }
std::string entry(const std::string& name, const std::string& role, const std::string& token) {
  return R"({"name":")" + name + R"(","role":")" + role + R"(","token":")" + token + "\"}";
}

TEST(Roles, IncludeThoseBefore) {
  const Caller caller{"ann", Role::kOperator};
  EXPECT_TRUE(caller.must_be(Role::kNone).has_value());
  EXPECT_TRUE(caller.must_be(Role::kViewer).has_value());
  EXPECT_TRUE(caller.must_be(Role::kOperator).has_value());
  const auto refused = caller.must_be(Role::kAdmin);
  ASSERT_TRUE(refused.failed_with(ErrorCode::kAuthorizationPermissionMismatch));
  EXPECT_EQ(refused.error().message, "This needs the role admin, and the token of ann has the role operator.");
  EXPECT_EQ(role_from_name("none"), std::nullopt) << "no token has this role";
  EXPECT_EQ(role_from_name("admin"), Role::kAdmin);
}

TEST(Roles, WorkerStandsBesideTheOthers) {
  for (const auto role : {Role::kWorker, Role::kOperator, Role::kAdmin}) EXPECT_TRUE(includes(role, Role::kWorker));
  for (const auto role : {Role::kNone, Role::kViewer}) EXPECT_FALSE(includes(role, Role::kWorker));
  EXPECT_TRUE(includes(Role::kWorker, Role::kNone));
  for (const auto role : {Role::kViewer, Role::kOperator, Role::kAdmin}) EXPECT_FALSE(includes(Role::kWorker, role));
  EXPECT_EQ(role_from_name("worker"), Role::kWorker);
}

TEST(TokensFile, TakesDigestsAndPlainTokens) {
  const auto digest = hex_encode(sha256("another-secret-of-many"));
  const auto tokens = parse_tokens(file_of(entry("ann", "operator", kSecret) + R"(,{"name":"b@example.org","role":)" +
                                           R"("viewer","sha256":")" + digest + "\"}"));
  ASSERT_TRUE(tokens.has_value()) << tokens.error().message;
  ASSERT_EQ(tokens->size(), 2U);
  EXPECT_EQ((*tokens)[0].digest, sha256(kSecret));
  EXPECT_EQ((*tokens)[0].role, Role::kOperator);
  EXPECT_EQ((*tokens)[1].digest, sha256("another-secret-of-many"));
  EXPECT_EQ((*tokens)[1].name, "b@example.org");
}

TEST(TokensFile, SaysWhatIsWrongAndRepeatsNoToken) {
  const std::pair<std::string, const char*> wrong[] = {
      {"nonsense", "must be of the form"},
      {R"({"tokens":{}})", "must be of the form"},
      {R"({"tokens":[],"x":1})", "must be of the form"},
      {file_of(entry("", "viewer", kSecret)), "tokens[0] needs a name"},
      {file_of(entry("stack", "viewer", kSecret)), "tokens[0] needs a name"},
      {file_of(entry("ann", "root", kSecret)), "viewer, operator, admin or worker"},
      {file_of(entry("ann", "none", kSecret)), "viewer, operator, admin or worker"},
      {file_of(entry("ann", "viewer", "short")), "16 to 512"},
      {file_of(entry("ann", "viewer", kSecret) + "," + entry("bob", "admin", kSecret)), "tokens[1] is a token that"},
      {file_of(R"({"name":"ann","role":"viewer"})"), "either sha256 or token"},
      {file_of(R"({"name":"ann","role":"viewer","sha256":"abc"})"), "64 hex digits"},
      {file_of(R"({"name":"ann","role":"viewer","tokem":"x"})"), "unknown member"},
  };
  for (const auto& [text, why] : wrong) {
    const auto tokens = parse_tokens(text);
    ASSERT_TRUE(tokens.failed_with(ErrorCode::kConfigInvalid)) << text;
    EXPECT_THAT(tokens.error().message, HasSubstr(why));
    EXPECT_THAT(tokens.error().message, Not(HasSubstr(kSecret)));
  }
}

class TokensTest : public testing::Test {
 protected:
  TokensTest() {
    auto pattern = (std::filesystem::temp_directory_path() / "tidemark-tokens-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(directory_ / "run");
  }
  ~TokensTest() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& text, mode_t mode = 0600) {
    const auto path = directory_ / "tokens.json";
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path.string();
  }

  std::filesystem::path directory_;
};

TEST_F(TokensTest, TheStacksOwnIsAnAdminsAndTheFileMayChange) {
  const auto file = write(file_of(entry("ann", "operator", kSecret)));
  const auto tokens = Tokens::load({directory_, "the-token-of-the-stack", file});
  ASSERT_TRUE(tokens.has_value()) << tokens.error().message;
  const auto own = (*tokens)->find("the-token-of-the-stack");
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->name, "stack");
  EXPECT_EQ(own->role, Role::kAdmin);
  EXPECT_EQ((*tokens)->find(kSecret)->name, "ann");
  EXPECT_FALSE((*tokens)->find("a-secret-of-many-letterz").has_value());

  write(file_of(entry("ann", "viewer", kSecret)));
  (*tokens)->reload();
  EXPECT_EQ((*tokens)->with_digest(sha256(kSecret))->role, Role::kViewer);
  write("broken");
  (*tokens)->reload();
  EXPECT_EQ((*tokens)->find(kSecret)->role, Role::kViewer) << "a broken file leaves the old tokens in force";
  write(file_of(""));
  (*tokens)->reload();
  EXPECT_FALSE((*tokens)->find(kSecret).has_value());
}

TEST_F(TokensTest, AFileThatOthersCanReadIsRefused) {
  const auto text = file_of(entry("ann", "operator", kSecret));
  const auto refused = Tokens::load({directory_, "", write(text, 0644)});
  ASSERT_TRUE(refused.failed_with(ErrorCode::kConfigInvalid));
  EXPECT_THAT(refused.error().message, HasSubstr("chmod"));
  EXPECT_TRUE(Tokens::load({directory_, "", write(text, 0640)}).has_value());
  EXPECT_TRUE(Tokens::load({directory_, "", "/nowhere/tokens"}).failed_with(ErrorCode::kConfigInvalid));
  EXPECT_TRUE(Tokens::load({directory_, "", write(text), true}).failed_with(ErrorCode::kConfigInvalid))
      << "open and tokens exclude each other";
}

class SessionsTest : public testing::Test {
 protected:
  std::string open(const char* token = kSecret) { return sessions_.open(sha256(token))->id; }
  StandingClock clock_{Time(hours(24 * 365 * 50))};
  Sessions sessions_{{.idle = minutes(30), .longest = hours(2), .most = 3}, clock_};
};

TEST_F(SessionsTest, EndWhenNobodyUsesThemOrAfterALongTime) {
  const auto idle = open();
  const auto busy = open();
  for (int i = 0; i < 4; ++i) {
    clock_.time += minutes(29);
    ASSERT_TRUE(sessions_.use(busy).has_value());
  }
  EXPECT_FALSE(sessions_.use(idle).has_value());
  EXPECT_EQ(sessions_.left(*sessions_.use(busy)), minutes(4));
  clock_.time += minutes(4);
  EXPECT_FALSE(sessions_.use(busy).has_value());
}

TEST_F(SessionsTest, AreKnownByTheirIdAloneAndClosed) {
  const auto opened = sessions_.open(sha256(kSecret));
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(sessions_.use(opened->id)->token_digest, sha256(kSecret));
  EXPECT_EQ(sessions_.use(opened->id)->csrf, opened->session.csrf);
  EXPECT_NE(opened->id, opened->session.csrf);
  EXPECT_FALSE(sessions_.use(opened->session.csrf).has_value());
  EXPECT_FALSE(sessions_.use("").has_value());
  EXPECT_TRUE(sessions_.use(opened->session).has_value());
  sessions_.close(opened->id);
  EXPECT_FALSE(sessions_.use(opened->id).has_value());
  EXPECT_FALSE(sessions_.use(opened->session).has_value());
}

TEST_F(SessionsTest, AreBounded) {
  const auto first = open();
  clock_.time += seconds(1);
  const auto second = open();
  clock_.time += seconds(1);
  open();
  ASSERT_TRUE(sessions_.use(first).has_value());
  open();
  EXPECT_FALSE(sessions_.use(second).has_value()) << "it was idle longest";
  EXPECT_TRUE(sessions_.use(first).has_value());
}

TEST_F(SessionsTest, CanOnlyReadUntilTheirLoginIsInTheTrail) {
  const auto opened = sessions_.open(sha256(kSecret), true);
  Caller caller{"ann", Role::kViewer, "session", sha256(kSecret), sessions_.use(opened->id)};
  EXPECT_TRUE(caller.read_only());
  EXPECT_TRUE(caller.must_be(Role::kViewer).has_value());
  const auto refused = caller.must_be(Role::kOperator);
  ASSERT_TRUE(refused.failed_with(ErrorCode::kAuthorizationPermissionMismatch));
  EXPECT_THAT(refused.error().message, HasSubstr("can only read"));
  sessions_.admit_fully(opened->session.name);
  EXPECT_FALSE(sessions_.use(opened->id)->read_only);
  sessions_.admit_fully("another");
  EXPECT_FALSE(sessions_.use(open())->read_only) << "others are as before";
}

struct NoBody : http::BodyReader {
  std::optional<std::uint64_t> content_length() const override { return 0; }
  Task<Result<std::string>> read_all(std::size_t) override { co_return std::string(); }
  Task<Result<std::string>> read_some(std::size_t) override { co_return std::string(); }
};

class EntryTest : public TokensTest {
 protected:
  http::Request request_by(const std::string& id) {
    cookie_ = session_cookie(id, false, hours(1));
    http::Request request;
    request.method = "GET";
    request.path = "/v1/jobs";
    request.headers = {{"Host", "localhost"}, {"Cookie", cookie_}};
    request.body = &none_;
    return request;
  }
  std::string cookie_;
  NoBody none_;
  StandingClock clock_{Time(hours(24 * 365 * 50))};
  std::shared_ptr<Sessions> sessions_ = std::make_shared<Sessions>(SessionLimits{}, clock_);
};

TEST_F(EntryTest, ASessionNeverHasMoreThanItsTokenNorThanReadingWithoutTheTrail) {
  const auto file =
      write(file_of(entry("ann", "operator", kSecret) + "," + entry("bob", "viewer", "the-secret-of-bob-x")));
  const std::shared_ptr<const Tokens> tokens = *Tokens::load({directory_, "the-token-of-the-stack", file});
  const auto entry = Entry::create({"127.0.0.1", "", ""}, tokens, sessions_);
  ASSERT_TRUE(entry.has_value());
  for (const auto& [token, full] : {std::pair("the-token-of-the-stack", Role::kAdmin),
                                    {kSecret, Role::kOperator},
                                    {"the-secret-of-bob-x", Role::kViewer}}) {
    const auto opened = sessions_->open(sha256(token), true);
    auto caller = entry->admit(request_by(opened->id), Entrance::kToken);
    ASSERT_TRUE(caller.has_value()) << caller.error().message;
    EXPECT_EQ(caller->role, Role::kViewer);
    EXPECT_TRUE(entry->still_may(*caller, Role::kViewer));
    EXPECT_FALSE(entry->still_may(*caller, Role::kOperator));
    sessions_->admit_fully(opened->session.name);
    EXPECT_EQ(entry->admit(request_by(opened->id), Entrance::kToken)->role, full);
    EXPECT_EQ(entry->still_may(*caller, Role::kOperator), full >= Role::kOperator);
  }
}

TEST(SessionCookies, AreForThisServerAlone) {
  EXPECT_EQ(session_cookie("abc", true, hours(1)),
            "tidemark_session=abc; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=3600");
  EXPECT_EQ(session_cookie("", false, hours(1)), "tidemark_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
  EXPECT_THAT(session_ids("a=b; tidemark_session=one;tidemark_session=two; x"), ElementsAre("one", "two"));
  EXPECT_THAT(session_ids(""), IsEmpty());
  EXPECT_THAT(session_ids(";;;"), IsEmpty());
}

TEST(StrangersTest, HaveToWaitAfterTooManyFailures) {
  StandingClock clock{Time(hours(24 * 365 * 50))};
  process::Metrics metrics;
  Strangers strangers(metrics, clock, {.failures = 2, .within = minutes(10), .addresses = 2});
  strangers.login_failed("10.0.0.1");
  EXPECT_EQ(strangers.must_wait("10.0.0.1"), std::nullopt);
  strangers.login_failed("10.0.0.1");
  clock.time += minutes(1);
  EXPECT_EQ(strangers.must_wait("10.0.0.1"), minutes(9));
  EXPECT_EQ(strangers.must_wait("10.0.0.2"), std::nullopt);
  strangers.login_failed("2001:db8::1");
  strangers.login_failed("2001:db8::2");
  EXPECT_NE(strangers.must_wait("2001:db8::ffff"), std::nullopt) << "a network counts as one";
  strangers.login_failed("10.0.0.3");
  EXPECT_EQ(strangers.must_wait("10.0.0.1"), std::nullopt) << "the oldest is forgotten";
  clock.time += minutes(10);
  EXPECT_EQ(strangers.must_wait("2001:db8::1"), std::nullopt);
}

TEST(AuditTrail, NamesWhatRoutesDo) {
  EXPECT_EQ(operation_of("POST", "v1/jobs"), "jobs.post");
  EXPECT_EQ(operation_of("POST", "v1/jobs/batch"), "jobs.batch");
  EXPECT_EQ(operation_of("POST", "v1/jobs/*/cancel"), "jobs.cancel");
  EXPECT_EQ(operation_of("DELETE", "v1/poison/*"), "poison.delete");
  EXPECT_EQ(operation_of("DELETE", "v1/tables/*/feed"), "tables.feed.delete");
  EXPECT_EQ(operation_of("POST", "v1/tables/*/onChange/*/resume"), "tables.onChange.resume");
  EXPECT_EQ(operation_of("PATCH", "v1/limits"), "limits.patch");
}

TEST(AuditTrail, HasNamesOfItsOwnForAllRoutes) {
  std::map<std::string, std::string_view> names;
  for (const auto& area : all_routes()) {
    for (const auto& route : area) {
      if (route.method == "GET") continue;
      const auto [at, fresh] = names.emplace(operation_of(route.method, route.pattern), route.pattern);
      // Deleting one of them and deleting many are the same action.
      const bool of_one = route.pattern == std::string(at->second) + "/*";
      EXPECT_TRUE(fresh || of_one) << route.pattern << " and " << at->second << " have one name";
    }
  }
}

TEST(AuditTrail, ReasonsAreOfAnyLetters) {
  http::Request request;
  request.headers = {{"X-Tidemark-Reason", "Gr%C3%BC%C3%9Fe"}};
  EXPECT_EQ(reason_in(request), "Grüße");
  request.headers = {{"x-tidemark-reason", "100% sure"}};
  EXPECT_EQ(reason_in(request), "100% sure");
}

TEST(AuditTrail, TheNewestDayIsFirst) {
  const auto day = [](const char* text) { return jobs::audit_partition(*parse_iso8601(text)); };
  EXPECT_EQ(day("2026-11-23T23:59:59Z"), "79219-2026-11-23");
  EXPECT_LT(day("2026-11-24T00:00:00Z"), day("2026-11-23T23:59:59Z"));
  EXPECT_LT(day("2100-01-01"), day("2026-11-23"));
}

std::string described_path(std::string_view pattern) {
  std::string out;
  for (const char c : pattern) out += c == '*' ? std::string("{}") : std::string(1, c);
  return "/" + out;
}

std::string without_names(const std::string& path) {
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == '}') inside = false;
    if (!inside) out += c;
    if (c == '{') inside = true;
  }
  return out;
}

TEST(Routes, NeedTheRolesThatTheDescriptionSays) {
  std::map<std::pair<std::string, std::string>, std::string> described, real;
  const auto document = nlohmann::json::parse(openapi_document());
  for (const auto& [path, item] : document["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") continue;
      described[{method, without_names(path)}] = operation.value("x-tidemark-role", "is missing");
    }
  }
  for (const auto& area : all_routes()) {
    for (const auto& route : area) {
      real[{to_lower_ascii(route.method), described_path(route.pattern)}] = role_name(route.role);
    }
  }
  EXPECT_EQ(described, real);
}

TEST(Routes, HaveTheQueryParametersOfTheirDescription) {
  http::Request request;
  const auto refusal = [&](const Route& route, const char* query) {
    request.query = query;
    const auto checked = check_parameters(route, request);
    return checked ? std::string() : checked.error().message;
  };
  for (const auto& area : all_routes()) {
    for (const auto& route : area) {
      const bool any = route.pattern == "v1/indexes/*/lookup";  // properties of the entities
      EXPECT_EQ(refusal(route, "colour=red").empty(), any) << route.method << " " << route.pattern;
      const bool dry = route.pattern == "v1/jobs" && route.method == "POST";
      EXPECT_EQ(refusal(route, "dryRun=true").empty(), any || dry) << route.method << " " << route.pattern;
      EXPECT_EQ(refusal(route, ""), "");
      EXPECT_THAT(refusal(route, "a=%zz"), HasSubstr("percent"));
    }
  }
  for (const auto& route : poison_routes()) {
    if (route.method == "DELETE") EXPECT_EQ(refusal(route, "queue=x"), "") << "it is one of the path";
  }
  for (const auto& route : schedule_routes()) {
    if (route.pattern == "v1/schedules")
      EXPECT_EQ(refusal(route, "page=2"), "Unknown query parameter \"page\"; known here: limit, continuation.");
  }
}

TEST(Routes, OfEverybodyChangeNothingButTheSession) {
  for (const auto& area : all_routes()) {
    for (const auto& route : area) {
      const bool for_all = route.role == Role::kNone;
      EXPECT_EQ(for_all, route.entrance == Entrance::kOpen || route.entrance == Entrance::kLogin) << route.pattern;
      if (for_all && route.method != "GET") EXPECT_EQ(route.pattern, "v1/session");
      if (route.method != "GET" && !for_all)
        EXPECT_TRUE(route.role >= Role::kOperator || route.pattern == "v1/session");
    }
  }
}

}  // namespace
}  // namespace tidemark::api
