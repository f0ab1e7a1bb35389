// Consumer groups of change feeds as rows of the table TidemarkConsumers, which every SDK can read:
//   lower-case table name / GROUP
//     Token String: the place up to which the group has dealt with changes (feeds/tokens/token.h)
//     Reader String, Epoch Int64, LeaseUntil DateTime: the current reader, its epoch, and the end of its lease
//     CreatedAt AcknowledgedAt DateTime
// A group has one reader at a time. A new reader has a higher epoch, and acknowledgements of earlier readers are
// refused. Each change is a compare-and-swap.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jobs/store/partition_rows.h"
#include "table_store/model/feed.h"

namespace tidemark::feeds {

inline constexpr std::string_view kConsumerTable = "TidemarkConsumers";
inline constexpr std::size_t kMaxConsumers = 100;  // of a table
inline constexpr std::size_t kMaxReaderBytes = 100;

struct Consumer {
  std::string table, group;
  std::string token;
  std::string reader;  // empty: no reader
  std::uint64_t epoch = 0;
  Time lease_until{};
  Time created_at{};
  Time acknowledged_at{};
  table_store::Version version = 0;  // the version of the row

  [[nodiscard]] bool leased(Time now) const { return !reader.empty() && lease_until > now; }
};

/// Checks for 1 to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit.
bool is_group_name(std::string_view name);

class ConsumerStore {
 public:
  ConsumerStore(table_store::TableClient& tables, Clock& clock) : tables_(tables), clock_(clock) {}

  /// kConsumerNotFound.
  Task<Result<Consumer>> get(std::string table, std::string group);
  /// Lists the groups of a table, or of all tables, by table and name. At most 1000.
  Task<Result<std::vector<Consumer>>> all(std::string table);
  struct Stored {
    Consumer consumer;
    bool created = false;
  };
  /// Creates the group, or sets its place; without `reset`, an existing group stays as it is. kTooManyConsumers.
  Task<Result<Stored>> put(std::string table, std::string group, std::string token, bool reset);
  Task<Result<void>> remove(std::string table, std::string group);  // kConsumerNotFound
  /// Gives the group to a reader that now waits for changes: no other reader gets it for `lease` after the wait. A
  /// reader without an epoch is a new one: kConsumerInUse while another has the group. A reader with an epoch keeps it:
  /// kFenced if another reader has taken over the group.
  Task<Result<Consumer>> lease(std::string table, std::string group, std::string reader,
                               std::optional<std::uint64_t> epoch, Duration lease, Duration wait);
  /// Notes that the reader with this epoch has dealt with everything up to the token. An earlier token changes nothing.
  /// `leaves`: the reader stops reading. kFenced if another reader has taken over the group.
  Task<Result<Consumer>> acknowledge(std::string table, std::string group, std::uint64_t epoch, std::string token,
                                     bool leaves);

 private:
  [[nodiscard]] jobs::PartitionRows groups_of(const std::string& table) const;
  Task<Result<bool>> swap(Consumer& consumer);

  table_store::TableClient& tables_;
  Clock& clock_;
};

}  // namespace tidemark::feeds
