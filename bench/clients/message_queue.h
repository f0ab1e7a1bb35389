// One client of one message queue, for the load that bench/run puts on the systems that it compares side by side. Each
// implementation is blocking, belongs to one thread and does as little as its protocol allows, so that the client costs
// about the same for every system. Any error ends the program: a benchmark with errors has no result.
#pragma once
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace tidemark::bench {

[[noreturn]] void fail(const std::string& what);
/// 400 letters and digits: random, so that no storage compresses them away, and unique, so that LREM finds one.
std::string message_text(std::mt19937_64& random);

struct Target {
  std::string port;
  std::string queue;
  // For Tidemark only:
  std::string sas;
  int delay_s = 0;  // until a message that is put becomes visible
};

class MessageQueue {
 public:
  virtual ~MessageQueue() = default;
  /// Puts a message, and returns when it is acknowledged: on disk, as each system is configured here.
  virtual void put(std::string_view text) = 0;
  /// Takes the next message without removing it, and returns it; nothing if none came within the wait.
  virtual std::optional<std::string> take(int wait_s) = 0;
  /// Removes the message that was taken last.
  virtual void remove() = 0;
};

std::unique_ptr<MessageQueue> connect_tidemark(const Target& target);
std::unique_ptr<MessageQueue> connect_rabbitmq(const Target& target);
std::unique_ptr<MessageQueue> connect_redis(const Target& target, int client);

}  // namespace tidemark::bench
