// Measures the cost of a call between two processes over a link of this machine (ipc) and over one between machines
// (tcp with CURVE): echoes of 1 KiB and 64 KiB, one at a time and 64 at once. Client and server share this process and
// loopback, so the figures are the processor time of both ends together.
//
//   rpc_links [SECONDS]
#include <boost/asio/detached.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "common/base/encoding.h"
#include "common/rpc/zmq_transport.h"

namespace {

using namespace tidemark;
using Clock = std::chrono::steady_clock;

Task<Result<std::string>> echo(std::string, std::string payload) { co_return payload; }

struct Load {
  rpc::Transport& link;
  std::string payload;
  Clock::time_point until;
  std::size_t calls = 0;
  std::size_t failures = 0;
};

Task<void> call_again_and_again(Load& load) {
  while (Clock::now() < load.until) {
    const auto reply = co_await load.link.call("echo", load.payload, std::chrono::seconds(10));
    ++(reply ? load.calls : load.failures);
  }
}

void measure(const char* name, rpc::Transport& link, std::chrono::seconds length) {
  for (const std::size_t kib : {1U, 64U}) {
    for (const int at_once : {1, 64}) {
      asio::io_context io;
      Load load{link, std::string(kib << 10, 'x'), Clock::now() + length};
      for (int i = 0; i < at_once; ++i) asio::co_spawn(io, call_again_and_again(load), asio::detached);
      io.run();
      const auto rate = static_cast<double>(load.calls) / static_cast<double>(length.count());
      std::printf("%s %2zu KiB %2d at once: %7.0f calls/s, %6.0f us each, %zu failed\n", name, kib, at_once, rate,
                  1e6 * at_once / std::max(rate, 1.0), load.failures);
    }
  }
}

Result<void> run(const std::filesystem::path& directory, std::chrono::seconds length) {
  asio::io_context io;
  const auto work = asio::make_work_guard(io);
  const auto server_keys = TRY(rpc::make_key_pair());
  const auto client_keys = TRY(rpc::make_key_pair());
  std::ofstream(directory / "allowed") << hex_encode(client_keys.public_key) << "\n";
  rpc::ServerOptions options;
  options.endpoint = "ipc://" + (directory / "s.sock").string();
  options.tcp = rpc::TcpListening{"tcp://127.0.0.1:0", server_keys,
                                  TRY(rpc::AllowedKeys::read((directory / "allowed").string()))};
  const auto server = TRY(rpc::serve(options, io.get_executor(), echo));
  std::jthread serving([&io] { io.run(); });
  measure("ipc", *rpc::connect(options.endpoint), length);
  measure("tcp", *rpc::connect(rpc::TcpServer{server->tcp_address(), server_keys.public_key, client_keys}), length);
  server->stop();
  io.stop();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = (std::filesystem::temp_directory_path() / "rpc-links-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(name.data());
  const auto done = run(directory, std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 5));
  std::filesystem::remove_all(directory);
  if (!done) std::cerr << "error: " << done.error().message << "\n";
  return done ? 0 : 1;
}
