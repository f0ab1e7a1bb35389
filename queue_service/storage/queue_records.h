// The stored records of the queue service. Each begins with its format version; decoding any other version is
// kCorruption. No I/O.
#pragma once
#include <optional>
#include <vector>

#include "common/base/record.h"
#include "common/protocol/stored_policies.h"
#include "queue_service/model/message.h"
#include "queue_service/model/queue_rules.h"
#include "queue_service/storage/queue_keys.h"

namespace tidemark::queue_service {

struct QueueRecord {
  std::uint64_t generation = 0;
  Time created;
  QueueOptions options;  // parsed from the metadata
  Metadata metadata;
  StoredPolicies acl;
  /// For a part, and for a queue that is spread: the making of parts that it comes from. Later ones have higher
  /// numbers.
  std::uint64_t incarnation = 0;
};

/// The size of each set of a queue, and where it begins. Exact, because it changes in the transactions that change the
/// sets.
struct FiguresRecord {
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;  // in the timed set: not taken, or given back
  std::uint64_t leased = 0;   // in the timed set: taken
  std::uint64_t waiting = 0;
  std::uint64_t next_sequence = 0;
  Time last_immediate;  // the latest visible-at of a message that was put to be visible at once
  /// No row of a set is below its front. Walks begin there, not at the tombstones of earlier messages.
  Place ready_front, timed_front;
  /// No message expires before these: the first for messages present when the last sweep ended, the second for those
  /// put since it began.
  Time swept_expiry = kNeverExpires, new_expiry = kNeverExpires;
  // Since the queue was created or cleared.
  std::uint64_t put = 0;       // came in, moves included
  std::uint64_t taken = 0;     // deliveries
  std::uint64_t finished = 0;  // deleted
  std::uint64_t moved = 0;     // left for another queue
  std::uint64_t expired = 0;

  bool operator==(const FiguresRecord&) const = default;
  [[nodiscard]] std::uint64_t timed() const { return delayed + leased; }
  [[nodiscard]] std::uint64_t messages() const { return ready + timed() + waiting; }
};

/// The state of a message in the turns of its tenant. Stored; the numbers keep their meaning.
enum class TurnState : std::uint8_t {
  kNone = 0,
  kHead = 1,     // it is ready, and the other messages of its tenant wait behind it
  kRunning = 2,  // it is in flight, and counted among the running messages of its key
};

struct MessageRecord {
  Message message;  // next_visible is not stored here: the key has it
  /// The last delivery still holds it, and its epoch is a lease. Giving the message back or moving it ends that.
  bool leased = false;
  /// The last delivery was to a waiting caller, who may have died and has not confirmed it.
  bool offered = false;
  /// The message takes part in its group here; in a poison queue it only keeps the name of the group.
  bool grouped = false;
  /// The message takes turns by `message.group`, which is not a group but a key. Kept by moves; in a poison queue there
  /// are no turns.
  bool turns = false;
  TurnState turn = TurnState::kNone;
  /// It has a row by id (queue_keys.h).
  bool listed = false;
  std::uint64_t renewal = 0;  // the sequence number of the latest renewal of this lease
  /// The place in the message's receipt, if it differs from its own place because it has waited for its group
  /// meanwhile.
  std::optional<Place> receipt;
  std::vector<Time> deliveries;  // the latest few
};
inline constexpr std::size_t kMaxDeliveriesKept = 16;

/// Returns the name of the list in which the message would wait: that of its group, or another one for a key, because
/// names of groups have no control characters.
inline std::string list_of(const MessageRecord& record) {
  return record.turns ? "\x01" + record.message.group : record.message.group;
}

struct IdRecord {
  Set set = Set::kReady;
  Place place;
  std::string group;  // of a waiting message
};

struct GroupRecord {
  std::uint64_t waiting = 0;
  std::uint64_t front = 0;  // no waiting row has a lower sequence number
};

struct TurnKeyRecord {
  std::uint64_t waiting = 0;  // messages
  std::uint64_t front = 0;    // no waiting row has a lower sequence number
  std::uint64_t running = 0;  // messages in flight that were taken under a limit
  std::uint64_t turn = 0;     // the number of its turn; 0: it has none, because nothing waits or a limit is reached
  Time next;                  // the next delivery is not before this time
};

struct TenantRecord {
  std::uint64_t keys = 0;   // keys that have a turn
  std::uint64_t front = 0;  // no turn has a lower number
};

struct IdempotencyRecord {
  std::string id, text_hash;
  Place place;
  Time inserted, message_expires, row_expires;
};

std::string encode(const MessageRecord& record);
Result<MessageRecord> decode_message(std::string_view bytes);
/// Only MessageRecord::leased and the expiry, for walks that only count.
struct MessageGlance {
  bool leased = false;
  Time expires;
};
Result<MessageGlance> glance_at(std::string_view message_record);

inline constexpr std::uint8_t kRecordVersion = 2;  // of all records but messages

template <class Io, class P>
void place_field(Io& io, P& place) {
  if constexpr (Io::kReads) {
    place = place_from_bytes(io.bytes.raw(16)).value_or(Place{});
  } else {
    io.bytes.raw(place_bytes(place));
  }
}

inline constexpr auto kQueueRecord =
    record_format<QueueRecord>(kRecordVersion, "queue", []<class Io>(Io& io, auto& record) {
      io.u64(record.generation);
      io.time(record.created);
      io.varint(record.options.max_dequeue_count);
      io.boolean(record.options.paused);
      io.list(record.metadata, [&](auto& entry) {
        io.string(entry.first);
        io.string(entry.second);
      });
      protocol::policy_fields(io, record.acl);
      if constexpr (Io::kReads) {
        record.options.parts = parts_in(record.metadata);
        if (!io.bytes.finished()) io.u64(record.incarnation);
      } else if (record.incarnation != 0) {
        io.u64(record.incarnation);
      }
    });

/// Parts that are being made for a queue.
struct PartsNote {
  std::uint32_t parts = 0;
  std::uint64_t incarnation = 0;
  bool with_poison = false;  // parts are also made for its poison queue, which has none
  Time since;
};

inline constexpr auto kPartsNote = record_format<PartsNote>(kRecordVersion, "parts", [](auto& io, auto& note) {
  io.varint(note.parts);
  io.u64(note.incarnation);
  io.boolean(note.with_poison);
  io.time(note.since);
});

inline constexpr auto kFiguresRecord =
    record_format<FiguresRecord>(kRecordVersion, "figures", [](auto& io, auto& record) {
      for (auto* n : {&record.ready, &record.delayed, &record.leased, &record.waiting, &record.next_sequence,
                      &record.put, &record.taken, &record.finished, &record.moved, &record.expired}) {
        io.varint(*n);
      }
      for (auto* time : {&record.last_immediate, &record.swept_expiry, &record.new_expiry}) io.time(*time);
      place_field(io, record.ready_front);
      place_field(io, record.timed_front);
    });

inline constexpr auto kIdRecord = record_format<IdRecord>(kRecordVersion, "id", [](auto& io, auto& record) {
  io.u8(record.set);
  place_field(io, record.place);
  io.string(record.group);
});

inline constexpr auto kGroupRecord = record_format<GroupRecord>(kRecordVersion, "group", [](auto& io, auto& record) {
  io.varint(record.waiting);
  io.varint(record.front);
});

inline constexpr auto kTurnKeyRecord =
    record_format<TurnKeyRecord>(kRecordVersion, "turn key", [](auto& io, auto& record) {
      for (auto* n : {&record.waiting, &record.front, &record.running, &record.turn}) io.varint(*n);
      io.time(record.next);
    });

inline constexpr auto kTenantRecord = record_format<TenantRecord>(kRecordVersion, "tenant", [](auto& io, auto& record) {
  io.varint(record.keys);
  io.varint(record.front);
});

inline constexpr auto kIdempotencyRecord =
    record_format<IdempotencyRecord>(kRecordVersion, "idempotency", [](auto& io, auto& record) {
      io.string(record.id);
      io.string(record.text_hash);
      place_field(io, record.place);
      for (auto* time : {&record.inserted, &record.message_expires, &record.row_expires}) io.time(*time);
    });

/// kCorruption also for an unknown set.
Result<IdRecord> decode_id(std::string_view bytes);

}  // namespace tidemark::queue_service
