#include "queue_service/storage/queue_check.h"

#include <fmt/format.h>

#include <set>

#include "queue_service/storage/carriers.h"
#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_records.h"
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {
namespace {

constexpr std::size_t kPrefixBytes = 1 + 8;  // 'm' and the generation

std::uint64_t number_in(std::string_view key) {
  key.remove_prefix(std::min<std::size_t>(1, key.size()));
  return kv::take_u64(key).value_or(0);
}

/// The counts of one queue.
struct Counted {
  std::uint64_t ready = 0, delayed = 0, leased = 0, waiting = 0, idempotency = 0, aged = 0, in_groups = 0;
  std::optional<Place> first_ready, first_timed;
};

class RowCheck {
 public:
  RowCheck(const kv::Reader& rows, kv::CheckRun& run) : rows_(rows), run_(run) {}

  Result<void> walk() {
    TRY(read_queues());
    for (const auto generation : queues_) TRY(check_queue(generation));
    // Checks the other rows, and those that belong to no queue.
    return kv::check_rows(rows_, {}, run_, [this](auto key, auto value) {
      look_at(key, value);
      return Result<void>();
    });
  }

 private:
  Result<void> read_queues() {
    const auto last = TRY(rows_.get(queue_keys::kGenerations));
    std::string_view rest = last ? std::string_view(*last) : std::string_view();
    const auto last_generation = kv::take_u64(rest).value_or(0);
    const auto queues = rows_.scan(queue_keys::all_queues());
    for (; queues->valid(); queues->next()) {
      const auto queue = kQueueRecord.decode(queues->value());
      if (!queue) {
        wrong("record", queues->key(), "the queue cannot be read");
      } else if (!queues_.insert(queue->generation).second) {
        wrong("reference", queues->key(), "another queue has the same generation");
      } else if (queue->generation > last_generation) {
        wrong("figure", queues->key(), "its generation is beyond the last one given out");
      }
    }
    TRY(queues->status());
    const auto dropped = rows_.scan(kv::under(std::string(1, queue_keys::kDroppedGeneration)));
    for (; dropped->valid(); dropped->next()) dropped_.insert(number_in(dropped->key()));
    return dropped->status();
  }

  Result<void> check_queue(std::uint64_t generation) {
    Counted counted;
    TRY(kv::check_rows(rows_, queue_keys::everything_of(generation), run_, [&](auto key, auto value) {
      look_at_row(generation, key, value, counted);
      return Result<void>();
    }));
    const auto where = kv::row_name(queue_keys::figures(generation));
    const auto figures = read_figures(rows_, generation);
    if (!figures) {
      run_.found("record", where, "the figures of the queue cannot be read");
      return {};
    }
    check_figures(where, *figures, counted);
    return {};
  }

  void check_figures(const std::string& where, const FiguresRecord& figures, const Counted& counted) {
    const auto same = [&](const char* what, std::uint64_t said, std::uint64_t there) {
      if (said != there)
        run_.found("figure", where, fmt::format("{}: {} are counted, {} are there", what, said, there));
    };
    same("ready messages", figures.ready, counted.ready);
    same("delayed messages", figures.delayed, counted.delayed);
    same("messages in flight", figures.leased, counted.leased);
    same("waiting messages", figures.waiting, counted.waiting);
    same("waiting messages of all groups", counted.in_groups, counted.waiting);
    same("idempotency keys by age", counted.aged, counted.idempotency);
    if ((counted.first_ready && *counted.first_ready < figures.ready_front) ||
        (counted.first_timed && *counted.first_timed < figures.timed_front)) {
      run_.found("figure", where, "a message is before the place where its set begins");
    }
  }

  void look_at_row(std::uint64_t generation, std::string_view key, std::string_view value, Counted& counted) {
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

  void look_at(std::string_view key, std::string_view value) {
    switch (key.empty() ? 0 : key.front()) {
      case 'm':
        if (!queues_.contains(number_in(key)) && !dropped_.contains(number_in(key))) {
          wrong("reference", key, "belongs to no queue");
        }
        return;
      case 'x':
        if (!check_departure(value)) wrong("record", key, "the message that is on its way cannot be read");
        return;
      case 'b':
        if (!kPartsNote.decode(value)) wrong("record", key, "the note of a queue's parts cannot be read");
        return;
      case 'a':
      case 'c':
      case 'd':
      case 'n':
      case 'p':
      case 'q':
      case 's':
      case 'y':
        return;
      default:
        return wrong("stray", key, "is of a kind that this version does not know");
    }
  }

  void wrong(std::string_view kind, std::string_view key, std::string what) {
    run_.found(kind, kv::row_name(key), std::move(what));
  }

  const kv::Reader& rows_;
  kv::CheckRun& run_;
  std::set<std::uint64_t> queues_, dropped_;
};

}  // namespace

Result<void> check_queues(const kv::Engine& engine, kv::CheckRun& run) {
  const auto rows = engine.snapshot();
  return RowCheck(*rows, run).walk();
}

}  // namespace tidemark::queue_service
