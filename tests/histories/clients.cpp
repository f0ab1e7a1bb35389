#include "tests/histories/clients.h"

#include <algorithm>
#include <charconv>
#include <thread>

namespace tidemark::histories {
namespace {

constexpr int kMostOperations = 3000, kMostUnknown = 4;
constexpr std::chrono::milliseconds kNap{50};  // of a client that got no answer

}  // namespace

Moment now() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

void Place::asked(bool unknown) {
  const bool many = ++operations_ >= kMostOperations;
  const bool open = unknown && ++unknown_ >= kMostUnknown;
  if (!many && !open) return;
  operations_ = unknown_ = 0;
  ++number_;
}

void Book::complain(std::string what) {
  if (complaints.size() < 20) complaints.push_back(std::move(what));
}

void Book::note_etag(const std::string& object, Row row, std::string_view etag, Token token) {
  const auto key = object + " r" + std::to_string(row) + " " + std::string(etag);
  const auto known = etags.try_emplace(key, token).first->second;
  if (known == token) return;
  complain("the ETag " + key + " stood for w" + std::to_string(known) + " and for w" + std::to_string(token));
}

void Book::add(Book&& other) {
  const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (auto& [object, operations] : other.registers) append(registers[object], operations);
  for (auto& [queue, ids] : other.messages) {
    for (auto& [id, operations] : ids) append(messages[queue][id], operations);
  }
  for (const auto& [queue, moment] : other.first_lost_receive) {
    auto& first = first_lost_receive.try_emplace(queue, moment).first->second;
    first = std::min(first, moment);
  }
  for (auto& [queue, ids] : other.drained) drained[queue].merge(ids);
  for (const auto& [key, token] : other.etags) {
    if (etags.try_emplace(key, token).first->second != token)
      complain("two clients got one ETag for two states: " + key);
  }
  append(complaints, other.complaints);
}

void Client::run() {
  while (!workload_.stop) {
    step();
    std::this_thread::sleep_for(workload_.pause);
  }
}

HttpAnswer Client::ask(const std::vector<int>& ports, HttpRequest request, std::string_view query) {
  request.target =
      "/devstoreaccount1" + request.target + "?" + std::string(query) + (query.empty() ? "" : "&") + workload_.sas;
  const int port = any_of(ports);
  auto& connection = connections_[port];
  if (!connection) connection = std::make_unique<HttpConnection>(port, workload_.patience);
  auto answer = connection->ask(request);
  if (answer.status == 0 || answer.status >= 500) std::this_thread::sleep_for(kNap);
  return answer;
}

RegisterOperation Client::begin(const char* how) const {
  RegisterOperation operation;
  operation.client = number_;
  operation.how = how;
  operation.invoked = now();
  return operation;
}

bool Client::end_write(const std::string& object, RegisterOperation operation, const HttpAnswer& answer) {
  static const std::map<int, Refusal> kRefusals = {
      {404, Refusal::kAbsent}, {409, Refusal::kExists}, {412, Refusal::kMismatch}};
  if (!answer.sent) return false;
  operation.returned = now();
  if (answer.refused()) {
    const auto refusal = kRefusals.find(answer.status);
    if (refusal == kRefusals.end()) return surprised(answer), false;
    operation.outcome = Outcome::kRefused;
    operation.refusal = refusal->second;
  } else if (!answer.ok()) {
    operation.outcome = Outcome::kUnknown;
    operation.returned = kForever;
  }
  book_.registers[object].push_back(std::move(operation));
  return answer.ok();
}

void Client::end_read(const std::string& object, RegisterOperation operation) {
  operation.returned = now();
  book_.registers[object].push_back(std::move(operation));
}

void Client::surprised(const HttpAnswer& answer) {
  book_.complain("an answer that nobody expects: " + answer.head.substr(0, 60) + answer.body.substr(0, 300));
}

std::vector<std::string_view> elements(std::string_view xml, std::string_view name) {
  const auto open = "<" + std::string(name) + ">";
  std::vector<std::string_view> out;
  for (auto at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
    at += open.size();
    out.push_back(xml.substr(at, xml.find('<', at) - at));
  }
  return out;
}

Token token_of(std::string_view text) {
  Token token = kNothing;
  const auto digits = text.substr(std::min(text.find('w') + 1, text.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), token);
  return token;
}

}  // namespace tidemark::histories
