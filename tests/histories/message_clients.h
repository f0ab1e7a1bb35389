// Messages over the wire. A message says in its text which one it is, and which write gave it the text: "m17 w23".
#pragma once
#include "tests/histories/clients.h"

namespace tidemark::histories {

class MessageClient final : public Client {
 public:
  using Client::Client;
  /// Once nothing happens any more: what the queue counts is there. False: it could not be asked.
  bool drain(const std::string& queue);

 private:
  struct Held {
    Token id = kNothing;
    std::string message_id, receipt;
  };
  void step() override;
  void put(const std::string& queue);
  /// What was received; nothing if there was no answer.
  std::optional<std::vector<Held>> receive(const std::string& queue, int count, int hidden_s);
  void peek(const std::string& queue);
  void update(const std::string& queue, Held& held, int hidden_s);
  void erase(const std::string& queue, const Held& held);
  std::optional<std::size_t> count(const std::string& queue);
  MessageOperation begin_message(MessageVerb verb) const;
  void end_message(const std::string& queue, Token id, MessageOperation operation, const HttpAnswer& answer);

  std::map<std::string, std::set<Token>> found_;  // in queues, once all was quiet
  std::set<std::string> miscounted_;              // queues
};

}  // namespace tidemark::histories
