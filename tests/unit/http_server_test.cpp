// The HTTP server over real sockets: framing, limits, keep-alive, streaming, shutdown.
#include <gtest/gtest.h>

#include <future>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "common/base/query.h"
#include "common/http/server.h"
#include "tests/support/seeded_random.h"

namespace tidemark::http {
namespace {

using asio::ip::tcp;

// "abc" a thousand times, in pieces.
class Pieces final : public BodySource {
 public:
  Task<Result<std::string>> next() override {
    if (left_ == 0) co_return std::string();
    --left_;
    co_return std::string("abc");
  }

 private:
  int left_ = 1000;
};

std::promise<void> left_alone;

Task<Response> echo(Request& request) {
  Response response;
  if (request.path == "/throw") throw std::runtime_error("on purpose");
  if (request.path == "/stream") {
    response.source = std::make_unique<Pieces>();
    if (request.query == "sized") response.source_length = 3000;
    co_return response;
  }
  if (request.path == "/wait-until-alone") {
    const auto executor = co_await asio::this_coro::executor;
    while (!request.peer_gone()) {
      co_await asio::post(executor, asio::use_awaitable);
    }
    left_alone.set_value();
    co_return response;
  }
  if (request.path == "/ignore") {
    response.body = "ignored";
    co_return response;
  }
  if (request.path == "/large") {
    for (int i = 0; i < 1'000'000; ++i) response.body += std::to_string(i) + " ";
    co_return response;
  }
  auto body = co_await request.body->read_all(100'000);
  if (!body) {
    response.status = http_status_of(body.error().code);
    response.body = azure_name_of(body.error().code);
    co_return response;
  }
  response.set("X-Evil", "a\r\nX-Injected: yes");
  response.body = std::string(request.method) + " " + std::string(request.target) + " " + *body;
  co_return response;
}

class HttpServer : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.threads = 2;
    options_.max_header_bytes = 4096;
    auto server = bind_server(options_, *random_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    port_ = server_->port();
    server_->start(echo, [](const Error& error, const std::string&) {
      Response response;
      response.status = http_status_of(error.code);
      response.body = azure_name_of(error.code);
      return response;
    });
  }
  tcp::socket connect() {
    tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), port_});
    return socket;
  }
  // Sends everything, then reads to the end of the stream.
  std::string exchange(const std::string& bytes) {
    auto socket = connect();
    asio::write(socket, asio::buffer(bytes));
    socket.shutdown(tcp::socket::shutdown_send);
    std::string all;
    boost::system::error_code ended;
    asio::read(socket, asio::dynamic_buffer(all), ended);
    return all;
  }

  ServerOptions options_;
  std::unique_ptr<Random> random_ = make_seeded_random(1);
  asio::io_context io_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServer, AnswersSeveralRequestsOnOneConnectionInOrder) {
  const auto all = exchange(
      "POST /a?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none"
      "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\ntwo");
  const auto first = all.find("POST /a?x=1 one"), second = all.find("POST /b two");
  EXPECT_NE(first, std::string::npos);
  EXPECT_NE(second, std::string::npos);
  EXPECT_LT(first, second);
}

TEST_F(HttpServer, AHandlerLearnsThatThePeerIsGone) {
  auto gone = left_alone.get_future();
  {
    auto socket = connect();
    asio::write(socket, asio::buffer(std::string("GET /wait-until-alone HTTP/1.1\r\nHost: h\r\n\r\n")));
    EXPECT_NE(exchange("GET /a HTTP/1.1\r\nHost: h\r\n\r\n").find("GET /a"), std::string::npos);
    EXPECT_EQ(gone.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  }
  EXPECT_EQ(gone.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(HttpServer, ReadsChunkedBodies) {
  const auto all =
      exchange("PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
  EXPECT_NE(all.find("PUT /c abcdefg"), std::string::npos) << all;
}

TEST_F(HttpServer, AHeaderValueCannotStartAnotherHeader) {
  const auto all = exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(all.find("\r\nX-Injected"), std::string::npos);
}

TEST_F(HttpServer, MalformedRequestsGet400) {
  EXPECT_NE(exchange("nonsense\r\n\r\n").find("HTTP/1.1 400"), std::string::npos);
  EXPECT_NE(exchange("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n").find("HTTP/1.1 400"), std::string::npos);
}

TEST_F(HttpServer, LargeHeadersGet431) {
  const auto all = exchange("GET / HTTP/1.1\r\nX: " + std::string(8000, 'x') + "\r\n\r\n");
  EXPECT_NE(all.find("HTTP/1.1 431"), std::string::npos) << all.substr(0, 200);
}

// The socket takes a part of the answer at once, and the rest when the client reads.
TEST_F(HttpServer, AnAnswerLargerThanTheSocketBufferArrivesWhole) {
  auto socket = connect();
  asio::write(socket,
              asio::buffer(std::string("GET /large HTTP/1.1\r\nHost: h\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n")));
  std::string all;
  boost::system::error_code ignored;
  asio::read_until(socket, asio::dynamic_buffer(all), "GET /next ", ignored);
  std::string expected;
  for (int i = 0; i < 1'000'000; ++i) expected += std::to_string(i) + " ";
  const auto begin = all.find("\r\n\r\n") + 4;
  EXPECT_TRUE(std::string_view(all).substr(begin).starts_with(expected));
  EXPECT_NE(all.find("Content-Length: " + std::to_string(expected.size())), std::string::npos);
}

TEST_F(HttpServer, RequestsThatArriveByteByByteAreServed) {
  auto socket = connect();
  const std::string requests =
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\noneGET /b HTTP/1.1\r\nHost: h\r\n\r\n";
  socket.set_option(tcp::no_delay(true));
  for (const char c : requests) asio::write(socket, asio::buffer(&c, 1));
  std::string all;
  asio::read_until(socket, asio::dynamic_buffer(all), "GET /b ");
  EXPECT_NE(all.find("POST /a one"), std::string::npos);
}

TEST_F(HttpServer, ManyPipelinedRequestsAreAnsweredInOrder) {
  std::string requests;
  for (int i = 0; i < 2000; ++i) requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  auto socket = connect();
  std::thread sender([&] { asio::write(socket, asio::buffer(requests)); });
  std::string all;
  asio::read_until(socket, asio::dynamic_buffer(all), "GET /1999 ");
  sender.join();
  std::size_t at = 0;
  for (int i = 0; i < 2000; ++i) {
    at = all.find("GET /" + std::to_string(i) + " ", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(HttpServer, ABodyOverItsLimitIsRefusedAndTheConnectionStaysUsable) {
  const std::string large(100'001, 'x');
  const auto all = exchange("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100001\r\n\r\n" + large +
                            "GET /after HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(all.find("HTTP/1.1 413"), std::string::npos);
  EXPECT_NE(all.find("GET /after"), std::string::npos);
}

TEST_F(HttpServer, AnUnreadBodyDoesNotBecomeTheNextRequest) {
  const auto all = exchange(
      "POST /ignore HTTP/1.1\r\nHost: h\r\nContent-Length: 28\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n12"
      "GET /real HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(all.find("ignored"), std::string::npos);
  EXPECT_EQ(all.find("smuggled"), std::string::npos);
  EXPECT_NE(all.find("GET /real"), std::string::npos);
}

TEST_F(HttpServer, ExpectContinueIsAnsweredBeforeTheBody) {
  auto socket = connect();
  asio::write(
      socket,
      asio::buffer(std::string("PUT /e HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")));
  std::string interim;
  asio::read_until(socket, asio::dynamic_buffer(interim), "\r\n\r\n");
  EXPECT_TRUE(interim.starts_with("HTTP/1.1 100"));
  asio::write(socket, asio::buffer(std::string("ok")));
  std::string answer;
  asio::read_until(socket, asio::dynamic_buffer(answer), "PUT /e ok");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServer, StreamsWithAndWithoutALength) {
  const auto sized = exchange("GET /stream?sized HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(sized.find("Content-Length: 3000"), std::string::npos);
  EXPECT_EQ(sized.size() - sized.find("\r\n\r\n") - 4, 3000U);
  const auto chunked = exchange("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(chunked.find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_TRUE(chunked.ends_with("0\r\n\r\n"));
}

TEST_F(HttpServer, AHandlerThatThrowsGives500) {
  EXPECT_NE(exchange("GET /throw HTTP/1.1\r\nHost: h\r\n\r\n").find("HTTP/1.1 500"), std::string::npos);
}

TEST_F(HttpServer, HeadHasNoBody) {
  const auto all = exchange("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(all.ends_with("\r\n\r\n"));
}

TEST_F(HttpServer, APortInUseIsAnErrorThatSaysWhatToDo) {
  ServerOptions same = options_;
  same.port = port_;
  auto second = bind_server(same, *random_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConfigInvalid);
  EXPECT_NE(second.error().message.find("--port"), std::string::npos);
}

TEST_F(HttpServer, StopClosesIdleConnectionsAtOnce) {
  auto socket = connect();
  asio::write(socket, asio::buffer(std::string("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")));
  std::string answer;
  asio::read_until(socket, asio::dynamic_buffer(answer), "GET /x ");
  server_->stop(std::chrono::seconds(30));
  boost::system::error_code ended;
  asio::read(socket, asio::dynamic_buffer(answer), ended);
  EXPECT_TRUE(ended);
}

TEST(HeaderLines, KeepsNamesAndValuesAndLetsNoLineBreakThrough) {
  HeaderLines lines;
  EXPECT_TRUE(lines.empty());
  lines.add("A", "1: 2");
  lines.add("B", "");
  lines.add("C", std::string_view("x\r\ny\0z", 6));
  const std::vector<std::pair<std::string_view, std::string_view>> expected{{"A", "1: 2"}, {"B", ""}, {"C", "x  y z"}};
  std::vector<std::pair<std::string_view, std::string_view>> seen;
  for (const auto line : lines) seen.push_back(line);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(lines.find("b"), "");
  EXPECT_FALSE(lines.find("d"));
  EXPECT_EQ(lines.text(), "A: 1: 2\r\nB: \r\nC: x  y z\r\n");
}

TEST(HeaderLines, GrowAsTheyMust) {
  HeaderLines lines;
  for (int i = 0; i < 100; ++i) lines.add("X-" + std::to_string(i), std::string(50, 'v'));
  int seen = 0;
  for (const auto [name, value] : lines) {
    ASSERT_LT(seen, 100);
    EXPECT_EQ(name, "X-" + std::to_string(seen++));
    EXPECT_EQ(value, std::string(50, 'v'));
  }
  EXPECT_EQ(seen, 100);
}

TEST(ParseQuery, DecodesAndRefusesBrokenEscapes) {
  const auto parsed = QueryParameters::parse("a=1%20b&c&d=x+y&&e=");
  ASSERT_TRUE(parsed);
  const std::vector<QueryParameters::Parameter> expected{{"a", "1 b"}, {"c", ""}, {"d", "x y"}, {"e", ""}};
  EXPECT_EQ(std::vector(parsed->begin(), parsed->end()), expected);
  EXPECT_FALSE(QueryParameters::parse("a=%zz"));
  EXPECT_FALSE(QueryParameters::parse("a=%2"));
}

}  // namespace
}  // namespace tidemark::http
