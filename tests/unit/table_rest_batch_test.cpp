// Entity group transactions over the wire: the exact bytes of the answers, every violation, limits.
#include <regex>

#include "table_rest_fixture.h"

namespace tidemark::table_store {
namespace {

using testing::HasSubstr;
using testing::Not;

struct TableBatch : TableRestFixture {
  void SetUp() override {
    TableRestFixture::SetUp();
    make_table();
  }
  static std::string part(const std::string& head, const std::string& body, const std::string& headers = "") {
    return "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + head +
           " HTTP/1.1\r\nContent-Type: application/json\r\n" + headers + "\r\n" + body + "\r\n";
  }
  static std::string url(const std::string& resource) { return "http://h:1/devstoreaccount1/" + resource; }
  static std::string post(const std::string& row, const std::string& headers = "Prefer: return-no-content\r\n",
                          const std::string& pk = "p", const std::string& table = "people") {
    return part("POST " + url(table), R"({"PartitionKey":")" + pk + R"(","RowKey":")" + row + "\"}", headers);
  }
  static std::string change_set(const std::vector<std::string>& parts) {
    std::string out = "--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n";
    for (const auto& text : parts) out += "--changeset_c\r\n" + text;
    return out + "--changeset_c--\r\n--batch_b--\r\n";
  }
  Reply send_batch(const std::string& body, Headers headers = {}) {
    headers.emplace_back("Content-Type", "multipart/mixed; boundary=\"batch_b\"");
    return call("POST", "$batch", body, std::move(headers));
  }
  Reply batch(const std::vector<std::string>& parts, Headers headers = {}) {
    return send_batch(change_set(parts), std::move(headers));
  }
  /// GUIDs become letters, in the order they appear.
  static std::string masked(std::string text) {
    static const std::regex guid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
    char letter = 'A';
    for (std::smatch found; std::regex_search(text, found, guid); ++letter) {
      const auto name = found.str();
      for (std::size_t at = 0; (at = text.find(name)) != std::string::npos;) {
        text.replace(at, name.size(), std::string(1, letter));
      }
    }
    return text;
  }
  bool exists(const std::string& row) { return call("GET", one(row)).status == 200; }
};

TEST_F(TableBatch, AnswersByteForByteAsTheService) {
  ASSERT_EQ(call("PUT", one("02"), "{}").status, 204U);
  ASSERT_EQ(call("PUT", one("03"), "{}").status, 204U);
  auto answer = batch({post("01"), part("PATCH " + url(one("02")), "{\"a\":1}", "If-Match: *\r\n"),
                       part("DELETE " + url(one("03")), "", "If-Match: *\r\n"),
                       post("04", "Accept: application/json;odata=nometadata\r\n")});
  EXPECT_EQ(answer.status, 202U);
  EXPECT_EQ(masked(answer.header("Content-Type")), "multipart/mixed; boundary=batchresponse_A");
  EXPECT_EQ(answer.header("Cache-Control"), "no-cache");
  EXPECT_EQ(answer.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(masked(answer.body),
            "--batchresponse_A\r\n"
            "Content-Type: multipart/mixed; boundary=changesetresponse_B\r\n"
            "\r\n"
            "--changesetresponse_B\r\n"
            "Content-Type: application/http\r\n"
            "Content-Transfer-Encoding: binary\r\n"
            "\r\n"
            "HTTP/1.1 204 No Content\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Cache-Control: no-cache\r\n"
            "Preference-Applied: return-no-content\r\n"
            "DataServiceVersion: 3.0;\r\n"
            "Location: http://127.0.0.1:10002/devstoreaccount1/people(PartitionKey='p',RowKey='01')\r\n"
            "DataServiceId: http://127.0.0.1:10002/devstoreaccount1/people(PartitionKey='p',RowKey='01')\r\n"
            "ETag: W/\"datetime'2026-11-21T12%3A09%3A13.1864611Z'\"\r\n"
            "\r\n"
            "\r\n"
            "--changesetresponse_B\r\n"
            "Content-Type: application/http\r\n"
            "Content-Transfer-Encoding: binary\r\n"
            "\r\n"
            "HTTP/1.1 204 No Content\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Cache-Control: no-cache\r\n"
            "DataServiceVersion: 1.0;\r\n"
            "ETag: W/\"datetime'2026-11-21T12%3A09%3A13.1864611Z'\"\r\n"
            "\r\n"
            "\r\n"
            "--changesetresponse_B\r\n"
            "Content-Type: application/http\r\n"
            "Content-Transfer-Encoding: binary\r\n"
            "\r\n"
            "HTTP/1.1 204 No Content\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Cache-Control: no-cache\r\n"
            "DataServiceVersion: 1.0;\r\n"
            "\r\n"
            "\r\n"
            "--changesetresponse_B\r\n"
            "Content-Type: application/http\r\n"
            "Content-Transfer-Encoding: binary\r\n"
            "\r\n"
            "HTTP/1.1 201 Created\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Cache-Control: no-cache\r\n"
            "DataServiceVersion: 3.0;\r\n"
            "Content-Type: application/json;odata=nometadata;streaming=true;charset=utf-8\r\n"
            "Location: http://127.0.0.1:10002/devstoreaccount1/people(PartitionKey='p',RowKey='04')\r\n"
            "ETag: W/\"datetime'2026-11-21T12%3A09%3A13.1864611Z'\"\r\n"
            "\r\n"
            "{\"PartitionKey\":\"p\",\"RowKey\":\"04\",\"Timestamp\":\"2026-11-21T12:09:13.1864611Z\"}\r\n"
            "--changesetresponse_B--\r\n"
            "--batchresponse_A--\r\n");
}

TEST_F(TableBatch, FailureIsOnePartAndChangesNothing) {
  ASSERT_EQ(call("PUT", one("3"), "{}").status, 204U);
  auto answer = batch({post("1"), post("2"), post("3"), post("4")});
  EXPECT_EQ(answer.status, 202U);
  EXPECT_EQ(
      masked(answer.body),
      "--batchresponse_A\r\n"
      "Content-Type: multipart/mixed; boundary=changesetresponse_B\r\n"
      "\r\n"
      "--changesetresponse_B\r\n"
      "Content-Type: application/http\r\n"
      "Content-Transfer-Encoding: binary\r\n"
      "\r\n"
      "HTTP/1.1 409 Conflict\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Cache-Control: no-cache\r\n"
      "Preference-Applied: return-no-content\r\n"
      "DataServiceVersion: 3.0;\r\n"
      "Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n"
      "\r\n"
      "{\"odata.error\":{\"code\":\"EntityAlreadyExists\",\"message\":{\"lang\":\"en-US\",\"value\":\"2:The specified "
      "entity already exists.\\nRequestId:C\\nTime:2026-11-21T12:09:13.1864608Z\"}}}\r\n"
      "--changesetresponse_B--\r\n"
      "--batchresponse_A--\r\n");
  for (const char* row : {"1", "2", "4"}) EXPECT_FALSE(exists(row)) << row;
}

TEST_F(TableBatch, ViolationsNameTheOperation) {
  ASSERT_EQ(call("PUT", one("old"), "{}").status, 204U);
  struct Case {
    std::vector<std::string> parts;
    const char* code;
    const char* message;
    const char* status;
  };
  const std::string stale = "If-Match: W/\"datetime'2020-01-01T00%3A00%3A00Z'\"\r\n";
  const std::vector<Case> cases = {
      {{post("1"), post("2", "", "other")}, "CommandsInBatchActOnDifferentPartitions", "1:", "400 Bad Request"},
      {{post("1"), post("2"), post("1")}, "InvalidDuplicateRow", "2:", "400 Bad Request"},
      {{post("1"), post("2", "", "p", "elsewhere")}, "InvalidInput", "1:", "400 Bad Request"},
      {{post("1", "", "p", "nowhere")}, "TableNotFound", "0:", "404 Not Found"},
      {{post("1"), part("PATCH " + url(one("x")), "{}", "If-Match: *\r\n")}, "ResourceNotFound", "1:", "404 Not Found"},
      {{post("1"), part("PUT " + url(one("old")), "{}", stale)},
       "UpdateConditionNotSatisfied",
       "1:",
       "412 Precondition Failed"},
      {{post("1"), part("DELETE " + url(one("old")), "")}, "MissingRequiredHeader", "1:", "400 Bad Request"},
      {{post("1"), part("PUT " + url(one("a/b")), "{}")},
       "InvalidInput",
       "1:Bad Request - Error in query syntax",
       "400 Bad Request"},
      {{post("1"), part("PUT " + url(one("a%23")), "{}")}, "OutOfRangeInput", "1:", "400 Bad Request"},
      {{post("1"), part("POST " + url("people"), "{")}, "InvalidInput", "1:", "400 Bad Request"},
      {{post("1"), part("POST " + url("people"), "{}")}, "PropertiesNeedValue", "1:", "400 Bad Request"},
      {{post("1"), part("PUT " + url(one("2")), "{\"a-b\":1}")}, "PropertyNameInvalid", "1:", "400 Bad Request"},
      {{post("1"), part("PUT " + url(one("2")), "{}", "X-HTTP-Method: MERGE\r\n")},
       "XMethodNotUsingPost",
       "1:",
       "400 Bad Request"},
      {{post("1"), part("POST " + url(one("2")), "{}", "X-HTTP-Method: HEAD\r\n")},
       "XMethodIncorrectValue",
       "1:",
       "400 Bad Request"},
  };
  for (const auto& expected : cases) {
    auto answer = batch(expected.parts);
    EXPECT_EQ(answer.status, 202U) << expected.code;
    EXPECT_THAT(answer.body, HasSubstr("HTTP/1.1 " + std::string(expected.status) + "\r\n"));
    EXPECT_THAT(answer.body, HasSubstr("\"code\":\"" + std::string(expected.code) + "\""));
    EXPECT_THAT(answer.body, HasSubstr("\"value\":\"" + std::string(expected.message)));
    EXPECT_FALSE(exists("1")) << expected.code;
  }
}

TEST_F(TableBatch, TunnelledAndRelativePartsWork) {
  ASSERT_EQ(call("PUT", one("b"), "{\"k\":1}").status, 204U);
  auto answer =
      batch({part("POST " + url(one("a")), "{\"n\":1}", "X-HTTP-Method: PUT\r\n"),
             part("POST /devstoreaccount1/" + one("b"), "{\"n\":1}", "X-HTTP-Method: MERGE\r\nIf-Match: *\r\n"),
             part("MERGE /" + one("c"), "{\"n\":1}"),
             part("PUT " + url(one("d")) + "?$format=application%2Fjson%3Bodata%3Dnometadata", "{}")});
  EXPECT_THAT(answer.body, Not(HasSubstr("odata.error")));
  EXPECT_THAT(call("GET", one("b")).body, HasSubstr("\"k\":1,\"n\":1"));
  for (const char* row : {"a", "c", "d"}) EXPECT_TRUE(exists(row)) << row;
}

TEST_F(TableBatch, HundredOperations) {
  std::vector<std::string> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(post("r" + std::to_string(i)));
  auto more = parts;
  more.push_back(post("one more"));
  auto refused = batch(more);
  EXPECT_THAT(refused.body, HasSubstr("\"code\":\"InvalidInput\""));
  EXPECT_THAT(refused.body, HasSubstr("\"value\":\"99:"));
  EXPECT_FALSE(exists("r0"));
  auto answer = batch(parts);
  EXPECT_THAT(answer.body, Not(HasSubstr("odata.error")));
  EXPECT_TRUE(exists("r99"));
}

TEST_F(TableBatch, FourMebibytes) {
  // Text before the first boundary is a preamble.
  const auto body = change_set({post("1")});
  const std::string limit((4UL << 20) - body.size() - 2, ' ');
  EXPECT_EQ(send_batch(limit + "\r\n" + body).status, 202U);
  EXPECT_TRUE(exists("1"));
  auto over = send_batch(limit + " \r\n" + body);
  EXPECT_EQ(over.status, 413U);
  EXPECT_EQ(over.code(), "RequestBodyTooLarge");
}

TEST_F(TableBatch, LineEndsMayBeBare) {
  auto body = change_set({post("1"), post("2")});
  std::erase(body, '\r');
  EXPECT_EQ(send_batch(body).status, 202U);
  EXPECT_TRUE(exists("1"));
  EXPECT_TRUE(exists("2"));
}

TEST_F(TableBatch, HoldsAQueryInsteadOfChanges) {
  ASSERT_EQ(call("PUT", one("r"), "{\"n\":1}").status, 204U);
  const auto query = [&](const std::string& resource) {
    return send_batch("--batch_b\r\n" +
                      part("GET " + url(resource), "", "Accept: application/json;odata=nometadata\r\n") +
                      "--batch_b--\r\n");
  };
  auto point = query(one("r"));
  EXPECT_EQ(point.status, 202U);
  EXPECT_EQ(masked(point.body),
            "--batchresponse_A\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            "HTTP/1.1 200 OK\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n"
            "DataServiceVersion: 3.0;\r\n"
            "Content-Type: application/json;odata=nometadata;streaming=true;charset=utf-8\r\n"
            "ETag: W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"\r\n\r\n"
            "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2026-11-21T12:09:13.1864608Z\",\"n\":1}\r\n"
            "--batchresponse_A--\r\n");
  EXPECT_THAT(query("people()?$filter=n%20eq%201").body, HasSubstr("{\"value\":[{\"PartitionKey\":\"p\""));
  EXPECT_THAT(query(one("none")).body, HasSubstr("HTTP/1.1 404 Not Found"));
  // Beside other parts it is no batch at all.
  const auto mixed = batch({post("1"), part("GET " + url(one("r")), "")});
  EXPECT_EQ(mixed.status, 400U);
  EXPECT_EQ(mixed.code(), "InvalidInput");
  EXPECT_FALSE(exists("1"));
}

TEST_F(TableBatch, ContentIdComesBackFirst) {
  const auto with_id = [](std::string text, const std::string& id) { return "Content-ID: " + id + "\r\n" + text; };
  const auto first = [](const std::string& status, const std::string& id) {
    return "HTTP/1.1 " + status + "\r\nContent-ID: " + id + "\r\nX-Content-Type-Options: nosniff\r\n";
  };
  const std::vector<std::string> parts = {
      post("1", "content-id: 0\r\nPrefer: return-no-content\r\n"), with_id(post("2"), "outer"),
      with_id(post("3", "Content-ID: in(ner)\r\n"), "outer"), with_id(post("4"), std::string(256, 'x'))};
  const auto done = batch(parts);
  EXPECT_THAT(done.body, HasSubstr(first("204 No Content", "0")));
  EXPECT_THAT(done.body, HasSubstr(first("204 No Content", "outer")));
  EXPECT_THAT(done.body, HasSubstr(first("201 Created", "in(ner)")));
  EXPECT_THAT(done.body, HasSubstr(first("204 No Content", std::string(256, 'x'))));
  const auto refused = batch({post("5"), with_id(post("1"), "7")});
  EXPECT_THAT(refused.body, HasSubstr(first("409 Conflict", "7")));
  const auto query = [&](const std::string& row) {
    return send_batch("--batch_b\r\n" + with_id(part("GET " + url(one(row)), ""), "q") + "--batch_b--\r\n").body;
  };
  EXPECT_THAT(query("1"), HasSubstr(first("200 OK", "q")));
  EXPECT_THAT(query("none"), HasSubstr(first("404 Not Found", "q")));
}

TEST_F(TableBatch, AContentIdThatCouldDoHarmIsLeftOut) {
  int row = 0;
  for (const auto& id : {std::string("a\rSet-Cookie: b"), std::string("a b"), std::string("h\xC3\xA9"),
                         std::string("\x7F"), std::string(257, 'x'), std::string()}) {
    const auto answer = batch({post(std::to_string(++row), "Content-ID: " + id + "\r\n")});
    EXPECT_THAT(answer.body, HasSubstr("HTTP/1.1 201 Created\r\nX-Content-Type-Options")) << id;
  }
}

TEST_F(TableBatch, WhatItAcceptsIsSaidByItsOperations) {
  int row = 0;
  for (const char* accept : {"multipart/mixed", "application/http", "application/atom+xml", "text/plain"}) {
    const auto answer = batch({post(std::to_string(++row), "")}, {{"Accept", accept}});
    EXPECT_EQ(answer.status, 202U) << accept;
    EXPECT_THAT(answer.body, HasSubstr("application/json;odata=minimalmetadata;")) << accept;
  }
  const auto refused = batch({post("5", "Accept: application/atom+xml\r\n")});
  EXPECT_EQ(refused.status, 202U);
  EXPECT_THAT(refused.body, HasSubstr("HTTP/1.1 415 "));
}

TEST_F(TableBatch, LaterChangeSetsAreRefusedAndTheFirstIsExecuted) {
  const auto three = [](const std::string& first) {
    const auto set = [](const std::string& name, const std::string& text) {
      return "--batch_b\r\nContent-Type: multipart/mixed; boundary=" + name + "\r\n\r\n--" + name + "\r\n" + text +
             "--" + name + "--\r\n";
    };
    return set("changeset_c", first) + set("changeset_d", post("2")) + set("changeset_e", post("3")) +
           "--batch_b--\r\n";
  };
  const auto statuses = [](std::string text) {
    std::string out;
    static const std::regex status("HTTP/1\\.1 ([0-9]+)");
    for (std::smatch found; std::regex_search(text, found, status); text = found.suffix()) out += found[1].str() + " ";
    return out;
  };
  const auto answer = send_batch(three(post("1")));
  EXPECT_EQ(answer.status, 202U);
  EXPECT_EQ(statuses(answer.body), "204 400 400 ");
  EXPECT_THAT(answer.body, HasSubstr("\"code\":\"InvalidInput\""));
  EXPECT_TRUE(exists("1"));
  EXPECT_FALSE(exists("2"));
  EXPECT_FALSE(exists("3"));
  EXPECT_EQ(statuses(send_batch(three(post("1"))).body), "409 400 400 ");
  // A query in the place of an operation is not allowed.
  EXPECT_EQ(send_batch(three(part("GET " + url(one("1")), ""))).status, 400U);
}

TEST_F(TableBatch, WhatIsNoBatchIsRefused) {
  EXPECT_EQ(call("POST", "$batch", change_set({post("1")}), {{"Content-Type", "application/json"}}).code(),
            "InvalidInput");
  EXPECT_EQ(send_batch("").code(), "InvalidInput");
  EXPECT_EQ(send_batch("--other\r\n").code(), "InvalidInput");
  EXPECT_EQ(call("GET", "$batch").code(), "MethodNotAllowed");
}

}  // namespace
}  // namespace tidemark::table_store
