// How the console's files are served.
#include <gtest/gtest.h>

#include "api/rest/console_files.h"

namespace tidemark::api {
namespace {

http::Request get(std::string_view path) {
  http::Request request;
  request.method = "GET";
  request.path = path;
  return request;
}

TEST(ConsoleFiles, ThePageIsAtTheAddressesOfItsViewsAndNowhereElse) {
  for (const auto* path : {"/", "/poison", "/jobs/some-id", "/tables/T"}) {
    const auto answer = console_response(get(path));
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->headers.find("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(answer->headers.find("Cache-Control"), "no-cache");
  }
  for (const auto* path : {"", "/v1/jobs", "/poisonous", "/metrics", "/console/app.js", "*", "//"}) {
    EXPECT_FALSE(console_response(get(path))) << path;
  }
  auto post = get("/");
  post.method = "POST";
  EXPECT_FALSE(console_response(post));
}

TEST(ConsoleFiles, ABrowserAtAnUnknownAddressGetsThePageAndAProgramDoesNot) {
  constexpr const char* kOfBrowser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
  auto request = get("/nothing/here");
  request.headers = {{"Accept", kOfBrowser}};
  const auto answer = console_response(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404U);
  EXPECT_EQ(answer->headers.find("Content-Type"), "text/html; charset=utf-8");
  EXPECT_TRUE(answer->headers.find("Content-Security-Policy"));
  const std::string tag(*answer->headers.find("ETag"));
  request.headers = {{"Accept", kOfBrowser}, {"If-None-Match", tag}};
  EXPECT_EQ(console_response(request)->status, 404U);
  for (const auto* path : {"/v1/nothing", "/v1", "/console/0000000000000000/app.js", "/metrics", "*"}) {
    auto of_program = get(path);
    of_program.headers = {{"Accept", kOfBrowser}};
    EXPECT_FALSE(console_response(of_program)) << path;
  }
  auto plain = get("/nothing");
  plain.headers = {{"Accept", "*/*"}};
  EXPECT_FALSE(console_response(plain));
}

TEST(ConsoleFiles, AFileIsPackedForWhoeverTakesItAndNotSentAgainUnchanged) {
  for (const auto& file : console_files()) {
    EXPECT_EQ(console_response(get(file.path))->body, file.plain);
    auto request = get(file.path);
    request.headers = {{"Accept-Encoding", "br;q=1.0, GZIP"}};
    const auto packed = console_response(request);
    EXPECT_EQ(packed->body, file.packed);
    EXPECT_EQ(packed->headers.find("Content-Encoding"), "gzip");
    for (const auto* refused : {"gzip;q=0", "br, gzip; q=0.000", "gzipped"}) {
      request.headers = {{"Accept-Encoding", refused}};
      EXPECT_EQ(console_response(request)->body, file.plain) << refused;
    }
    request.headers = {{"Accept-Encoding", "gzip;q=0.5"}};
    EXPECT_EQ(console_response(request)->body, file.packed);
    const auto tags = "\"other\", " + std::string(file.tag);
    request.headers = {{"If-None-Match", tags}};
    const auto unchanged = console_response(request);
    EXPECT_EQ(unchanged->status, 304U);
    EXPECT_TRUE(unchanged->body.empty());
  }
}

}  // namespace
}  // namespace tidemark::api
