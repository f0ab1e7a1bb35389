// Clients of real stores, whose histories are judged:
//   histories_client TABLE_PORTS QUEUE_PORTS BLOB_PORTS SEED PAUSE_MS TIMES all|groups
// Ports are written "1,2"; TIMES multiplies the number of clients. The table "Rows", the queues "queue-0" and "queue-1"
// and the container "box" must exist, and TIDEMARK_SAS must be a signature for all of them. The clients work until a
// line comes on stdin; by then all faults must be over. The program then reads everything once more and judges. It
// prints the stories, and in the last line JSON with the figures of the run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>

#include "tests/histories/blob_clients.h"
#include "tests/histories/entity_clients.h"
#include "tests/histories/message_clients.h"

namespace tidemark::histories {
namespace {

constexpr int kStories = 5;
constexpr std::chrono::seconds kEndOfLeases{3};  // longer than any message stays hidden
// After the faults, on a busy machine: the limits for one answer, and for one object of the last look.
constexpr std::chrono::seconds kPatience{30}, kLookLimit{240};
constexpr Moment kSlack = 20'000;  // by how much the clocks that leases go by may differ

std::vector<int> numbers_of(const std::string& text) {
  std::vector<int> out;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) out.push_back(std::stoi(part));
  return out;
}

struct Figures {
  std::uint64_t operations = 0, unknown = 0, objects = 0, rows = 0, messages = 0, blobs = 0;
  std::uint64_t not_judged = 0, wrong = 0, steps = 0;

  void add(const std::string& name, const Judgement& judgement) {
    ++objects;
    steps += judgement.steps;
    if (judgement.verdict == Verdict::kNotJudged) ++not_judged;
    if (judgement.verdict != Verdict::kWrong) return;
    if (++wrong <= kStories) std::printf("%s: %s\n", name.c_str(), judgement.story.c_str());
  }
  template <class Operation>
  void count(const std::vector<Operation>& all) {
    operations += all.size();
    unknown += static_cast<std::uint64_t>(std::ranges::count(all, Outcome::kUnknown, &Operation::outcome));
  }
  void print() const {
    std::printf(R"({"operations": %llu, "unknown": %llu, "objects": %llu, "messages": %llu, "blobs": %llu, )"
                R"("not_judged": %llu, "wrong": %llu, "steps": %llu})"
                "\n",
                ull(operations), ull(unknown), ull(objects), ull(messages), ull(blobs), ull(not_judged), ull(wrong),
                ull(steps));
  }
  static unsigned long long ull(std::uint64_t value) { return value; }
};

template <class Look>
bool patiently(const Look& look) {
  const auto limit = std::chrono::steady_clock::now() + kLookLimit;
  while (!look()) {
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  return true;
}

/// Reads everything at the end of a run, as one more client.
void look_at_all_of(Workload& workload, int number, Book& book) {
  EntityLook entities(workload, number, 1);
  BlobWatcher blobs(workload, number, 1);
  MessageClient messages(workload, number, 1);
  const auto look = [&](const std::string& what, const auto& at) {
    if (!patiently(at)) book.complain(what + " gave no answer");
  };
  for (const auto* places : {&workload.small, &workload.wide}) {
    for (const auto& place : *places) look(place.object(), [&] { return entities.look(place.object()); });
  }
  look("the list of blobs", [&] { return blobs.look(); });
  std::this_thread::sleep_for(kEndOfLeases);
  for (const auto& queue : workload.queues) look(queue, [&] { return messages.drain(queue); });
  book.add(std::move(entities.book()));
  book.add(std::move(blobs.book()));
  book.add(std::move(messages.book()));
}

/// Notes the messages that nobody found when their queue was emptied, and the operations that a receive without an
/// answer may have caused to be refused.
void complete(Book& book, Moment emptied) {
  for (auto& [queue, messages] : book.messages) {
    const auto lost = book.first_lost_receive.find(queue);
    const auto drained = book.drained.find(queue);
    for (auto& [id, operations] : messages) {
      for (auto& operation : operations) {
        operation.may_be_taken = lost != book.first_lost_receive.end() && lost->second < operation.returned;
      }
      if (drained == book.drained.end() || drained->second.contains(id)) continue;
      MessageOperation miss;
      miss.verb = MessageVerb::kMiss;
      miss.invoked = emptied;
      miss.returned = now();
      operations.push_back(miss);
    }
  }
}

Figures judged(Book& book) {
  Figures figures;
  for (const auto& [object, operations] : book.registers) {
    figures.count(operations);
    if (object.starts_with('b')) ++figures.blobs;
    figures.add(object, judge(operations));
  }
  for (const auto& [queue, messages] : book.messages) {
    for (const auto& [id, operations] : messages) {
      figures.count(operations);
      ++figures.messages;
      figures.add(queue + " message m" + std::to_string(id), judge(operations, kSlack));
    }
  }
  for (const auto& complaint : book.complaints) std::printf("%s\n", complaint.c_str());
  figures.wrong += book.complaints.size();
  return figures;
}

void fill(Workload& workload) {
  for (int i = 0; i < 5; ++i) workload.small.emplace_back("s" + std::to_string(i));
  for (int i = 0; i < 2; ++i) workload.wide.emplace_back("w" + std::to_string(i));
  for (int i = 0; i < 5; ++i) workload.blobs.emplace_back("b" + std::to_string(i));
  workload.queues = {"queue-0", "queue-1"};
}

std::vector<std::unique_ptr<Client>> clients_of(Workload& workload, std::uint64_t seed, int times, bool groups_only) {
  struct Kind {
    int count;
    std::unique_ptr<Client> (*make)(Workload&, int, std::uint64_t);
  };
  std::vector<Kind> kinds = {{2, &make_group_writer},  {2, &make_group_scanner},  {3, &make_group_reader},
                             {4, &make_entity_client}, {4, &make_message_client}, {3, &make_blob_client}};
  if (groups_only) kinds.resize(3);
  std::vector<std::unique_ptr<Client>> clients;
  for (const auto& [count, make] : kinds) {
    for (int i = 0; i < count * times; ++i) {
      const auto number = static_cast<int>(clients.size());
      clients.push_back(make(workload, number, seed * 1000 + static_cast<std::uint64_t>(number)));
    }
  }
  return clients;
}

int run(char** arguments) {
  Workload workload;
  workload.table_ports = numbers_of(arguments[1]);
  workload.queue_ports = numbers_of(arguments[2]);
  workload.blob_ports = numbers_of(arguments[3]);
  workload.pause = std::chrono::milliseconds(std::atoi(arguments[5]));
  workload.sas = std::getenv("TIDEMARK_SAS");
  fill(workload);
  auto clients = clients_of(workload, std::strtoull(arguments[4], nullptr, 10), std::atoi(arguments[6]),
                            std::string_view(arguments[7]) == "groups");
  std::vector<std::thread> threads;
  for (const auto& client : clients) threads.emplace_back([&client] { client->run(); });
  std::puts("ready");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  workload.stop = true;
  for (auto& thread : threads) thread.join();
  Book book;
  for (const auto& client : clients) book.add(std::move(client->book()));
  const auto emptied = now();
  workload.patience = kPatience;
  look_at_all_of(workload, static_cast<int>(clients.size()), book);
  complete(book, emptied);
  const auto figures = judged(book);
  figures.print();
  return figures.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tidemark::histories

int main(int argc, char** argv) {
  if (argc == 8) return tidemark::histories::run(argv);
  std::fprintf(stderr, "usage: %s TABLE_PORTS QUEUE_PORTS BLOB_PORTS SEED PAUSE_MS TIMES all|groups\n", argv[0]);
  return 2;
}
