// The people who use blobs in the simulation: a writer for each blob, whose operations keep to the rules of the workers
// (an epoch for each attempt, the work, then the end), attempts that come late, and people who read and list.
#pragma once
#include "blob_store/client/blob_client.h"
#include "tests/simulation/blob_oracle.h"

namespace tidemark::simulation {

struct BlobNotes {
  bool ready = false;    // the container is there
  bool stop = false;     // no more operations are to begin
  std::size_t busy = 0;  // coroutines that still have something to do
};

class BlobPeople final : public Program {
 public:
  /// All arguments that are references must outlive it.
  BlobPeople(Network& network, Life& life, const std::vector<int>& stores, std::size_t blobs, BlobNotes& notes,
             BlobOracle& oracle, std::uint64_t seed);
  void start();
  /// Reads and lists all blobs at each of the stores.
  void look_at_all();

 private:
  struct Operation {
    std::string blob, id;
    std::size_t number = 0;
    std::vector<std::string> pieces;  // empty: the operation erases
    bool staged = false;              // the pieces are staged one by one, and then published
  };
  struct Attempt {
    bool over = false;
    std::optional<OperationLedger> ledger;  // if the operation is closed
  };
  static Task<void> begin(BlobPeople& self);
  static Task<void> write(BlobPeople& self, std::string blob);
  static Task<void> operate(BlobPeople& self, Operation operation);
  static Task<void> try_once(BlobPeople& self, Operation operation, std::uint64_t epoch,
                             std::shared_ptr<Attempt> attempt);
  static Task<void> come_late(BlobPeople& self, Operation operation, std::uint64_t epoch);
  static Task<void> read_at_random(BlobPeople& self);
  static Task<void> look_at_all_of(BlobPeople& self, blob_store::BlobClient& store);
  /// False if there was no answer.
  static Task<bool> read(BlobPeople& self, blob_store::BlobClient& store, std::string blob);
  static Task<bool> list(BlobPeople& self, blob_store::BlobClient& store);
  Operation next(const std::string& blob);
  Task<Result<WriteOutcome>> carry_out(const Operation& operation, std::uint64_t epoch);
  Task<void> nap(Duration longest);

  Life& life_;
  const std::vector<std::string> blobs_;
  BlobNotes& notes_;
  BlobOracle& oracle_;
  Dice dice_;
  SpreadTransport link_;
  blob_store::BlobClient client_;
  std::deque<SimTransport> plain_links_;
  std::deque<blob_store::BlobClient> each_;  // one for each store
};

}  // namespace tidemark::simulation
