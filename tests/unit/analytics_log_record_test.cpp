// The lines of request logs: the service's own examples, quoting and escaping, and the names of logs.
#include "common/analytics/log_record.h"

#include <gtest/gtest.h>

#include <random>

#include "common/base/encoding.h"

namespace tidemark::analytics {
namespace {

LogRecord example() {
  LogRecord record;
  record.started = *parse_iso8601("2011-08-09T18:02:40.6271789Z");
  record.operation = {"PutBlob", Access::kWrite};
  record.http_status = 201;
  record.end_to_end_ms = 28;
  record.server_ms = 21;
  record.requester = record.owner = "myaccount";
  record.service = "blob";
  record.url = "https://myaccount.blob.core.windows.net/thumbnails/lake.jpg?timeout=30000";
  record.object_key = "/myaccount/thumbnails/lake.jpg";
  record.request_id = "fb658ee6-6123-41f5-81e2-4bfdc178fea3";
  record.address = "201.9.10.20";
  record.version = "2009-09-19";
  record.request_head_bytes = 438;
  record.request_body_bytes = 100;
  record.response_head_bytes = 223;
  record.content_length = 100;
  record.server_md5 = "66CbMXKirxDeTr82SXBKbg==";
  record.etag = "\"0x8CE1B67AD25AA05\"";
  record.last_modified = "Tue, 09 Aug 2011 18:02:40 GMT";
  record.client_request_id = "8/9/2011 6:02:40 PM ab970a57";
  return record;
}

std::string line_of(const LogRecord& record, LogVersion version = LogVersion::k1) {
  std::string line;
  append_log_line(line, record, version);
  return line;
}

/// Parses a line as a reader of logs does: fields are between semicolons, unless they are in quotes.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ';' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  return fields;
}

std::string decoded(std::string text) {
  for (const auto& [from, to] : {std::pair{"&quot;", "\""},
                                 {"&lt;", "<"},
                                 {"&gt;", ">"},
                                 {"&#10;", "\n"},
                                 {"&#13;", "\r"},
                                 {"&#9;", "\t"},
                                 {"&#0;", ""},
                                 {"&amp;", "&"}}) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += std::string_view(to).size()) {
      text.replace(at, std::string_view(from).size(), to);
    }
  }
  return text;
}

TEST(LogRecord, IsTheLineOfTheServicesExample) {
  EXPECT_EQ(line_of(example()),
            "1.0;2011-08-09T18:02:40.6271789Z;PutBlob;Success;201;28;21;authenticated;myaccount;myaccount;blob;"
            "\"https://myaccount.blob.core.windows.net/thumbnails/lake.jpg?timeout=30000\";"
            "\"/myaccount/thumbnails/lake.jpg\";fb658ee6-6123-41f5-81e2-4bfdc178fea3;0;201.9.10.20;2009-09-19;438;100;"
            "223;0;100;;\"66CbMXKirxDeTr82SXBKbg==\";\"0x8CE1B67AD25AA05\";Tuesday, 09-Aug-11 18:02:40 GMT;;;;"
            "\"8/9/2011 6:02:40 PM ab970a57\"\n");
}

TEST(LogRecord, OfVersion2HasEightMoreFields) {
  const auto line = line_of(example(), LogVersion::k2);
  EXPECT_TRUE(line.starts_with("2.0;2011-08-09T18:02:40.6271789Z;PutBlob;"));
  EXPECT_EQ(fields_of(line_of(example())).size(), 30U);
  EXPECT_EQ(fields_of(line).size(), 38U);
  EXPECT_TRUE(line.ends_with("ab970a57\";;;;;;;;\n"));
}

TEST(LogRecord, OfABearerSaysWhoItIs) {
  auto record = example();
  record.login = Login::kBearer;
  record.user_id = "31a9cd2d";
  record.tenant_id = "ten;ant";
  const auto line = line_of(record, LogVersion::k2);
  EXPECT_NE(line.find(";bearer;"), std::string::npos);
  EXPECT_TRUE(line.ends_with("ab970a57\";\"31a9cd2d\";\"ten;ant\";;;;;;\n")) << line;
}

TEST(LogRecord, IsOneLineOfThirtyFieldsWhateverIsInIt) {
  std::mt19937 random(7);
  constexpr std::string_view kAlphabet = "a;\"\n\r\t&<>'é \\,";
  std::uniform_int_distribution<std::size_t> letter(0, kAlphabet.size() - 1), length(0, 12);
  const auto text = [&] {
    std::string out;
    for (auto n = length(random); n > 0; --n) out += kAlphabet[letter(random)];
    return out;
  };
  for (int i = 0; i < 5000; ++i) {
    auto record = example();
    const auto agent = text(), referrer = text(), id = text();
    record.url = text();
    record.object_key = text();
    record.conditions = text();
    record.user_agent = agent;
    record.referrer = referrer;
    record.client_request_id = id;
    const auto line = line_of(record);
    ASSERT_EQ(line.find('\n'), line.size() - 1) << line;
    const auto fields = fields_of(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_EQ(fields.size(), 30U) << line;
    ASSERT_EQ(decoded(fields[11]), record.url);
    ASSERT_EQ(decoded(fields[12]), record.object_key);
    ASSERT_EQ(decoded(fields[26]), record.conditions);
    ASSERT_EQ(decoded(fields[27]), agent);
    ASSERT_EQ(decoded(fields[28]), referrer);
    ASSERT_EQ(decoded(fields[29]), id);
  }
}

TEST(LogRecord, AWeakETagKeepsItsQuotes) {
  auto record = example();
  record.etag = "W/\"datetime'2011-10-18T05%3A36%3A46Z'\"";
  EXPECT_EQ(fields_of(line_of(record))[24], "W/&quot;datetime'2011-10-18T05%3A36%3A46Z'&quot;");
}

TEST(LogRecord, AVersionThatIsNoneIsLeftOut) {
  auto record = example();
  record.version = "1;2\"";
  EXPECT_EQ(fields_of(line_of(record))[16], "");
}

TEST(LogRecord, StatusNamesOutcomeAndLogin) {
  EXPECT_EQ(status_name(outcome_of(200, false), Login::kKey), "Success");
  EXPECT_EQ(status_name(outcome_of(206, false), Login::kSas), "SASSuccess");
  EXPECT_EQ(status_name(outcome_of(304, false), Login::kAnonymous), "AnonymousClientOtherError");
  EXPECT_EQ(status_name(outcome_of(404, false), Login::kKey), "ClientOtherError");
  EXPECT_EQ(status_name(outcome_of(403, false), Login::kSas), "SASAuthorizationError");
  EXPECT_EQ(status_name(outcome_of(503, false), Login::kKey), "ThrottlingError");
  EXPECT_EQ(status_name(outcome_of(500, false), Login::kKey), "ServerOtherError");
  EXPECT_EQ(status_name(outcome_of(500, true), Login::kKey), "ServerTimeoutError");
}

TEST(LogRecord, OfFailedAnonymousRequestsOnlySomeAreLogged) {
  EXPECT_TRUE(is_logged(404, Login::kKey));
  EXPECT_TRUE(is_logged(403, Login::kSas));
  EXPECT_TRUE(is_logged(200, Login::kAnonymous));
  EXPECT_TRUE(is_logged(304, Login::kAnonymous));
  EXPECT_TRUE(is_logged(500, Login::kAnonymous));
  EXPECT_FALSE(is_logged(404, Login::kAnonymous));
  EXPECT_FALSE(is_logged(403, Login::kAnonymous));
}

TEST(LogName, SaysServiceHourAndNumber) {
  const auto hour = hour_of(*parse_iso8601("2026-11-23T01:59:59.9Z"));
  EXPECT_EQ(log_name("table", hour, 0), "table/2026/11/23/0100/000000.log");
  EXPECT_EQ(log_name("blob", hour, 1234567), "blob/2026/11/23/0100/1234567.log");
  EXPECT_EQ(hour_in_log_name("table", log_name("table", hour, 12)), hour);
  for (const auto* other : {"table/2026/11/23/01000/0.log", "blob/2026/11/23/0100/0.log", "table",
                            "table/2026/13/23/0100/0.log", "tables/2026/11/23/0100/0.log", ""}) {
    EXPECT_EQ(hour_in_log_name("table", other), std::nullopt) << other;
  }
}

TEST(LogName, OrderIsThatOfTime) {
  std::string before;
  auto hour = *parse_iso8601("2026-12-30T20:00:00Z");
  for (int i = 0; i < 100; ++i, hour += std::chrono::hours(1)) {
    for (const std::uint64_t number : {0ULL, 1ULL, 10ULL, 999'999ULL}) {
      auto name = log_name("queue", hour, number);
      EXPECT_LT(before, name);
      before = std::move(name);
    }
  }
}

TEST(LogType, ListsWhatIsInTheLog) {
  EXPECT_EQ(log_type(1), "read");
  EXPECT_EQ(log_type(5), "read,delete");
  EXPECT_EQ(log_type(7), "read,write,delete");
}

}  // namespace
}  // namespace tidemark::analytics
