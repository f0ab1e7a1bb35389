#include "queue_service/storage/carriers.h"

#include <algorithm>

#include "queue_service/storage/test_switches.h"

namespace tidemark::queue_service {
namespace {

constexpr std::uint8_t kDepartureVersion = 1;
constexpr std::size_t kBytesTogether = 1UL << 20;

template <class Io, class Span>
void span_field(Io& io, Span& span) {
  if constexpr (Io::kReads) {
    span = Duration(io.bytes.i64());
  } else {
    io.i64(span.count());
  }
}

constexpr auto kDeparture = record_format<Departure>(kDepartureVersion, "departure", [](auto& io, auto& departure) {
  io.string(departure.account);
  io.string(departure.queue);
  io.string(departure.id);
  io.string(departure.moved);
  io.optional(departure.put, [&](auto& put) {
    io.string(put.text);
    span_field(io, put.delay);
    io.optional(put.time_to_live, [&](auto& span) { span_field(io, span); });
    io.string(put.group);
    io.string(put.idempotency_key);
    span_field(io, put.retention);
    // The last field, which rows of earlier versions lack.
    if constexpr (std::remove_reference_t<decltype(io)>::kReads) {
      if (!io.bytes.finished()) io.boolean(put.turns);
    } else if (put.turns) {
      io.boolean(put.turns);
    }
  });
});

/// Returns the number stored in a row that has one; 0 if there is no row.
Result<std::uint64_t> number_at(const kv::Reader& rows, const std::string& key) {
  const auto row = TRY(rows.get(key));
  if (!row) return std::uint64_t{0};
  std::string_view rest = *row;
  const auto number = kv::take_u64(rest);
  if (!number) return corrupt_record("number");
  return *number;
}

/// Tells whether a repetition would fail as well. A message that was moved is kept until it can be put.
bool is_final(const Departure& departure, const Error& error) {
  return departure.put && (error.code == ErrorCode::kQueueNotFound || error.code == ErrorCode::kIdempotencyKeyReused);
}

}  // namespace

Result<Onward> depart(kv::Transaction& txn, Carriers& carriers, std::size_t to_shard, const Departure& departure,
                      const ArrivedBefore& arrived) {
  const auto number = std::max(TRY(last_departed(txn, to_shard)), arrived ? arrived->at(to_shard) : 0) + 1;
  txn.put(queue_keys::last_departed(to_shard), kv::key(number));
  txn.put(queue_keys::departed(to_shard, number), kDeparture.encode(departure));
  return std::make_shared<Awaited>(carriers, to_shard, number);
}

Result<std::uint64_t> last_departed(const kv::Reader& rows, std::size_t to_shard) {
  return number_at(rows, queue_keys::last_departed(to_shard));
}

Result<std::uint64_t> last_arrived(const kv::Reader& rows, std::size_t from_shard) {
  return number_at(rows, queue_keys::last_arrived(from_shard));
}

Result<std::vector<Departed>> read_departed(const kv::Reader& rows, std::size_t to_shard, std::size_t limit) {
  std::vector<Departed> found;
  std::size_t bytes = 0;
  const auto cursor = rows.scan(queue_keys::all_departed(to_shard));
  for (; cursor->valid() && found.size() < limit && bytes < kBytesTogether; cursor->next()) {
    bytes += cursor->value().size();
    const auto number = queue_keys::departure_number(cursor->key());
    if (!number) return corrupt_record("departure");
    found.push_back({*number, TRY(decode_departure(cursor->value()))});
  }
  TRY(cursor->status());
  return found;
}

Result<bool> is_on_its_way(const kv::Reader& rows, std::string_view account, const std::vector<std::string>& queues,
                           std::string_view id) {
  const auto cursor = rows.scan(queue_keys::everything_departed());
  for (; cursor->valid(); cursor->next()) {
    const auto departure = TRY(decode_departure(cursor->value()));
    if (departure.id == id && departure.account == account &&
        std::ranges::find(queues, departure.queue) != queues.end()) {
      return true;
    }
  }
  TRY(cursor->status());
  return false;
}

std::string encode_departure(const Departure& departure) { return kDeparture.encode(departure); }

Result<Departure> decode_departure(std::string_view row) { return kDeparture.decode(row); }

Result<void> check_departure(std::string_view row) {
  const auto departure = TRY(decode_departure(row));
  if (!departure.put) TRY(decode_message(departure.moved));
  return {};
}

Result<Arrived> arrive(kv::Transaction& txn, std::size_t from_shard, const std::vector<Departed>& departed,
                       const PutDeparted& put) {
  const auto arrived_before = TRY(last_arrived(txn, from_shard));
  Arrived arrived;
  for (const auto& [number, departure] : departed) {
    if (number <= arrived_before && !test_switches::arrive_again) continue;
    auto arrival = put(departure);
    if (!arrival && !is_final(departure, arrival.error())) return fail(std::move(arrival.error()));
    arrived.emplace_back(number, std::move(arrival));
  }
  if (!arrived.empty()) txn.put(queue_keys::last_arrived(from_shard), kv::key(arrived.back().first));
  return arrived;
}

void forget_departed(kv::Transaction& txn, std::size_t to_shard, const std::vector<Departed>& departed) {
  for (const auto& each : departed) txn.erase(queue_keys::departed(to_shard, each.number));
}

std::unique_ptr<Carriers::Turn> Carriers::begin(std::size_t to_shard, Awaited* waiter) {
  MutexLock lock(mutex_);
  const bool busy = std::exchange(ways_[to_shard].busy, true);
  if (waiter != nullptr) waiter->wants_turn_ = busy;
  return busy ? nullptr : std::make_unique<Turn>(*this, to_shard);
}

Carriers::Turn::~Turn() {
  MutexLock lock(carriers_.mutex_);
  auto& way = carriers_.ways_[to_shard_];
  way.busy = false;
  for (const auto& [number, waiter] : way.awaited) {
    if (!std::exchange(waiter->wants_turn_, false)) continue;
    waiter->told.notify_all();
    break;
  }
}

void Carriers::note(std::size_t to_shard, Arrived arrived) {
  MutexLock lock(mutex_);
  auto& awaited = ways_[to_shard].awaited;
  for (const auto& [number, outcome] : arrived) {
    const auto [first, last] = awaited.equal_range(number);
    for (auto waiter = first; waiter != last; ++waiter) {
      waiter->second->outcome_ = outcome;
      waiter->second->told.notify_all();
    }
    awaited.erase(first, last);
  }
}

Awaited::Awaited(Carriers& carriers, std::size_t to_shard_, std::uint64_t number_)
    : to_shard(to_shard_), number(number_), carriers_(carriers) {
  MutexLock lock(carriers.mutex_);
  carriers.ways_[to_shard].awaited.emplace(number, this);
}

Awaited::~Awaited() {
  MutexLock lock(carriers_.mutex_);
  auto& awaited = carriers_.ways_[to_shard].awaited;
  const auto [first, last] = awaited.equal_range(number);
  const auto found = std::find_if(first, last, [this](const auto& each) { return each.second == this; });
  if (found != last) awaited.erase(found);
}

std::optional<Result<Arrival>> Awaited::outcome() {
  MutexLock lock(carriers_.mutex_);
  return std::exchange(outcome_, std::nullopt);
}

}  // namespace tidemark::queue_service
