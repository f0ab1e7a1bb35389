// Messages over the wire. The text of a message names the message and the write that gave it the text: "m17 w23".
#pragma once
#include "tests/histories/clients.h"

namespace tidemark::histories {

class MessageClient final : public Client {
 public:
  using Client::Client;
  /// Empties the queue once all is quiet, and checks that it had as many messages as it counted. False: a request got
  /// no answer, or the queue is to be drained once more.
  bool drain(const std::string& queue);

 private:
  struct Held {
    Token id = kNothing;
    std::string message_id, receipt;
  };
  void step() override;
  void put(const std::string& queue);
  /// Returns the messages that were received; nothing if there was no answer.
  std::optional<std::vector<Held>> receive(const std::string& queue, int count, int hidden_s);
  void peek(const std::string& queue);
  void update(const std::string& queue, Held& held, int hidden_s);
  void erase(const std::string& queue, const Held& held);
  std::optional<std::size_t> count(const std::string& queue);
  MessageOperation begin_message(MessageVerb verb) const;
  void end_message(const std::string& queue, Token id, MessageOperation operation, const HttpAnswer& answer);

  std::map<std::string, std::set<Token>> found_;  // the messages found once all was quiet, by queue
  std::set<std::string> miscounted_;              // queues whose count was wrong once
};

}  // namespace tidemark::histories
