// The reliable queue of the Redis documentation, by hiredis: LPUSH; LMOVE to a list of the client's own; LREM from
// there.
#include <hiredis/hiredis.h>

#include <cstdlib>

#include "bench/clients/message_queue.h"

namespace tidemark::bench {
namespace {

using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

class RedisQueue final : public MessageQueue {
 public:
  RedisQueue(const Target& target, int client)
      : queue_(target.queue),
        taken_list_(target.queue + ":" + std::to_string(client)),
        context_(redisConnect("127.0.0.1", std::atoi(target.port.c_str())), &redisFree) {
    if (!context_ || context_->err != 0) fail("cannot connect");
  }

  void put(std::string_view text) override {
    const Reply reply = run("LPUSH %s %b", queue_.c_str(), text.data(), text.size());
    if (reply->type != REDIS_REPLY_INTEGER) fail("LPUSH");
  }

  std::optional<std::string> take(int wait_s) override {
    const Reply reply = wait_s > 0 ? run("BLMOVE %s %s RIGHT LEFT %d", queue_.c_str(), taken_list_.c_str(), wait_s)
                                   : run("LMOVE %s %s RIGHT LEFT", queue_.c_str(), taken_list_.c_str());
    if (reply->type == REDIS_REPLY_NIL) return std::nullopt;
    if (reply->type != REDIS_REPLY_STRING) fail("LMOVE");
    taken_.assign(reply->str, reply->len);
    return taken_;
  }

  void remove() override {
    const Reply reply = run("LREM %s 1 %b", taken_list_.c_str(), taken_.data(), taken_.size());
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1) fail("LREM");
  }

 private:
  template <class... Args>
  Reply run(const char* command, Args... args) {
    Reply reply(static_cast<redisReply*>(redisCommand(context_.get(), command, args...)), &freeReplyObject);
    if (!reply) fail("the connection ended");
    return reply;
  }

  std::string queue_;
  std::string taken_list_;
  std::unique_ptr<redisContext, decltype(&redisFree)> context_;
  std::string taken_;
};

}  // namespace

std::unique_ptr<MessageQueue> connect_redis(const Target& target, int client) {
  return std::make_unique<RedisQueue>(target, client);
}

}  // namespace tidemark::bench
