// Messages on their way from a queue of one shard to one of another (docs/scale.md). The transaction that removes a
// message, or that puts a follow-up, writes it down as departed, under a number that only rises. It is then put into
// its queue by a transaction there, which also notes the number as arrived, and last its row of departure is erased.
// Whatever dies in between, it goes on from there: a message is in exactly one place at each instant, and a repetition
// finds its number arrived. If its queue got other parts meanwhile, it departs again from where it arrived. Thread
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
  /// A follow-up, which is put as any message is. Its queue must exist: if somebody has deleted it meanwhile, the
  /// message is gone with it.
  std::optional<PutRequest> put = {};
  /// Otherwise the message itself, as a record, which is inserted as it is. Its queue is created if necessary.
  std::string moved = {};  // encoded
};

/// The number of the last one that has arrived from this shard; 0 if none has.
Result<std::uint64_t> last_arrived(const kv::Reader& rows, std::size_t from_shard);
/// For each shard, the last that had arrived there from one when this process began. Null: the shard itself knows.
using ArrivedBefore = std::shared_ptr<const std::vector<std::uint64_t>>;
/// The number of the last one that has departed to this shard; 0 if none has.
Result<std::uint64_t> last_departed(const kv::Reader& rows, std::size_t to_shard);
class Awaited;
class Carriers;
/// What becomes of a message that departed, for whoever wants to know.
using Onward = std::shared_ptr<Awaited>;
/// Writes down that it leaves for this shard.
Result<Onward> depart(kv::Transaction& txn, Carriers& carriers, std::size_t to_shard, const Departure& departure,
                      const ArrivedBefore& arrived);

struct Departed {
  std::uint64_t number = 0;
  Departure departure;
};
/// The first of those that are on their way to this shard: so many, or fewer if they are large.
Result<std::vector<Departed>> read_departed(const kv::Reader& rows, std::size_t to_shard, std::size_t limit);
/// Whether this message is on its way to one of these queues.
Result<bool> is_on_its_way(const kv::Reader& rows, std::string_view account, const std::vector<std::string>& queues,
                           std::string_view id);
std::string encode_departure(const Departure& departure);
/// kCorruption.
Result<Departure> decode_departure(std::string_view row);
/// Also what is in it.
Result<void> check_departure(std::string_view row);

/// Where a message was put, or that it departed again from where it arrived.
using Arrival = std::variant<Placed, Onward>;
/// What became of departed messages. kQueueNotFound, kIdempotencyKeyReused: a follow-up that can never be put.
using Arrived = std::deque<std::pair<std::uint64_t, Result<Arrival>>>;
/// Puts one of them into its queue.
using PutDeparted = std::function<Result<Arrival>(const Departure& departure)>;
/// In a transaction of the other shard: puts those that have not arrived yet.
Result<Arrived> arrive(kv::Transaction& txn, std::size_t from_shard, const std::vector<Departed>& departed,
                       const PutDeparted& put);
/// Once that is durable.
void forget_departed(kv::Transaction& txn, std::size_t to_shard, const std::vector<Departed>& departed);

/// Who carries from one shard to which other, and who waits for what is carried.
class Carriers {
 public:
  class Turn;
  /// One at a time has the turn, for each shard. Null: somebody else does; `waiter` is told when that one has ended, if
  /// its message has not arrived by then.
  std::unique_ptr<Turn> begin(std::size_t to_shard, Awaited* waiter = nullptr);
  /// Tells those who wait for it.
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

/// It is made in the transaction in which the message departs, before anybody can carry it, and what is noted after
/// that is kept as long as this is.
class Awaited {
 public:
  Awaited(Carriers& carriers, std::size_t to_shard, std::uint64_t number);
  ~Awaited();
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  /// Nothing if it has not arrived yet.
  std::optional<Result<Arrival>> outcome();

  const std::size_t to_shard;
  const std::uint64_t number;
  Signal told;  // that it has arrived, or that the turn is free

 private:
  friend class Carriers;
  Carriers& carriers_;
  // Guarded by the mutex of the carriers.
  bool wants_turn_ = false;
  std::optional<Result<Arrival>> outcome_;
};

}  // namespace tidemark::queue_service
