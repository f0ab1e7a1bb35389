// Messages on their way from a queue of one shard to one of another (docs/scale.md). The transaction that removes a
// message, or that puts a follow-up, stores it as departed, under a number that only rises. A transaction of the other
// shard then puts it into its queue and stores the number as arrived, and last the row of departure is erased. If a
// process dies in between, this is continued: a message is in exactly one place at each instant, and a repetition finds
// its number arrived. If the queue got other parts meanwhile, the message departs again from where it arrived. Thread
// safe.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/base/async.h"
#include "queue_service/model/message_requests.h"
#include "queue_service/storage/queue_records.h"
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {

struct Departure {
  std::string account, queue, id;
  /// A follow-up, which is put like any message. Its queue must exist: if it was deleted meanwhile, the message is gone
  /// with it.
  std::optional<PutRequest> put = {};
  /// Otherwise the moved message itself, as a record, which is inserted unchanged. Its queue is created if necessary.
  std::string moved = {};  // encoded
};

/// Returns the number of the last message that has arrived from this shard; 0 if none has.
Result<std::uint64_t> last_arrived(const kv::Reader& rows, std::size_t from_shard);
/// For each shard, the number of the last message that had arrived there from one shard when this process began. Null:
/// the shard of departure itself knows.
using ArrivedBefore = std::shared_ptr<const std::vector<std::uint64_t>>;
/// Returns the number of the last message that has departed to this shard; 0 if none has.
Result<std::uint64_t> last_departed(const kv::Reader& rows, std::size_t to_shard);
class Awaited;
class Carriers;
/// The outcome of a departed message, for a coroutine that waits for it.
using Onward = std::shared_ptr<Awaited>;
/// Stores the message as departed to this shard.
Result<Onward> depart(kv::Transaction& txn, Carriers& carriers, std::size_t to_shard, const Departure& departure,
                      const ArrivedBefore& arrived);

struct Departed {
  std::uint64_t number = 0;
  Departure departure;
};
/// Returns the first messages that are on their way to this shard: up to `limit`, or fewer if they are large.
Result<std::vector<Departed>> read_departed(const kv::Reader& rows, std::size_t to_shard, std::size_t limit);
/// Tells whether this message is on its way to one of these queues.
Result<bool> is_on_its_way(const kv::Reader& rows, std::string_view account, const std::vector<std::string>& queues,
                           std::string_view id);
std::string encode_departure(const Departure& departure);
/// kCorruption.
Result<Departure> decode_departure(std::string_view row);
/// Checks the row and its content.
Result<void> check_departure(std::string_view row);

/// The place where a message was put, or its next departure from where it arrived.
using Arrival = std::variant<Placed, Onward>;
/// The outcomes of departed messages. kQueueNotFound, kIdempotencyKeyReused: a follow-up that can never be put.
using Arrived = std::deque<std::pair<std::uint64_t, Result<Arrival>>>;
/// Puts a departed message into its queue.
using PutDeparted = std::function<Result<Arrival>(const Departure& departure)>;
/// Puts the messages that have not arrived yet, in a transaction of the other shard.
Result<Arrived> arrive(kv::Transaction& txn, std::size_t from_shard, const std::vector<Departed>& departed,
                       const PutDeparted& put);
/// Erases the rows of departure, once the arrival is durable.
void forget_departed(kv::Transaction& txn, std::size_t to_shard, const std::vector<Departed>& departed);

/// Tracks which coroutine carries messages from one shard to each other one, and which ones wait for outcomes.
class Carriers {
 public:
  class Turn;
  /// Takes the turn, which one coroutine at a time has for each shard. Null: another one has it; `waiter` is told when
  /// that one has ended, if its message has not arrived by then.
  std::unique_ptr<Turn> begin(std::size_t to_shard, Awaited* waiter = nullptr);
  /// Tells the outcomes to the coroutines that wait for them.
  void note(std::size_t to_shard, Arrived arrived);

 private:
  friend class Awaited;
  struct Way {
    bool busy = false;
    /// By number: two may have the same one while the transaction of the first is run again.
    std::multimap<std::uint64_t, Awaited*> awaited;
  };
  Mutex mutex_;
  std::map<std::size_t, Way> ways_ GUARDED_BY(mutex_);
};

class Carriers::Turn {
 public:
  Turn(Carriers& carriers, std::size_t to_shard) : carriers_(carriers), to_shard_(to_shard) {}
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Carriers& carriers_;
  const std::size_t to_shard_;
};

/// Made in the transaction in which the message departs, before it can be carried. Outcomes that are noted after that
/// are kept as long as this object lives.
class Awaited {
 public:
  Awaited(Carriers& carriers, std::size_t to_shard, std::uint64_t number);
  ~Awaited();
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  /// Returns nothing if the message has not arrived yet.
  std::optional<Result<Arrival>> outcome();

  const std::size_t to_shard;
  const std::uint64_t number;
  Signal told;  // that the message has arrived, or that the turn is free

 private:
  friend class Carriers;
  Carriers& carriers_;
  // Guarded by the mutex of the carriers.
  bool wants_turn_ = false;
  std::optional<Result<Arrival>> outcome_;
};

}  // namespace tidemark::queue_service
