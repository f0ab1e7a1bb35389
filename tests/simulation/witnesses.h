// People who write down what they ask of the table store and the queue service and what they see. At the end
// of the run, the checker of tests/histories looks for an order of it all:
//   H1  entities are as if one thing had been done after the other, groups as one, and none of it done twice
//   H2  a message is delivered until it is completed, not after that, and not while somebody has its lease
// They know nothing of commits, unlike the other oracles. A call may be delivered twice, and the answer that comes
// first may be the second's: so every write names the state that it replaces, and a refusal may hide that it was done.
#pragma once
#include "queue_service/client/queue_client.h"
#include "table_store/client/table_client.h"
#include "tests/histories/messages.h"
#include "tests/histories/registers.h"
#include "tests/simulation/client_hosts.h"

namespace tidemark::simulation {

/// The notes, which outlive the witnesses.
struct Testimony {
  std::vector<histories::RegisterOperation> entities;
  std::map<histories::Token, std::vector<histories::MessageOperation>> messages;  // by the token of the put

  [[nodiscard]] std::uint64_t operations() const;
  /// Returns the stories of everything that is wrong. `slack`: by how much clocks may differ.
  [[nodiscard]] std::vector<std::string> judge(Duration slack) const;
};

class Witnesses {
 public:
  /// All must outlive it.
  Witnesses(Network& network, Life& life, const Stores& stores, PeopleNotes& notes, Testimony& testimony,
            std::uint64_t seed);
  void start();

 private:
  using Versions = std::map<histories::Row, std::pair<histories::Token, table_store::Version>>;
  /// One of them: the state that it saw last.
  struct Witness {
    int number = 0;
    Versions seen = {};
  };
  static Task<void> begin(Witnesses& self);
  static Task<void> look_at_entities(Witnesses& self, int number);
  static Task<void> watch(Witnesses& self);
  static Task<void> use_messages(Witnesses& self, int number);
  static Task<void> look_in_the_end(Witnesses& self);

  static Task<bool> insert_all(Witnesses& self);
  static Task<void> change(Witnesses& self, Witness& witness);
  static Task<bool> read(Witnesses& self, Witness& witness);
  static Task<bool> get(Witnesses& self, Witness& witness);
  static Task<bool> query(Witnesses& self, Witness& witness, bool of_a_shade);
  static Task<void> put(Witnesses& self, int number);
  static Task<void> receive(Witnesses& self, int number);
  static Task<bool> list(Witnesses& self);

  [[nodiscard]] histories::Moment now() const { return scheduler_.moment(); }
  histories::RegisterOperation begin_operation(int number, const char* how) const;
  histories::MessageOperation begin_message(int number, histories::MessageVerb verb) const;
  /// An operation that was not done for certain may have been done.
  template <class Operation>
  void end(Operation& operation, bool done) const;
  Task<void> nap(Duration longest);

  const Scheduler& scheduler_;
  Life& life_;
  PeopleNotes& notes_;
  Testimony& testimony_;
  Dice dice_;
  SpreadTransport table_link_, queue_link_;
  table_store::TableClient tables_;
  queue_service::QueueClient queues_;
  histories::Token last_token_ = histories::kNothing;
  int writing_ = 0;       // how many are
  bool watched_ = false;  // that somebody is
};

}  // namespace tidemark::simulation
