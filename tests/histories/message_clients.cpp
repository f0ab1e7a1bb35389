#include "tests/histories/message_clients.h"

#include <cctype>
#include <functional>
#include <thread>

namespace tidemark::histories {
namespace {

constexpr const char* kXml = "x-ms-version: 2019-02-02\r\nContent-Type: application/xml\r\n";
constexpr int kMostAtOnce = 32, kEmptyAnswers = 3, kDrainedS = 30;
constexpr Moment kSecond = 1'000'000;

/// Returns the number that stands for a receipt in histories.
Token number_of(std::string_view receipt) {
  const auto number = static_cast<Token>(std::hash<std::string_view>()(receipt));
  return number == kNothing || number == kAnything ? 1 : number;
}

std::string text_of(Token id, Token text) { return "m" + std::to_string(id) + " w" + std::to_string(text); }

std::string body_of(Token id, Token text) {
  return "<QueueMessage><MessageText>" + text_of(id, text) + "</MessageText></QueueMessage>";
}

std::string queue_path(const std::string& queue) { return "/" + queue + "/messages"; }

std::string receipt_parameter(const std::string& receipt) {
  std::string out = "popreceipt=";
  for (const char c : receipt) {
    if (c == '+') {
      out += "%2B";
    } else if (c == '/' || c == '=') {
      out += c == '/' ? "%2F" : "%3D";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

MessageOperation MessageClient::begin_message(MessageVerb verb) const {
  MessageOperation operation;
  operation.client = number_;
  operation.verb = verb;
  operation.invoked = now();
  return operation;
}

void MessageClient::end_message(const std::string& queue, Token id, MessageOperation operation,
                                const HttpAnswer& answer) {
  if (!answer.sent) return;
  operation.returned = now();
  if (answer.refused()) {
    if (answer.status != 404 && answer.status != 400) return surprised(answer);
    operation.outcome = Outcome::kRefused;
    operation.refusal = Refusal::kAbsent;
  } else if (!answer.ok()) {
    operation.outcome = Outcome::kUnknown;
    operation.returned = kForever;
  }
  book_.messages[queue][id].push_back(operation);
}

void MessageClient::put(const std::string& queue) {
  const int hidden_s = chance(20) ? 1 : 0;
  const auto token = workload_.next_token();
  auto operation = begin_message(MessageVerb::kPut);
  operation.text = token;
  operation.hidden_for = hidden_s * kSecond;
  const auto answer = ask(workload_.queue_ports, {"POST", queue_path(queue), kXml, body_of(token, token)},
                          "messagettl=-1&visibilitytimeout=" + std::to_string(hidden_s));
  const auto receipts = elements(answer.body, "PopReceipt");
  if (!receipts.empty()) operation.given = number_of(receipts.front());
  end_message(queue, token, operation, answer);
}

std::optional<std::vector<MessageClient::Held>> MessageClient::receive(const std::string& queue, int count,
                                                                       int hidden_s) {
  auto operation = begin_message(MessageVerb::kReceive);
  const auto answer = ask(workload_.queue_ports, {"GET", queue_path(queue), kXml, {}},
                          "numofmessages=" + std::to_string(count) + "&visibilitytimeout=" + std::to_string(hidden_s));
  if (answer.refused()) surprised(answer);
  if (!answer.ok()) {
    if (answer.sent) book_.first_lost_receive.try_emplace(queue, operation.invoked);
    return std::nullopt;
  }
  operation.returned = now();
  operation.hidden_for = hidden_s * kSecond;
  const auto ids = elements(answer.body, "MessageId");
  const auto receipts = elements(answer.body, "PopReceipt");
  const auto texts = elements(answer.body, "MessageText");
  const auto counts = elements(answer.body, "DequeueCount");
  std::vector<Held> held;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = token_of("w" + std::string(texts[i].substr(1)));
    operation.text = token_of(texts[i]);
    operation.given = number_of(receipts[i]);
    operation.count = static_cast<std::uint32_t>(std::atoi(std::string(counts[i]).c_str()));
    book_.messages[queue][id].push_back(operation);
    held.push_back({id, std::string(ids[i]), std::string(receipts[i])});
  }
  return held;
}

void MessageClient::peek(const std::string& queue) {
  auto operation = begin_message(MessageVerb::kPeek);
  const auto answer = ask(workload_.queue_ports, {"GET", queue_path(queue), kXml, {}}, "peekonly=true&numofmessages=8");
  if (!answer.ok()) return;
  operation.returned = now();
  for (const auto text : elements(answer.body, "MessageText")) {
    operation.text = token_of(text);
    book_.messages[queue][token_of("w" + std::string(text.substr(1)))].push_back(operation);
  }
}

void MessageClient::update(const std::string& queue, Held& held, int hidden_s) {
  auto operation = begin_message(MessageVerb::kUpdate);
  operation.receipt = number_of(held.receipt);
  operation.hidden_for = hidden_s * kSecond;
  operation.text = workload_.next_token();
  const auto answer = ask(workload_.queue_ports,
                          {"PUT", queue_path(queue) + "/" + held.message_id, kXml, body_of(held.id, operation.text)},
                          receipt_parameter(held.receipt) + "&visibilitytimeout=" + std::to_string(hidden_s));
  if (answer.ok()) held.receipt = answer.header("x-ms-popreceipt");
  if (answer.ok()) operation.given = number_of(held.receipt);
  end_message(queue, held.id, operation, answer);
}

void MessageClient::erase(const std::string& queue, const Held& held) {
  auto operation = begin_message(MessageVerb::kErase);
  operation.receipt = number_of(held.receipt);
  const auto answer = ask(workload_.queue_ports, {"DELETE", queue_path(queue) + "/" + held.message_id, kXml, {}},
                          receipt_parameter(held.receipt));
  end_message(queue, held.id, operation, answer);
}

void MessageClient::step() {
  const auto& queue = any_of(workload_.queues);
  if (chance(45)) return put(queue);
  if (chance(10)) return peek(queue);
  auto held = receive(queue, 1 + static_cast<int>(below(3)), 1);
  if (!held) return;
  for (auto& message : *held) {
    if (chance(20)) continue;  // the client forgets the message, which is delivered again
    if (chance(20)) update(queue, message, static_cast<int>(below(2)));
    if (chance(75)) erase(queue, message);
    if (chance(5)) erase(queue, message);  // once more
  }
}

std::optional<std::size_t> MessageClient::count(const std::string& queue) {
  const auto answer = ask(workload_.queue_ports, {"GET", "/" + queue, kXml, {}}, "comp=metadata");
  if (!answer.ok()) return std::nullopt;
  return std::strtoul(std::string(answer.header("x-ms-approximate-messages-count")).c_str(), nullptr, 10);
}

bool MessageClient::drain(const std::string& queue) {
  const auto counted = count(queue);
  if (!counted) return false;
  auto& found = found_[queue];
  const auto try_again = [] {  // waits until messages that a lost answer has hidden are visible again
    std::this_thread::sleep_for(std::chrono::seconds(kDrainedS));
    return false;
  };
  for (int empty = 0; empty < kEmptyAnswers;) {
    const auto held = receive(queue, kMostAtOnce, kDrainedS);
    if (!held) return try_again();
    for (const auto& message : *held) found.insert(message.id);
    empty = held->empty() ? empty + 1 : 0;
  }
  if (*counted != found.size()) {
    if (miscounted_.insert(queue).second) {  // something may still have been under way
      found.clear();
      return try_again();
    }
    book_.complain(queue + " counts " + std::to_string(*counted) + " messages, and has " +
                   std::to_string(found.size()));
  }
  book_.drained[queue] = found;
  return true;
}

std::unique_ptr<Client> make_message_client(Workload& workload, int number, std::uint64_t seed) {
  return std::make_unique<MessageClient>(workload, number, seed);
}

}  // namespace tidemark::histories
