#include "feeds/consumers/consumer_store.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "feeds/tokens/token.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/fields.h"
#include "jobs/store/rows.h"

namespace tidemark::feeds {
namespace {

using jobs::Field;
using table_store::Entity;
using table_store::Property;

constexpr std::size_t kMaxNameBytes = 63;
constexpr std::size_t kMostListed = 1000;
// A lease is a quarter longer than necessary, so that a busy reader need not write the row for each page.
constexpr int kSpareLease = 4;

constexpr std::tuple kFields{
    Field{"Token", &Consumer::token},          Field{"Reader", &Consumer::reader},
    Field{"Epoch", &Consumer::epoch},          Field{"LeaseUntil", &Consumer::lease_until},
    Field{"CreatedAt", &Consumer::created_at}, Field{"AcknowledgedAt", &Consumer::acknowledged_at},
};

Consumer consumer_of(const Entity& row) {
  Consumer out;
  jobs::read_properties(row, out, kFields);
  out.table = row.partition_key;
  out.group = row.row_key;
  out.version = row.version;
  return out;
}

std::unexpected<Error> unknown(const std::string& table, const std::string& group) {
  return fail(ErrorCode::kConsumerNotFound, "The table " + table + " has no consumer group " + group +
                                                ". Make it with PUT /v1/tables/" + table + "/consumers/" + group + ".");
}

/// The name of the group in the message of until_swapped().
std::string the_group(const std::string& group) { return "The consumer group " + group; }

std::unexpected<Error> taken_over(const Consumer& consumer) {
  return fail(ErrorCode::kFenced, "The consumer group " + consumer.group +
                                      " has another reader or epoch now. To begin again, read without an epoch.");
}

/// Returns the next epoch that a double can hold: a reader that keeps all JSON numbers in doubles, as JavaScript does,
/// then returns it unchanged. Epochs begin at a time in ticks, which is beyond 2^53.
std::uint64_t epoch_after(std::uint64_t epoch) {
  constexpr int kDigits = std::numeric_limits<double>::digits;
  const auto step = std::uint64_t{1} << std::max(static_cast<int>(std::bit_width(epoch)) - kDigits, 0);
  return (epoch / step + 1) * step;
}

/// Returns the place of the group once a reader has dealt with everything up to `token`, too. With several shards, a
/// page that is read twice may continue differently; changes behind either token have been dealt with. A token of
/// another generation replaces the stored one.
std::string joined(const Consumer& consumer, const std::string& token) {
  auto stored = parse_token(consumer.table, consumer.token);
  const auto given = parse_token(consumer.table, token);
  if (!stored || !given || stored->generation != given->generation || stored->logs.size() != given->logs.size())
    return token;
  for (std::size_t shard = 0; shard < given->logs.size(); ++shard) {
    stored->logs[shard] = std::max(stored->logs[shard], given->logs[shard]);
  }
  return token_of(consumer.table, *stored);
}

}  // namespace

bool is_group_name(std::string_view name) {
  return jobs::is_simple_name(name, kMaxNameBytes) && jobs::is_alphanumeric(name.front());
}

jobs::PartitionRows ConsumerStore::groups_of(const std::string& table) const {
  return {tables_, kConsumerTable, to_lower_ascii(table)};
}

Task<Result<Consumer>> ConsumerStore::get(std::string table, std::string group) {
  const auto found = CO_TRY(co_await groups_of(table).find(group));
  if (!found) co_return unknown(table, group);
  co_return consumer_of(*found);
}

Task<Result<std::vector<Consumer>>> ConsumerStore::all(std::string table) {
  std::vector<Consumer> out;
  auto request = table.empty() ? table_store::QueryRequest{} : jobs::rows_of(to_lower_ascii(table));
  request.table = std::string(kConsumerTable);
  do {
    auto read = co_await tables_.query(request);
    if (read.failed_with(ErrorCode::kTableNotFound)) co_return out;
    auto page = CO_TRY(std::move(read));
    for (const auto& row : page.entities) out.push_back(consumer_of(row));
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty() && out.size() < kMostListed);
  co_return out;
}

/// Inserts the row or replaces it by compare-and-swap; returns false if the row was changed meanwhile.
Task<Result<bool>> ConsumerStore::swap(Consumer& consumer) {
  std::vector<Property> properties;
  jobs::add_properties(properties, consumer, kFields);
  co_return co_await groups_of(consumer.table).swap(consumer.group, consumer.version, std::move(properties));
}

Task<Result<ConsumerStore::Stored>> ConsumerStore::put(std::string table, std::string group, std::string token,
                                                       bool reset) {
  const auto attempt = [&]() -> Task<Result<std::optional<Stored>>> {
    auto found = co_await get(table, group);
    const bool is_new = found.failed_with(ErrorCode::kConsumerNotFound);
    Consumer consumer;
    if (!is_new) consumer = CO_TRY(std::move(found));
    if (!is_new && !reset) co_return Stored{std::move(consumer), false};
    if (is_new && CO_TRY(co_await all(table)).size() >= kMaxConsumers) co_return fail(ErrorCode::kTooManyConsumers);
    consumer.table = to_lower_ascii(table);
    consumer.group = group;
    consumer.token = token;
    if (is_new) {
      consumer.created_at = clock_.now();
      // Readers of an earlier group of this name have lower epochs.
      consumer.epoch = static_cast<std::uint64_t>(consumer.created_at.time_since_epoch().count());
    }
    // The current reader works from another place.
    consumer.epoch = epoch_after(consumer.epoch);
    consumer.reader.clear();
    if (!CO_TRY(co_await swap(consumer))) co_return std::nullopt;
    co_return Stored{std::move(consumer), is_new};
  };
  co_return co_await jobs::until_swapped<Stored>(the_group(group), attempt);
}

Task<Result<void>> ConsumerStore::remove(std::string table, std::string group) {
  CO_TRY(co_await get(table, group));
  CO_TRY(co_await groups_of(table).erase(std::move(group)));
  co_return Result<void>{};
}

Task<Result<Consumer>> ConsumerStore::lease(std::string table, std::string group, std::string reader,
                                            std::optional<std::uint64_t> epoch, Duration lease, Duration wait) {
  const auto attempt = [&]() -> Task<Result<std::optional<Consumer>>> {
    auto consumer = CO_TRY(co_await get(table, group));
    const auto now = clock_.now();
    const auto until = now + wait + lease;
    if (epoch) {
      if (*epoch != consumer.epoch || consumer.reader != reader) co_return taken_over(consumer);
      if (consumer.lease_until >= until) co_return consumer;
    } else if (consumer.leased(now) && consumer.reader != reader) {
      co_return fail(ErrorCode::kConsumerInUse, "The reader '" + consumer.reader + "' has the consumer group " + group +
                                                    " until " + to_iso8601(consumer.lease_until) + ". Try again then.");
    } else {
      consumer.reader = reader;
      consumer.epoch = epoch_after(consumer.epoch);
    }
    consumer.lease_until = until + lease / kSpareLease;
    if (!CO_TRY(co_await swap(consumer))) co_return std::nullopt;
    co_return consumer;
  };
  co_return co_await jobs::until_swapped<Consumer>(the_group(group), attempt);
}

Task<Result<Consumer>> ConsumerStore::acknowledge(std::string table, std::string group, std::uint64_t epoch,
                                                  std::string token, bool leaves) {
  const auto attempt = [&]() -> Task<Result<std::optional<Consumer>>> {
    auto consumer = CO_TRY(co_await get(table, group));
    if (consumer.epoch != epoch) co_return taken_over(consumer);
    auto place = token.empty() ? consumer.token : joined(consumer, token);
    const bool later = place != consumer.token;
    if (!later && !leaves) co_return consumer;
    if (later) {
      consumer.token = std::move(place);
      consumer.acknowledged_at = clock_.now();
    }
    if (leaves) consumer.reader.clear();
    if (!CO_TRY(co_await swap(consumer))) co_return std::nullopt;
    co_return consumer;
  };
  co_return co_await jobs::until_swapped<Consumer>(the_group(group), attempt);
}

}  // namespace tidemark::feeds
