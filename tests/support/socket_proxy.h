// A proxy between a client and the socket of a server in the file system, which can lose or keep back data: for tests
// of connections that end in the middle of a request.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tidemark::testing {

class SocketProxy {
 public:
  enum class Trouble {
    kNone,
    kLoseRequest,  // the next request does not arrive, and the connection ends
    kLoseReply,    // the next request arrives, its answer does not, and the connection ends for the client
    kFreeze,       // nothing arrives and nobody is notified: the server stands still, until release() is called
    kDelay,        // the client's connection ends; the request arrives when release() is called
    kHold,         // the next request arrives when release() is called, and its answer when it is called again
  };

  /// Listens on `path` for clients of the server at `server`.
  SocketProxy(std::string path, std::string server);
  ~SocketProxy();
  SocketProxy(const SocketProxy&) = delete;
  SocketProxy& operator=(const SocketProxy&) = delete;

  /// Causes the trouble once, to the next sender.
  void cause(Trouble trouble) { trouble_ = trouble; }
  /// Returns when something is kept back.
  void await_kept();
  /// Sends the kept data on, and returns when the server has ended its connection, or has answered, or the client has
  /// its answer.
  void release();
  /// While shut, nobody can connect, and all connections end.
  void shut(bool shut);

 private:
  void accept_clients();
  void serve(int client);
  bool pass_request(int client, int server, const std::string& bytes);
  void keep(int server, const std::string& bytes);
  bool hold(int client, int server, const std::string& bytes);
  void await_release();
  void note_delivered();

  const std::string path_, server_;
  int listener_ = -1;
  std::atomic<Trouble> trouble_{Trouble::kNone};
  std::atomic<bool> shut_{false}, stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool kept_ = false, released_ = false, delivered_ = false;
  std::vector<std::jthread> threads_;
  std::jthread acceptor_;
};

}  // namespace tidemark::testing
