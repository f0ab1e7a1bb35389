// The HTTP server over real sockets: framing, limits, keep-alive, streaming, shutdown.
#include <gtest/gtest.h>

#include <future>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "common/base/query.h"
#include "common/http/connection_slots.h"
#include "common/http/patience.h"
#include "common/http/server.h"
#include "tests/support/seeded_random.h"

namespace tidemark::http {
namespace {

using asio::ip::tcp;

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr std::size_t kLargeBytes = 6'888'890;  // of the answer to /large

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
  if (request.path == "/scheme") {
    response.body = request.tls ? "https" : "plain";
    request.tls = true;  // like a handler that believes a proxy's header
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
  if (request.path == "/strangers") {
    response.status = 403;
    co_return response;
  }
  if (request.path == "/long-work") {
    if (const auto read = co_await request.body->read_some(1); !read) co_return response;
    asio::steady_timer work(co_await asio::this_coro::executor, std::chrono::milliseconds(1200));
    co_await work.async_wait(asio::use_awaitable);
    response.body = "worked";
    co_return response;
  }
  if (request.path == "/too-often") {
    response.pause = kPause;
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
  response.set("X-Host", request.header("host").value_or("none"));
  response.body = std::string(request.method) + " " + std::string(request.target) + " " + *body;
  co_return response;
}

class HttpServer : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.threads = 2;
    options_.max_header_bytes = 4096;
    start();
  }
  /// Ends the server of SetUp, if there is one, and starts one with the current options.
  void start() {
    server_.reset();
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
  /// Returns the peer's bytes until it closes. "still open" if it has not closed after a long time.
  static std::string read_to_end(tcp::socket& socket) {
    auto reading = std::async(std::launch::async, [&socket] {
      std::string all;
      boost::system::error_code ended;
      asio::read(socket, asio::dynamic_buffer(all), ended);
      return all;
    });
    if (reading.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return reading.get();
    ::shutdown(socket.native_handle(), SHUT_RDWR);
    return "still open";
  }
  /// Sends bytes for as long as the peer takes them.
  static void send(tcp::socket& socket, std::string_view bytes) {
    boost::system::error_code refused;
    asio::write(socket, asio::buffer(bytes), refused);
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

TEST_F(HttpServer, ATargetThatIsAWholeUriNamesTheHost) {
  const auto answer = [this](const std::string& target, const std::string& host = "Host: h\r\n") {
    return exchange("GET " + target + " HTTP/1.1\r\n" + host + "\r\n");
  };
  for (const auto& [target, host, path] : {std::tuple{"http://other:10000/a%2Fb?x=1", "other:10000", "/a%2Fb?x=1"},
                                           {"HTTPS://[::1]:1/", "[::1]:1", "/"},
                                           {"http://other", "other", "/"},
                                           {"http://other?comp=list&u=/", "other", "/?comp=list&u=/"},
                                           {"/a?u=http://other/", "h", "/a?u=http://other/"},
                                           {"ftp://other/a", "h", "ftp://other/a"}}) {
    const auto all = answer(target);
    EXPECT_NE(all.find("X-Host: " + std::string(host) + "\r\n"), std::string::npos) << all;
    EXPECT_NE(all.find("GET " + std::string(path) + " "), std::string::npos) << all;
  }
  EXPECT_NE(answer("http://other/a", "").find("X-Host: other\r\n"), std::string::npos);
  for (const auto* target : {"http:///a", "http://:80/a", "http://user@other/a", "http://"}) {
    EXPECT_TRUE(answer(target).starts_with("HTTP/1.1 400")) << target;
  }
  EXPECT_TRUE(answer("http://other/a", "Host: a\r\nHost: other\r\n").starts_with("HTTP/1.1 400"));
}

TEST_F(HttpServer, WhatAHandlerSaysOfOneRequestIsNotTrueOfTheNext) {
  const std::string asked = "GET /scheme HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(exchange(asked + asked).find("https"), std::string::npos);
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

// A proxy in front may see another end of the body, or another host.
TEST_F(HttpServer, WhatCanBeReadInTwoWaysEndsTheConnection) {
  for (const std::string lines :
       {"Transfer-Encoding: identity\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Host: other\r\n"}) {
    const auto all =
        exchange("PUT /a HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(all.starts_with("HTTP/1.1 400")) << lines << all;
    EXPECT_EQ(all.find("GET /b"), std::string::npos) << lines;
  }
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

// Strings grow by more than they are asked to: the buffer of a body may have room for more than the body.
TEST_F(HttpServer, ABodyOfAnyLengthThatComesAfterItsHeadIsWaitedForToItsEnd) {
  auto socket = connect();
  for (const auto size : {15UZ, 16UZ, 20UZ, 31UZ, 100UZ, 1000UZ}) {
    const std::string body(size, 'b');
    asio::write(socket, asio::buffer("PUT /e HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) +
                                     "\r\nExpect: 100-continue\r\n\r\n"));
    std::string interim;
    asio::read_until(socket, asio::dynamic_buffer(interim), "\r\n\r\n");
    asio::write(socket, asio::buffer(body));
    std::string answer;
    boost::system::error_code ended;
    asio::read_until(socket, asio::dynamic_buffer(answer), "PUT /e " + body, ended);
    ASSERT_FALSE(ended) << size << " bytes: " << answer;
  }
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

constexpr std::string_view kChunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_F(HttpServer, AChunkWhoseSizeLineDoesNotEndIsRefused) {
  auto socket = connect();
  send(socket, kChunked);
  send(socket, "1;" + std::string(1UL << 20, 'a'));
  EXPECT_TRUE(read_to_end(socket).starts_with("HTTP/1.1 400"));
}

TEST_F(HttpServer, TrailersThatDoNotEndAreRefused) {
  auto socket = connect();
  send(socket, kChunked);
  send(socket, "1\r\na\r\n0\r\nX: " + std::string(1UL << 20, 'a'));
  EXPECT_TRUE(read_to_end(socket).starts_with("HTTP/1.1 400"));
}

TEST_F(HttpServer, NobodyReadsTheBodyOfWhomItRefused) {
  auto socket = connect();
  send(socket, "PUT /strangers HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\nthe beginning");
  const auto all = read_to_end(socket);
  EXPECT_TRUE(all.starts_with("HTTP/1.1 403")) << all;
  EXPECT_NE(all.find("Connection: close"), std::string::npos) << all;
}

TEST_F(HttpServer, APeerThatDripsItsBodyIsClosed) {
  options_.transfer_grace = std::chrono::milliseconds(200);
  options_.slowest_bytes_per_s = 1000;
  options_.sweep_interval = std::chrono::milliseconds(20);
  start();
  auto socket = connect();
  socket.non_blocking(true);
  send(socket, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
  char byte = 'a';
  const auto began = std::chrono::steady_clock::now();
  boost::system::error_code error;
  while (std::chrono::steady_clock::now() - began < std::chrono::seconds(60)) {
    socket.write_some(asio::buffer(&byte, 1), error);
    if (error && error != asio::error::would_block) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 200 bytes/s
  }
  EXPECT_TRUE(error == asio::error::broken_pipe || error == asio::error::connection_reset) << error.message();
}

TEST_F(HttpServer, APeerThatDoesNotTakeItsAnswerIsClosed) {
  options_.transfer_grace = std::chrono::milliseconds(100);
  options_.slowest_bytes_per_s = 100'000'000;
  options_.sweep_interval = std::chrono::milliseconds(20);
  start();
  tcp::socket socket(io_, tcp::v4());
  socket.set_option(asio::socket_base::receive_buffer_size(4096));  // so that the rest of the answer has to wait
  socket.connect({asio::ip::address_v4::loopback(), port_});
  send(socket, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  std::array<char, 20'000> piece{};
  std::size_t taken = 0;
  boost::system::error_code ended;
  while (!ended && taken < kLargeBytes) {
    taken += socket.read_some(asio::buffer(piece), ended);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 4 MB/s
  }
  EXPECT_TRUE(ended);
  EXPECT_LT(taken, kLargeBytes);
}

TEST_F(HttpServer, WhoAsksTooOftenIsReadAfterAPause) {
  const auto before = std::chrono::steady_clock::now();
  const auto all = exchange(
      "GET /too-often HTTP/1.1\r\nHost: h\r\n\r\nGET /too-often HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /next HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_GE(std::chrono::steady_clock::now() - before, 2 * kPause);
  EXPECT_TRUE(all.ends_with("GET /next ")) << all;
}

TEST_F(HttpServer, TheHandlersTimeIsNotThePeers) {
  options_.transfer_grace = std::chrono::milliseconds(500);  // less than the work, and more than a pause of the machine
  options_.sweep_interval = std::chrono::milliseconds(20);
  start();
  EXPECT_TRUE(exchange("PUT /long-work HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na").ends_with("worked"));
}

TEST_F(HttpServer, AnAddressHasSoManyConnections) {
  options_.max_connections_of_address = 2;
  start();
  auto one = connect(), two = connect();
  for (auto* socket : {&one, &two}) {
    send(*socket, "GET /ignore HTTP/1.1\r\nHost: h\r\n\r\n");
    std::array<char, 17> answered{};  // so it was accepted, by either thread
    asio::read(*socket, asio::buffer(answered));
  }
  auto three = connect();
  const auto refused = read_to_end(three);
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503")) << refused;
}

TEST(ConnectionSlots, WhoHasTooManyTakesNobodysPlaceAndANetworkCountsAsOne) {
  using enum ConnectionSlots::Verdict;
  const auto address = [](const char* text) { return boost::asio::ip::make_address(text); };
  ConnectionSlots slots(3, 2);
  EXPECT_EQ(slots.take(address("2001:db8::1")), kTaken);
  EXPECT_EQ(slots.take(address("2001:db8::2")), kTaken);
  EXPECT_EQ(slots.take(address("2001:db8::3")), kTooManyOfAddress);
  EXPECT_EQ(slots.take(address("10.0.0.1")), kTaken);
  EXPECT_EQ(slots.take(address("10.0.0.2")), kFull);
  EXPECT_EQ(slots.take(address("2001:db8::3")), kTooManyOfAddress) << "of those who may close an idle one";
  EXPECT_EQ(slots.take(address("10.0.0.2"), true), kTaken);
  slots.leave(address("2001:db8::1"));
  slots.leave(address("10.0.0.1"));
  EXPECT_EQ(slots.take(address("2001:db8::3")), kTaken);
}

TEST_F(HttpServer, ANewConnectionTakesThePlaceOfAnIdleOne) {
  options_.threads = 1;
  options_.max_connections = 2;
  start();
  auto one = connect(), two = connect();
  EXPECT_TRUE(exchange("GET /ignore HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ends_with("ignored"));
  EXPECT_EQ(read_to_end(one), "");
}

TEST_F(HttpServer, AllBodiesTogetherTakeSoMuchMemory) {
  options_.max_body_memory = 150'000;
  start();
  auto first = connect();
  const std::string head = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n";
  send(first, head);
  std::array<char, 25> go_on{};
  asio::read(first, asio::buffer(go_on));  // its memory is set aside
  EXPECT_TRUE(exchange(head).starts_with("HTTP/1.1 503"));
  send(first, std::string(100'000, 'a'));
  first.shutdown(tcp::socket::shutdown_send);
  EXPECT_TRUE(read_to_end(first).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(exchange("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na").starts_with("HTTP/1.1 200"));
}

TEST(Patience, IsEarnedWithBytes) {
  using namespace std::chrono_literals;
  Patience patience(10s, 100);
  const SteadyTime start{};
  EXPECT_EQ(patience.begin(start), start + 10s);
  patience.end(start + 4s, 300);  // 6 s are left, and 3 s earned
  EXPECT_EQ(patience.begin(start), start + 9s);
  patience.end(start + 1s, 1'000'000);  // never more than the grace
  EXPECT_EQ(patience.begin(start, 500), start + 15s);
  patience.end(start + 60s, 0);
  EXPECT_EQ(patience.begin(start), start);
  patience.renew();
  EXPECT_EQ(patience.begin(start), start + 10s);
  EXPECT_GT(patience.begin(start, UINT64_MAX), start);
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

TEST(HeaderLines, KeepsNamesAndValuesAndLetsNoControlCharacterThrough) {
  HeaderLines lines;
  EXPECT_TRUE(lines.empty());
  lines.add("A", "1: 2");
  lines.add("B", "");
  lines.add("C", std::string_view("x\r\ny\0z\x01\x7F\t\xE9", 10));
  const std::vector<std::pair<std::string_view, std::string_view>> expected{
      {"A", "1: 2"}, {"B", ""}, {"C", "x  y z  \t\xE9"}};
  std::vector<std::pair<std::string_view, std::string_view>> seen;
  for (const auto line : lines) seen.push_back(line);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(lines.find("b"), "");
  EXPECT_FALSE(lines.find("d"));
  EXPECT_EQ(lines.text(), "A: 1: 2\r\nB: \r\nC: x  y z  \t\xE9\r\n");
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
