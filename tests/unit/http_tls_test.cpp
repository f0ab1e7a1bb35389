// The HTTP server over TLS: handshakes, other bytes in their place, and certificates that are read again.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <future>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "common/http/server.h"
#include "tests/support/certificates.h"
#include "tests/support/seeded_random.h"

namespace tidemark::http {
namespace {

using asio::ip::tcp;
namespace ssl = asio::ssl;
using Client = ssl::stream<tcp::socket>;
using tidemark::testing::make_certificate;
using tidemark::testing::write_file;

constexpr long kFirst = 1, kSecond = 2;  // serial numbers

std::promise<void> tls_left_alone;

Task<Response> echo_tls(Request& request) {
  Response response;
  if (request.path == "/wait-until-alone") {
    const auto executor = co_await asio::this_coro::executor;
    while (!request.peer_gone()) co_await asio::post(executor, asio::use_awaitable);
    tls_left_alone.set_value();
    co_return response;
  }
  if (request.path == "/strangers") {
    response.status = 403;
    co_return response;
  }
  auto body = co_await request.body->read_all(64UL << 20);
  response.body = std::string(request.tls ? "tls " : "plain ") + body.value_or("no body");
  co_return response;
}

class HttpsServer : public ::testing::Test {
 protected:
  void SetUp() override {
    auto name = (std::filesystem::temp_directory_path() / "tidemark-tls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    files_ = {directory_ / "chain.pem", directory_ / "key.pem"};
    use(make_certificate(kFirst));
    auto loaded = Certificate::load(files_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    certificate_ = *loaded;
    options_.certificate = certificate_;
    options_.sweep_interval = std::chrono::milliseconds(10);
    start();
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }
  void start() {
    server_.reset();
    auto server = bind_server(options_, *random_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    server_->start(echo_tls, [](const Error& error, const std::string&) {
      Response response;
      response.status = http_status_of(error.code);
      response.body = std::string(azure_name_of(error.code)) + ": " + error.message;
      return response;
    });
  }
  void use(const tidemark::testing::MadeCertificate& made) {
    write_file(files_.certificate, made.certificate);
    write_file(files_.key, made.key);
  }
  tcp::socket connect() {
    tcp::socket socket(io_);
    socket.connect({asio::ip::address_v4::loopback(), server_->port()});
    return socket;
  }
  /// Returns a client after the handshake.
  std::unique_ptr<Client> open() {
    auto client = std::make_unique<Client>(connect(), trusting_);
    client->handshake(ssl::stream_base::client);
    return client;
  }
  static long serial_of(Client& client) {
    const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(client.native_handle()),
                                                            &X509_free);
    return ASN1_INTEGER_get(X509_get0_serialNumber(shown.get()));
  }
  /// Sends one request on a connection that stays open; returns the body of its answer.
  static std::string ask(Client& client, const std::string& body) {
    asio::write(client, asio::buffer("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
                                     "\r\n\r\n" + body));
    std::string answer;
    const auto head = asio::read_until(client, asio::dynamic_buffer(answer), "\r\n\r\n");
    const auto length = std::stoul(answer.substr(answer.find("Content-Length: ") + 16));
    if (answer.size() < head + length) {
      asio::read(client, asio::dynamic_buffer(answer), asio::transfer_exactly(head + length - answer.size()));
    }
    return answer.substr(head);
  }
  /// Reads everything until the peer closes, and tells how it ended. "still open" if that takes too long.
  template <class Stream>
  static std::string read_to_end(Stream& stream, boost::system::error_code& ended) {
    auto reading = std::async(std::launch::async, [&] {
      std::string all;
      asio::read(stream, asio::dynamic_buffer(all), ended);
      return all;
    });
    if (reading.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return reading.get();
    ::shutdown(stream.lowest_layer().native_handle(), SHUT_RDWR);
    return "still open";
  }
  std::string refusal() const {
    const auto loaded = Certificate::load(files_);
    if (loaded) return "loaded";
    EXPECT_EQ(loaded.error().code, ErrorCode::kConfigInvalid);
    return loaded.error().message;
  }

  std::filesystem::path directory_;
  CertificateFiles files_;
  std::shared_ptr<Certificate> certificate_;
  ServerOptions options_;
  std::unique_ptr<Random> random_ = make_seeded_random(1);
  asio::io_context io_;
  ssl::context trusting_{ssl::context::tls_client};
  std::unique_ptr<Server> server_;
};

TEST_F(HttpsServer, ServesRequestsOfOneConnection) {
  const auto client = open();
  EXPECT_EQ(ask(*client, "one"), "tls one");
  EXPECT_EQ(ask(*client, "two"), "tls two");
  EXPECT_EQ(server_->where(), "port=" + std::to_string(server_->port()) + " scheme=https");
}

TEST_F(HttpsServer, BodiesOfManyRecordsArriveWhole) {
  const auto client = open();
  std::string body;
  while (body.size() < 5'000'000) body += std::to_string(body.size()) + " ";
  EXPECT_TRUE(ask(*client, body) == "tls " + body);
}

TEST_F(HttpsServer, TheEndIsAnnounced) {
  const auto client = open();
  asio::write(*client, asio::buffer(std::string("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")));
  boost::system::error_code ended;
  EXPECT_NE(read_to_end(*client, ended).find("tls "), std::string::npos);
  EXPECT_EQ(ended, asio::error::eof) << ended.message();  // not stream_truncated
}

TEST_F(HttpsServer, AStrangerWhoStillSendsGetsItsAnswer) {
  const auto client = open();
  asio::write(*client,
              asio::buffer(std::string("PUT /strangers HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n") +
                           std::string(300'000, 'x')));
  boost::system::error_code ended;
  EXPECT_TRUE(read_to_end(*client, ended).starts_with("HTTP/1.1 403"));
  EXPECT_EQ(ended, asio::error::eof) << ended.message();
}

TEST_F(HttpsServer, AHandlerLearnsThatThePeerIsGone) {
  auto gone = tls_left_alone.get_future();
  {
    const auto client = open();
    asio::write(*client, asio::buffer(std::string("GET /wait-until-alone HTTP/1.1\r\nHost: h\r\n\r\n")));
    EXPECT_EQ(ask(*open(), "x"), "tls x");
    EXPECT_EQ(gone.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    boost::system::error_code ignored;
    ::SSL_set_shutdown(client->native_handle(), SSL_RECEIVED_SHUTDOWN);
    client->shutdown(ignored);  // the close that precedes the end of the stream
  }
  EXPECT_EQ(gone.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(HttpsServer, PlainHttpIsToldToUseHttps) {
  auto socket = connect();
  asio::write(socket,
              asio::buffer("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x')));
  boost::system::error_code ended;
  const auto answer = read_to_end(socket, ended);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << answer;
  EXPECT_NE(answer.find("AccountRequiresHttps: This port speaks HTTPS"), std::string::npos) << answer;
  EXPECT_EQ(server_->refused().handshakes, 1U);
}

TEST_F(HttpsServer, WhatIsNoHandshakeIsClosed) {
  auto socket = connect();
  asio::write(socket, asio::buffer(std::string("\x16\x03\x01\x00\x05zzzzz", 10)));
  boost::system::error_code ended;
  EXPECT_EQ(read_to_end(socket, ended).find("HTTP"), std::string::npos);
  EXPECT_TRUE(ended);
  EXPECT_EQ(server_->refused().handshakes, 1U);
}

TEST_F(HttpsServer, AHandshakeThatStallsIsClosed) {
  options_.handshake_timeout = std::chrono::milliseconds(100);
  start();
  auto silent = connect(), slow = connect();
  asio::write(slow, asio::buffer(std::string("\x16\x03\x01\x02", 4)));
  boost::system::error_code ended;
  EXPECT_EQ(read_to_end(silent, ended), "");
  EXPECT_EQ(read_to_end(slow, ended), "");
}

TEST_F(HttpsServer, HandshakesTakeConnectionsAndGiveWay) {
  options_.threads = 1;
  options_.max_connections = 2;
  options_.handshake_timeout = std::chrono::minutes(10);
  start();
  auto first = connect(), second = connect();
  const auto third = open();  // in the place of the first, which has waited longest
  boost::system::error_code ended;
  EXPECT_EQ(read_to_end(first, ended), "");
  EXPECT_EQ(ask(*third, "x"), "tls x");
}

TEST_F(HttpsServer, OldVersionsOfTlsAreRefused) {
  ssl::context old(ssl::context::tls_client);
  ::SSL_CTX_set_max_proto_version(old.native_handle(), TLS1_1_VERSION);
  ::SSL_CTX_set_security_level(old.native_handle(), 0);
  Client client(connect(), old);
  boost::system::error_code refused;
  client.handshake(ssl::stream_base::client, refused);
  EXPECT_NE(refused.message().find("version"), std::string::npos) << refused.message();
  ssl::context oldest_allowed(ssl::context::tls_client);
  ::SSL_CTX_set_max_proto_version(oldest_allowed.native_handle(), TLS1_2_VERSION);
  Client allowed(connect(), oldest_allowed);
  allowed.handshake(ssl::stream_base::client);
  EXPECT_EQ(ask(allowed, "x"), "tls x");
}

TEST_F(HttpsServer, ANewCertificateIsForNewConnections) {
  const auto before = open();
  use(make_certificate(kSecond));
  certificate_->reload();
  const auto after = open();
  EXPECT_EQ(serial_of(*before), kFirst);
  EXPECT_EQ(serial_of(*after), kSecond);
  EXPECT_EQ(ask(*before, "old"), "tls old");
  EXPECT_EQ(ask(*after, "new"), "tls new");
}

TEST_F(HttpsServer, ABrokenNewFileKeepsTheCertificate) {
  write_file(files_.certificate, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  certificate_->reload();
  EXPECT_EQ(serial_of(*open()), kFirst);
  use(make_certificate(kSecond));
  write_file(files_.key, make_certificate(kFirst).key);
  certificate_->reload();
  EXPECT_EQ(serial_of(*open()), kFirst);
}

TEST_F(HttpsServer, WrongFilesAreNamed) {
  const auto said = [&](const char* part) { EXPECT_NE(refusal().find(part), std::string::npos) << refusal(); };
  EXPECT_EQ(refusal(), "loaded");
  const auto good = make_certificate(kFirst);
  write_file(files_.certificate, "garbage");
  said("chain.pem is not a chain of certificates in PEM");
  use({good.certificate, "garbage"});
  said("key.pem is not the certificate's private key");
  use({good.certificate, make_certificate(kSecond).key});
  said("key.pem is not the certificate's private key");
  use(make_certificate(kFirst, -2, -1));
  said("chain.pem expired at ");
  use(make_certificate(kFirst, 1, 2));
  said("chain.pem is not valid before ");
  write_file(files_.certificate, std::string((1UL << 20) + 1, 'x'));
  said("more than 1024 KiB");
  std::filesystem::remove(files_.certificate);
  said("chain.pem cannot be read: No such file");
  files_.key.clear();
  said("belong together");
  files_.certificate.clear();
  EXPECT_EQ(*Certificate::load(files_), nullptr);
}

}  // namespace
}  // namespace tidemark::http
