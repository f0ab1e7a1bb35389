// People who write down their operations on the table store and the queue service, and the answers. At the end of the
// run, the checker of tests/histories looks for an order of all operations:
//   H1  entities are as if operations were done one after the other, groups as one, and none of them twice
//   H2  a message is delivered until it is completed, not after that, and not while somebody has its lease
// Unlike the other oracles, they know nothing of commits. A call may be delivered twice, and the first answer may be
// that to the second delivery: so every write names the state that it replaces, and a refused write may have been done.
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
  /// All arguments that are references must outlive it.
  Witnesses(Network& network, Life& life, const Stores& stores, PeopleNotes& notes, Testimony& testimony,
            std::uint64_t seed);
  void start();

 private:
  using Versions = std::map<histories::Row, std::pair<histories::Token, table_store::Version>>;
  /// One of the witnesses, and the state that it saw last.
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
  /// Ends the operation. Unless it was done for certain, its outcome is unknown.
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
  int writing_ = 0;       // the witnesses that are writing
  bool watched_ = false;  // somebody reads while they write
};

}  // namespace tidemark::simulation
