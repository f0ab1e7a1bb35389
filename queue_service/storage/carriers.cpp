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
  });
});

/// The number in a row that has one; 0 if the row is not there.
Result<std::uint64_t> number_at(const kv::Reader& rows, const std::string& key) {
  const auto row = TRY(rows.get(key));
  if (!row) return std::uint64_t{0};
  std::string_view rest = *row;
  const auto number = kv::take_u64(rest);
  if (!number) return corrupt_record("number");
  return *number;
}

/// What a repetition does not change. A message that was moved is kept until it can be put.
bool is_final(const Departure& departure, const Error& error) {
  return departure.put && (error.code == ErrorCode::kQueueNotFound || error.code == ErrorCode::kIdempotencyKeyReused);
}

}  // namespace

Result<std::uint64_t> depart(kv::Transaction& txn, std::size_t to_shard, const Departure& departure,
                             const ArrivedBefore& arrived) {
  const auto last = queue_keys::last_departed(to_shard);
  const auto number = std::max(TRY(number_at(txn, last)), arrived ? arrived->at(to_shard) : 0) + 1;
  txn.put(last, kv::key(number));
  txn.put(queue_keys::departed(to_shard, number), kDeparture.encode(departure));
  return number;
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

std::unique_ptr<Carriers::Turn> Carriers::begin(std::size_t to_shard) {
  MutexLock lock(mutex_);
  if (std::exchange(ways_[to_shard].busy, true)) return nullptr;
  return std::make_unique<Turn>(*this, to_shard);
}

Carriers::Turn::~Turn() {
  {
    MutexLock lock(carriers_.mutex_);
    carriers_.ways_[to_shard_].busy = false;
  }
  carriers_.ended.notify_all();
}

void Carriers::note(std::size_t to_shard, Arrived arrived) {
  MutexLock lock(mutex_);
  auto& latest = ways_[to_shard].latest;
  std::ranges::move(arrived, std::back_inserter(latest));
  while (latest.size() > kRemembered) latest.pop_front();
}

std::optional<Result<Arrival>> Carriers::outcome(std::size_t to_shard, std::uint64_t number) const {
  MutexLock lock(mutex_);
  const auto way = ways_.find(to_shard);
  if (way == ways_.end()) return std::nullopt;
  const auto& latest = way->second.latest;  // in the order of their numbers
  const auto found = std::ranges::lower_bound(latest, number, {}, [](const auto& each) { return each.first; });
  if (found == latest.end() || found->first != number) return std::nullopt;
  return found->second;
}

}  // namespace tidemark::queue_service
