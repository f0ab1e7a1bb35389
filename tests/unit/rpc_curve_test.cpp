// RPC between machines: tcp with CURVE. Here both ends are on loopback; tests/process has them in two networks.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <zmq.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "common/base/descriptor.h"
#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/rpc/rpc_wire.h"
#include "common/rpc/zmq_transport.h"

namespace tidemark::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Task<Result<std::string>> echo(std::string, std::string payload) { co_return payload; }

Task<void> relay(Transport& link, std::string payload, milliseconds deadline, std::promise<Result<std::string>> done) {
  auto result = co_await link.call("echo", std::move(payload), deadline);
  done.set_value(std::move(result));
}

bool eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A raw ZeroMQ client, as a stranger would use one.
struct RawClient {
  void* context = ::zmq_ctx_new();
  void* socket = ::zmq_socket(context, ZMQ_DEALER);
  RawClient() { set(ZMQ_LINGER, 0); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() {
    ::zmq_close(socket);
    ::zmq_ctx_term(context);
  }
  void set(int option, int value) const { ::zmq_setsockopt(socket, option, &value, sizeof(value)); }
  void set(int option, const std::string& value) const { ::zmq_setsockopt(socket, option, value.data(), value.size()); }
  void use_curve(const std::string& server_key, const KeyPair& keys) const {
    set(ZMQ_CURVE_SERVERKEY, server_key);
    set(ZMQ_CURVE_PUBLICKEY, keys.public_key);
    set(ZMQ_CURVE_SECRETKEY, keys.secret_key);
  }
  void ask(const std::string& address) const {
    ::zmq_connect(socket, address.c_str());
    const auto head = encode_request_head(1, nullptr);
    ::zmq_send(socket, head.data(), head.size(), ZMQ_SNDMORE);
    ::zmq_send(socket, "echo", 4, ZMQ_SNDMORE);
    ::zmq_send(socket, "x", 1, 0);
  }
  [[nodiscard]] bool hears(milliseconds limit) const {
    zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
    return ::zmq_poll(&item, 1, static_cast<long>(limit.count())) > 0;
  }
};

class RpcCurve : public ::testing::Test {
 protected:
  RpcCurve() : thread_([this] { io_.run(); }) {
    std::string name = (std::filesystem::temp_directory_path() / "tidemark-rpc-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    options_.endpoint = "ipc://" + (directory_ / "s.sock").string();
    options_.drain = milliseconds(0);
    allow({own_});
    options_.tcp = TcpListening{"tcp://127.0.0.1:0", server_keys_, *AllowedKeys::read(list())};
  }
  ~RpcCurve() override {
    client_.reset();
    server_.reset();
    guard_.reset();
    io_.stop();
    thread_.join();
    std::filesystem::remove_all(directory_);
  }
  std::string list() const { return (directory_ / "allowed").string(); }
  void allow(const std::vector<KeyPair>& keys) const {
    std::ofstream out(list());
    out << "# who may connect\n\n";
    for (const auto& pair : keys) out << hex_encode(pair.public_key) << " a-name # and a remark\n";
  }
  void start_server() {
    server_.reset();
    auto started = serve(options_, io_.get_executor(), echo);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    options_.tcp->address = server_->tcp_address();  // the same port again after a restart
  }
  Result<std::string> call(const std::string& payload, milliseconds deadline = seconds(60)) {
    if (!client_) client_ = connect(TcpServer{server_->tcp_address(), server_keys_.public_key, own_});
    std::promise<Result<std::string>> done;
    auto reply = done.get_future();
    asio::co_spawn(io_, relay(*client_, payload, deadline, std::move(done)), asio::detached);
    return reply.get();
  }
  std::uint16_t port() const {
    const auto address = server_->tcp_address();
    return parse_number<std::uint16_t>(std::string_view(address).substr(address.rfind(':') + 1)).value_or(0);
  }
  Descriptor raw_connection() const {
    Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    return fd;
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  std::thread thread_;
  std::filesystem::path directory_;
  KeyPair server_keys_ = *make_key_pair();
  KeyPair own_ = *make_key_pair();
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Transport> client_;
};

TEST_F(RpcCurve, AnAllowedKeyIsServedOverTcpAndTheSocketOfThisMachineStillWorks) {
  start_server();
  EXPECT_EQ(call("over tcp").value_or("nothing"), "over tcp");
  EXPECT_EQ(call(std::string(4UL << 20, 'x')).value_or(""), std::string(4UL << 20, 'x'));
  EXPECT_EQ(server_->counters().connections, 1U);
  client_ = connect(options_.endpoint);
  EXPECT_EQ(call("over ipc").value_or("nothing"), "over ipc");
}

TEST_F(RpcCurve, WithoutAnAllowedKeyNothingIsDecodedAndNothingAnswered) {
  start_server();
  const auto stranger = *make_key_pair();
  const RawClient not_allowed;
  not_allowed.use_curve(server_keys_.public_key, stranger);
  const RawClient wrong_server;
  wrong_server.use_curve(stranger.public_key, own_);
  const RawClient null_mechanism;
  const RawClient plain;
  plain.set(ZMQ_PLAIN_USERNAME, "user");
  plain.set(ZMQ_PLAIN_PASSWORD, "password");
  for (const auto* client : {&not_allowed, &wrong_server, &null_mechanism, &plain}) client->ask(server_->tcp_address());
  EXPECT_TRUE(eventually([this] { return server_->counters().refused > 0; }));
  for (const auto* client : {&not_allowed, &wrong_server, &null_mechanism, &plain}) {
    EXPECT_FALSE(client->hears(milliseconds(200)));
  }
  EXPECT_EQ(server_->counters().calls, 0U);
  EXPECT_EQ(server_->counters().malformed, 0U);
  EXPECT_TRUE(call("whoever is allowed is served all the while"));
}

TEST_F(RpcCurve, GarbageOverTcpIsCutAndHarmsNobody) {
  start_server();
  const auto talker = raw_connection();
  const std::string garbage(100'000, '\x7f');
  EXPECT_GT(::send(talker.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
  const auto half = raw_connection();  // a greeting that stops in the middle
  const auto greeting = "\xff" + std::string(8, '\0') + "\x7f\x03";
  EXPECT_GT(::send(half.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL), 0);
  const auto whole = raw_connection();  // the whole greeting, and nothing after it
  const auto head = std::string("\xff") + std::string(8, '\0') + "\x7f" + std::string("\x03\x00", 2) + "CURVE" +
                    std::string(15 + 32, '\0');
  EXPECT_GT(::send(whole.get(), head.data(), head.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(call("served"));
  EXPECT_TRUE(eventually([this] { return server_->counters().connections == 1; })) << server_->counters().connections;
  EXPECT_EQ(server_->counters().calls, 1U);
}

TEST_F(RpcCurve, ConnectionsBeyondTheGreatestNumberAreCut) {
  options_.tcp->max_connections = 3;
  start_server();
  EXPECT_TRUE(call("first"));
  std::vector<Descriptor> many;
  for (int i = 0; i < 10; ++i) many.push_back(raw_connection());
  // Connections that the server closes come to their end; the two others wait for a handshake.
  const auto has_ended = [](const Descriptor& connection) {
    char byte = 0;
    ssize_t got = 0;
    while ((got = ::recv(connection.get(), &byte, 1, MSG_DONTWAIT)) > 0) {  // the server's greeting
    }
    return got == 0 || errno == ECONNRESET;
  };
  EXPECT_TRUE(eventually([&] { return std::ranges::count_if(many, has_ended) >= 8; }));
  EXPECT_TRUE(call("still served"));
}

TEST_F(RpcCurve, AKeyThatIsAllowedLaterGetsInAndOneThatIsTakenOffGetsNoAnswer) {
  allow({});
  ASSERT_TRUE(options_.tcp->allowed);
  const auto keys = *AllowedKeys::read(list());
  options_.tcp->allowed = keys;
  start_server();
  auto refused = call("x", seconds(1));
  ASSERT_TRUE(refused.failed_with(ErrorCode::kUnavailable));
  ASSERT_TRUE(eventually([&] {
    refused = call("x", seconds(1));
    return refused.failed_with(ErrorCode::kUnavailable) &&
           refused.error().message.find(hex_encode(own_.public_key)) != std::string::npos;
  })) << (refused ? "an answer" : refused.error().message);
  EXPECT_EQ(refused.error().message.find(hex_encode(own_.secret_key)), std::string::npos);

  allow({own_});
  EXPECT_EQ(keys->reload().value_or(0), 1U);
  EXPECT_TRUE(call("let in"));

  allow({});
  EXPECT_TRUE(keys->reload());
  const auto calls = server_->counters().calls;
  EXPECT_TRUE(call("y", milliseconds(300)).failed_with(ErrorCode::kDeadlineExceeded));
  EXPECT_EQ(server_->counters().calls, calls);
}

TEST_F(RpcCurve, AWrongServerKeyIsNamedAsTheTrouble) {
  start_server();
  client_ = connect(TcpServer{server_->tcp_address(), make_key_pair()->public_key, own_});
  auto failed = call("x", seconds(1));
  ASSERT_TRUE(eventually([&] {
    failed = call("x", seconds(1));
    return failed.failed_with(ErrorCode::kUnavailable) &&
           failed.error().message.find("public key") != std::string::npos;
  })) << (failed ? "an answer" : failed.error().message);
}

TEST_F(RpcCurve, ARestartedServerIsFoundAgain) {
  start_server();
  EXPECT_TRUE(call("a"));
  start_server();
  EXPECT_TRUE(eventually([this] { return call("b").has_value(); }));
}

TEST_F(RpcCurve, AddressesThatAreNoneAreConfigurationErrors) {
  for (const auto* address : {"127.0.0.1:1", "tcp://127.0.0.1", "tcp://:1", "tcp://127.0.0.1:x", "ipc:///tmp/x"}) {
    options_.tcp->address = address;
    EXPECT_TRUE(serve(options_, io_.get_executor(), echo).failed_with(ErrorCode::kConfigInvalid)) << address;
  }
}

TEST_F(RpcCurve, KeyFilesArePrivateAndNeverOverwritten) {
  const auto path = (directory_ / "key").string();
  ASSERT_TRUE(write_key_file(path, own_));
  struct stat found{};
  ASSERT_EQ(::stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_TRUE(write_key_file(path, own_).failed_with(ErrorCode::kConfigInvalid));
  const auto read = read_key_file(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->public_key, own_.public_key);
  EXPECT_EQ(read->secret_key, own_.secret_key);
  ::chmod(path.c_str(), 0644);
  EXPECT_TRUE(read_key_file(path).failed_with(ErrorCode::kConfigInvalid));
}

TEST_F(RpcCurve, AWrongKeyListNamesTheLineAndLeavesTheOldOneInForce) {
  const auto keys = *AllowedKeys::read(list());
  std::ofstream(list(), std::ios::app) << "not a key\n";
  const auto wrong = keys->reload();
  ASSERT_TRUE(wrong.failed_with(ErrorCode::kConfigInvalid));
  EXPECT_NE(wrong.error().message.find("line 4"), std::string::npos) << wrong.error().message;
  EXPECT_TRUE(keys->contains(own_.public_key));
}

}  // namespace
}  // namespace tidemark::rpc
