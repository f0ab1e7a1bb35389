#include "tests/simulation/witnesses.h"

#include <algorithm>

#include "jobs/store/rows.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;
using namespace tidemark::histories;
using table_store::Mutation;
using table_store::MutationKind;

constexpr const char* kTable = "Witnessed";
constexpr const char* kPartition = "p";
constexpr const char* kQueue = "witnessed";
constexpr Row kRows = 4;
constexpr Duration kHidden = 400ms;
constexpr int kEntityWitnesses = 2, kWitnesses = 4;  // the others use messages
constexpr int kLast = kWitnesses + 1, kWatcher = kWitnesses + 2;

std::string key_of(Row row) { return "r" + std::to_string(row); }

Content seen_in(const table_store::Entity& entity) {
  const auto token = [&](const char* name) {
    return static_cast<Token>(jobs::property_or<std::int32_t>(entity, name, 0));
  };
  return {token("V"), token("W")};
}

Mutation mutation_of(MutationKind kind, Row row, std::optional<table_store::Version> seen, Token token) {
  const auto number = static_cast<std::int32_t>(token);
  Mutation mutation;
  mutation.kind = kind;
  mutation.row_key = key_of(row);
  mutation.if_version = seen;
  mutation.properties = {{"V", number}, {"Shade", static_cast<std::int32_t>(token % Asked::kShades)}};
  if (kind != MutationKind::kMerge) mutation.properties.push_back({"W", number});
  return mutation;
}

}  // namespace

std::uint64_t Testimony::operations() const {
  std::uint64_t count = entities.size();
  for (const auto& [id, operations] : messages) count += operations.size();
  return count;
}

std::vector<std::string> Testimony::judge(Duration slack) const {
  std::vector<std::string> wrong;
  const auto add = [&](const std::string& what, const Judgement& judgement) {
    if (judgement.verdict == Verdict::kNotJudged) wrong.push_back(what + "it takes too long to judge");
    if (judgement.verdict == Verdict::kWrong) wrong.push_back(what + judgement.story);
  };
  add("H1: ", histories::judge(entities));
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(slack).count();
  for (const auto& [id, operations] : messages) {
    add("H2: message m" + std::to_string(id) + ": ", histories::judge(operations, micros));
  }
  return wrong;
}

Witnesses::Witnesses(Network& network, Life& life, const Stores& stores, PeopleNotes& notes, Testimony& testimony,
                     std::uint64_t seed)
    : scheduler_(network.scheduler()),
      life_(life),
      notes_(notes),
      testimony_(testimony),
      dice_(seed),
      table_link_(network, life, stores.tables, false),
      queue_link_(network, life, stores.queues, false),
      tables_(table_link_, kAccount),
      queues_(queue_link_, kAccount) {}

void Witnesses::start() { spawn(life_.executor(), begin(*this)); }

RegisterOperation Witnesses::begin_operation(int number, const char* how) const {
  RegisterOperation operation;
  operation.client = number;
  operation.how = how;
  operation.invoked = now();
  return operation;
}

MessageOperation Witnesses::begin_message(int number, MessageVerb verb) const {
  MessageOperation operation;
  operation.client = number;
  operation.verb = verb;
  operation.invoked = now();
  return operation;
}

template <class Operation>
void Witnesses::end(Operation& operation, bool done) const {
  operation.outcome = done ? Outcome::kOk : Outcome::kUnknown;
  operation.returned = done ? now() : kForever;
}

Task<void> Witnesses::nap(Duration longest) {
  auto sleep = sleep_for(life_.clock(), dice_.between(1ms, longest));
  co_await std::move(sleep);
}

Task<void> Witnesses::begin(Witnesses& self) {
  ++self.notes_.busy;
  ++self.notes_.left_for_the_end;
  bool ready = false;
  while (!ready && !self.life_.dead()) {
    ready = co_await insert_all(self) && (co_await self.queues_.ensure_queue(kQueue)).has_value();
    if (!ready) co_await self.nap(100ms);
  }
  for (int number = 1; number <= kEntityWitnesses; ++number) {
    spawn(self.life_.executor(), look_at_entities(self, number));
  }
  for (int number = kEntityWitnesses + 1; number <= kWitnesses; ++number) {
    spawn(self.life_.executor(), use_messages(self, number));
  }
  spawn(self.life_.executor(), look_in_the_end(self));
  --self.notes_.busy;
}

/// Inserts all rows. They are never removed, because a call that comes late could bring one back.
Task<bool> Witnesses::insert_all(Witnesses& self) {
  const auto made = co_await self.tables_.create_table(kTable);
  if (!made && !made.failed_with(ErrorCode::kTableAlreadyExists)) co_return false;
  const auto token = ++self.last_token_;
  auto operation = self.begin_operation(0, "");
  std::vector<Mutation> mutations;
  for (Row row = 0; row < kRows; ++row) {
    operation.changes.push_back({Verb::kInsert, row, token});
    mutations.push_back(mutation_of(MutationKind::kInsert, row, std::nullopt, token));
  }
  const auto done = co_await self.tables_.mutate(kTable, kPartition, std::move(mutations), std::nullopt);
  self.end(operation, done.has_value());
  self.testimony_.entities.push_back(std::move(operation));
  co_return done.has_value() || done.failed_with(ErrorCode::kEntityAlreadyExists);
}

Task<void> Witnesses::look_at_entities(Witnesses& self, int number) {
  ++self.notes_.busy;
  Witness witness{number};
  while (!self.notes_.stop && !self.life_.dead()) {
    co_await self.nap(300ms);
    if (!witness.seen.empty() && self.dice_.chance(4000)) co_await change(self, witness);
    while (!self.life_.dead() && self.dice_.chance(5000)) co_await read(self, witness);
  }
  --self.notes_.busy;
}

/// Reads again and again, by any of the processes, while somebody writes: a later read must not show anything older.
Task<void> Witnesses::watch(Witnesses& self) {
  ++self.notes_.busy;
  Witness watcher{kWatcher};
  while (self.writing_ > 0 && !self.life_.dead()) {
    if (!co_await read(self, watcher)) co_await self.nap(20ms);
  }
  self.watched_ = false;
  --self.notes_.busy;
}

Task<bool> Witnesses::read(Witnesses& self, Witness& witness) {
  const auto choice = self.dice_.below(100);
  if (choice < 50) co_return co_await get(self, witness);
  co_return co_await query(self, witness, choice > 90);
}

/// Changes one to three of the rows, as the witness saw them last.
Task<void> Witnesses::change(Witnesses& self, Witness& witness) {
  const auto token = ++self.last_token_;
  auto operation = self.begin_operation(witness.number, "");
  std::vector<Mutation> mutations;
  for (const auto& [row, seen] : witness.seen) {
    if (mutations.size() == 3 || (!mutations.empty() && self.dice_.chance(5000))) continue;
    const bool whole = self.dice_.chance(6000);
    operation.changes.push_back({whole ? Verb::kReplace : Verb::kMerge, row, token, seen.first});
    mutations.push_back(mutation_of(whole ? MutationKind::kReplace : MutationKind::kMerge, row, seen.second, token));
  }
  ++self.writing_;
  if (!std::exchange(self.watched_, true)) spawn(self.life_.executor(), watch(self));
  const auto done = co_await self.tables_.mutate(kTable, kPartition, std::move(mutations), std::nullopt);
  --self.writing_;
  self.end(operation, done.has_value());
  for (std::size_t i = 0; i < operation.changes.size(); ++i) {
    const auto row = operation.changes[i].row;
    if (done) witness.seen[row] = {token, (*done)[i].version};
    if (!done) witness.seen.erase(row);  // the witness has to read it again
  }
  self.testimony_.entities.push_back(std::move(operation));
}

Task<bool> Witnesses::get(Witnesses& self, Witness& witness) {
  const auto row = static_cast<Row>(self.dice_.below(kRows));
  auto operation = self.begin_operation(witness.number, "get");
  const auto found = co_await self.tables_.get(kTable, kPartition, key_of(row));
  if (!found) co_return false;
  operation.asked = {row, row, std::nullopt};
  if (*found) operation.seen[row] = seen_in(**found);
  if (*found) witness.seen[row] = {seen_in(**found).version, (*found)->version};
  self.end(operation, true);
  self.testimony_.entities.push_back(std::move(operation));
  co_return true;
}

Task<bool> Witnesses::query(Witnesses& self, Witness& witness, bool of_a_shade) {
  auto operation = self.begin_operation(witness.number, "query");
  table_store::QueryRequest request;
  request.table = kTable;
  request.filter = std::string("PartitionKey eq '") + kPartition + "'";
  if (of_a_shade) operation.asked.shade = static_cast<Token>(self.dice_.below(Asked::kShades));
  if (of_a_shade) request.filter += " and Shade eq " + std::to_string(*operation.asked.shade);
  const auto page = co_await self.tables_.query(std::move(request));
  if (!page || !page->continuation.empty()) co_return false;
  for (const auto& entity : page->entities) {
    const auto row = static_cast<Row>(std::stoi(entity.row_key.substr(1)));
    operation.seen[row] = seen_in(entity);
    witness.seen[row] = {seen_in(entity).version, entity.version};
  }
  self.end(operation, true);
  self.testimony_.entities.push_back(std::move(operation));
  co_return true;
}

Task<void> Witnesses::use_messages(Witnesses& self, int number) {
  ++self.notes_.busy;
  while (!self.notes_.stop && !self.life_.dead()) {
    co_await self.nap(600ms);
    if (self.dice_.chance(4000)) {
      co_await put(self, number);
    } else {
      co_await receive(self, number);
    }
  }
  --self.notes_.busy;
}

Task<void> Witnesses::put(Witnesses& self, int number) {
  const auto token = ++self.last_token_;
  const auto name = "w" + std::to_string(token);
  auto operation = self.begin_message(number, MessageVerb::kPut);
  operation.text = token;
  const auto done = co_await self.queues_.put(kQueue, {.text = name, .idempotency_key = name});
  self.end(operation, done.has_value());
  self.testimony_.messages[token].push_back(operation);
}

/// Receives a message, and mostly completes it. The epoch, which also counts deliveries, identifies its lease.
Task<void> Witnesses::receive(Witnesses& self, int number) {
  auto operation = self.begin_message(number, MessageVerb::kReceive);
  const auto got = co_await self.queues_.receive(kQueue, kHidden, 0ms);
  if (!got || !*got) co_return;
  const auto& message = **got;
  const auto token = static_cast<Token>(std::stoul(message.text.substr(1)));
  operation.text = token;
  operation.given = operation.count = static_cast<Token>(message.epoch);
  operation.hidden_for = kHidden / 1us;
  self.end(operation, true);
  auto& history = self.testimony_.messages[token];
  history.push_back(operation);
  if (self.dice_.chance(2500)) co_return;              // the witness forgets the message
  if (self.dice_.chance(2500)) co_await self.nap(2s);  // it may complete the message too late
  auto end = self.begin_message(number, MessageVerb::kErase);
  end.receipt = operation.given;
  const auto done = co_await self.queues_.complete(lease_of(kQueue, message));
  self.end(end, done.has_value());
  history.push_back(end);
}

Task<void> Witnesses::look_in_the_end(Witnesses& self) {
  while (!self.notes_.all_quiet && !self.life_.dead()) co_await self.nap(500ms);
  Witness last{kLast};
  while (!co_await query(self, last, false) && !self.life_.dead()) co_await self.nap(100ms);
  while (!co_await list(self) && !self.life_.dead()) co_await self.nap(100ms);
  --self.notes_.left_for_the_end;
}

Task<bool> Witnesses::list(Witnesses& self) {
  auto operation = self.begin_message(0, MessageVerb::kMiss);
  std::set<std::string> texts;
  std::string continuation;
  do {
    const auto page = co_await self.queues_.list(kQueue, std::uint32_t{100}, continuation);
    if (!page) co_return false;
    for (const auto& message : page->messages) texts.insert(message.text);
    continuation = page->continuation;
  } while (!continuation.empty());
  self.end(operation, true);
  for (auto& [token, history] : self.testimony_.messages) {
    if (!texts.contains("w" + std::to_string(token))) history.push_back(operation);
  }
  co_return true;
}

}  // namespace tidemark::simulation
