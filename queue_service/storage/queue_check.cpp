#include "queue_service/storage/queue_check.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "common/shards/operation_ledgers.h"
#include "queue_service/storage/carriers.h"
#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_records.h"
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {
namespace {

constexpr std::size_t kPrefixBytes = 1 + 8;  // 'm' and the generation

/// The counts of one queue.
struct Counted {
  std::uint64_t ready = 0, delayed = 0, leased = 0, waiting = 0, idempotency = 0, aged = 0, in_groups = 0;
  std::uint64_t turns = 0, with_turn = 0;  // the turns, and the keys that have one
  std::optional<Place> first_ready, first_timed;
};

class QueueCheck : kv::RowCheck {
 public:
  using RowCheck::RowCheck;

  Result<void> run() {
    TRY(walk({{"n",
               [this](auto key, auto value) {
                 if (key == queue_keys::kGenerations) last_generation_ = kv::take_u64(value).value_or(0);
               }},
              {"q", reads(kQueueRecord, "the queue cannot be read", [this](auto&... row) { look_at_queue(row...); })},
              {"d", [this](auto key, auto) { dropped_.insert(kv::number_in(key)); }},
              {"m", [this](auto... row) { look_at_row(row...); }},
              {"x", reads(check_departure, "the message that is on its way cannot be read")},
              {"b", reads(kPartsNote, "the note of a queue's parts cannot be read")},
              {"o", reads(shards::ledger_in, "the ledger cannot be read")},
              {"acpsyO"}}));
    for (const auto& [generation, counted] : queues_) check_figures(generation, counted);
    return {};
  }

 private:
  void look_at_queue(std::string_view key, const QueueRecord& queue) {
    if (!queues_.try_emplace(queue.generation).second) {
      wrong("reference", key, "another queue has the same generation");
    } else if (queue.generation > last_generation_) {
      wrong("figure", key, "its generation is beyond the last one given out");
    }
  }

  void check_figures(std::uint64_t generation, const Counted& counted) {
    const auto key = queue_keys::figures(generation);
    const auto figures = read_figures(rows_, generation);
    if (!figures) return wrong("record", key, "the figures of the queue cannot be read");
    const auto same = [&](const char* what, std::uint64_t said, std::uint64_t there) {
      if (said != there) wrong("figure", key, fmt::format("{}: {} are counted, {} are there", what, said, there));
    };
    same("ready messages", figures->ready, counted.ready);
    same("delayed messages", figures->delayed, counted.delayed);
    same("messages in flight", figures->leased, counted.leased);
    same("waiting messages", figures->waiting, counted.waiting);
    same("waiting messages of all groups", counted.in_groups, counted.waiting);
    same("keys that have a turn", counted.with_turn, counted.turns);
    same("idempotency keys by age", counted.aged, counted.idempotency);
    if ((counted.first_ready && *counted.first_ready < figures->ready_front) ||
        (counted.first_timed && *counted.first_timed < figures->timed_front)) {
      wrong("figure", key, "a message is before the place where its set begins");
    }
  }

  void look_at_row(std::string_view key, std::string_view value) {
    const auto generation = kv::number_in(key);
    const auto queue = queues_.find(generation);
    if (queue == queues_.end()) {
      if (!dropped_.contains(generation)) wrong("reference", key, "belongs to no queue");
      return;
    }
    auto& counted = queue->second;
    const auto kind = key.size() > kPrefixBytes ? key[kPrefixBytes] : '\0';
    switch (kind) {
      case 'r':
      case 't':
      case 'w':
        return look_at_message(generation, static_cast<Set>(kind), key, value, counted);
      case 'i':
        return look_at_id(generation, key);
      case 'g':
        if (const auto group = kGroupRecord.decode(value)) {
          counted.in_groups += group->waiting;
        } else {
          wrong("record", key, "the group cannot be read");
        }
        return;
      case 'u':
        if (const auto turn_key = kTurnKeyRecord.decode(value)) {
          counted.in_groups += turn_key->waiting;
        } else {
          wrong("record", key, "the key that takes turns cannot be read");
        }
        return;
      case 'v':
        if (const auto tenant = kTenantRecord.decode(value)) {
          counted.with_turn += tenant->keys;
        } else {
          wrong("record", key, "the tenant cannot be read");
        }
        return;
      case 'o':
        ++counted.turns;
        return;
      case 'k':
        ++counted.idempotency;
        if (!kIdempotencyRecord.decode(value)) wrong("record", key, "the idempotency key cannot be read");
        return;
      case 'a':
        ++counted.aged;
        return;
      case 'c':
        return;
      default:
        return wrong("stray", key, "is of a kind that this version does not know");
    }
  }

  void look_at_message(std::uint64_t generation, Set set, std::string_view key, std::string_view value,
                       Counted& counted) {
    const auto record = decode_message(value);
    if (!record) return wrong("record", key, "the message cannot be read");
    const auto place = set == Set::kWaiting ? std::nullopt : queue_keys::place_in(key);
    if (set != Set::kWaiting && !place) return wrong("record", key, "the message's place cannot be read");
    if (set == Set::kWaiting) {
      ++counted.waiting;
    } else if (set == Set::kReady) {
      ++counted.ready;
      if (!counted.first_ready) counted.first_ready = place;
    } else {
      ++(record->leased ? counted.leased : counted.delayed);
      if (!counted.first_timed) counted.first_timed = place;
    }
    if (record->listed && !is_there(queue_keys::by_id(generation, record->message.id))) {
      wrong("reference", key, "the message is listed, and has no row by id");
    }
    if (record->grouped && !is_there(queue_keys::group(generation, record->message.group))) {
      wrong("reference", key, "the message's group is not there");
    }
  }

  void look_at_id(std::uint64_t generation, std::string_view key) {
    const auto id = key.substr(kPrefixBytes + 1);
    const auto found = read_message(rows_, generation, id);
    if (!found || !*found || (*found)->record.message.id != id) {
      wrong("reference", key, "names a message that is not there");
    }
  }

  bool is_there(const std::string& key) const {
    const auto row = rows_.get(key);
    return row && row->has_value();
  }

  std::uint64_t last_generation_ = 0;
  std::map<std::uint64_t, Counted> queues_;  // by generation
  std::set<std::uint64_t> dropped_;
};

}  // namespace

Result<void> check_queues(const kv::Engine& engine, kv::CheckRun& run) {
  const auto rows = engine.snapshot();
  return QueueCheck(*rows, run).run();
}

}  // namespace tidemark::queue_service
