// Consumer groups of change feeds as rows of the table TidemarkConsumers, which every SDK can read:
//   lower-case table name / GROUP
//     Token String: what the group has dealt with (tokens/token.h)
//     Reader String, Epoch Int64, LeaseUntil DateTime: who reads now, what tells it from earlier ones, and until when
//     CreatedAt AcknowledgedAt DateTime
// One reader at a time has the group. A new one has a higher epoch, and what an earlier one acknowledges is refused.
// Each change is by compare-and-swap.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/client/table_client.h"
#include "table_store/model/feed.h"

namespace tidemark::feeds {

inline constexpr std::string_view kConsumerTable = "TidemarkConsumers";
inline constexpr std::size_t kMaxConsumers = 100;  // of a table
inline constexpr std::size_t kMaxReaderBytes = 100;

struct Consumer {
  std::string table, group;
  std::string token;
  std::string reader;  // empty: nobody
  std::uint64_t epoch = 0;
  Time lease_until{};
  Time created_at{};
  Time acknowledged_at{};
  table_store::Version version = 0;  // of the row

  [[nodiscard]] bool leased(Time now) const { return !reader.empty() && lease_until > now; }
};

/// 1 to 63 letters, digits, '.', '_' and '-', a letter or digit first.
bool is_group_name(std::string_view name);

class ConsumerStore {
 public:
  ConsumerStore(table_store::TableClient& tables, Clock& clock) : tables_(tables), clock_(clock) {}

  /// kConsumerNotFound.
  Task<Result<Consumer>> get(std::string table, std::string group);
  /// Of a table, or of all tables; by table and name. At most 1000.
  Task<Result<std::vector<Consumer>>> all(std::string table);
  struct Stored {
    Consumer consumer;
    bool created = false;
  };
  /// Makes the group, or sets its place; without `reset`, one that is there stays as it is. kTooManyConsumers.
  Task<Result<Stored>> put(std::string table, std::string group, std::string token, bool reset);
  Task<Result<void>> remove(std::string table, std::string group);  // kConsumerNotFound
  /// Gives the group to a reader that now waits for changes: nobody else gets it for `lease` after the wait. A reader
  /// without an epoch is a new one: kConsumerInUse while another has the group. One with an epoch keeps it: kFenced if
  /// the group has gone to another.
  Task<Result<Consumer>> lease(std::string table, std::string group, std::string reader,
                               std::optional<std::uint64_t> epoch, Duration lease, Duration wait);
  /// The reader with this epoch has dealt with everything up to the token. An earlier token changes nothing. `leaves`:
  /// it reads no more. kFenced if the group has gone to another.
  Task<Result<Consumer>> acknowledge(std::string table, std::string group, std::uint64_t epoch, std::string token,
                                     bool leaves);

 private:
  Task<Result<bool>> swap(Consumer& consumer);

  table_store::TableClient& tables_;
  Clock& clock_;
};

}  // namespace tidemark::feeds
