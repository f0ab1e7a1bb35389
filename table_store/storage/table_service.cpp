// Operations on tables: create, delete, list, ACLs, service properties, and the collection of deleted rows.
#include "table_store/storage/table_service.h"

#include "common/kv/generations.h"
#include "common/process/failures.h"
#include "common/protocol/stored_policies.h"
#include "table_store/model/limits.h"
#include "table_store/storage/change_notes.h"
#include "table_store/storage/feed_rows.h"
#include "table_store/storage/mutation_job.h"
#include "table_store/storage/table_changes.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"

namespace tidemark::table_store {
namespace {
// A list is one step on an I/O thread; if few names pass the filter, the search continues in the next page.
constexpr std::size_t kMaxTablesLookedAt = 5000;
constexpr Duration kTryAgain = std::chrono::seconds(1);

const FailStep kCreateTableStep("table.create_table");
const FailStep kDeleteTableStep("table.delete_table");
const FailStep kSetAclStep("table.set_acl");
const FailStep kSetServicePropertiesStep("table.set_service_properties");
const FailStep kLedgerStep("table.ledger");
const FailStep kCollectStep("table.collect");

/// The creation succeeds however far a follower is behind.
Result<NotedFeeds> note_creation(kv::Transaction& txn, const std::shared_ptr<const Capture>& capture, Version now) {
  const auto version = TRY(next_version(txn, now));
  ChangeNotes notes(txn, version);
  TRY(notes.note_table(capture, NoteKind::kCreated));
  txn.put(kLastVersionKey, kCounterRecord.encode(static_cast<std::uint64_t>(version)));
  return notes.finish(ChangeNotes::Bounds::kIgnore);
}

}  // namespace

TableService::TableService(kv::Engine& engine, Clock& clock, Random& random, ScanLimits scans, const Clock* ages)
    : TableService(shards::Shards{{{engine, ages == nullptr ? clock : *ages}}}, clock, random, scans) {}

TableService::TableService(const shards::Shards& shards, Clock& clock, Random&, ScanLimits scans)
    : OperationLedgers(shards, &operation_key, &kLedgerStep),
      AccountProperties(shards.catalogue().engine, kServiceProperties, kSetServicePropertiesStep),
      shards_(shards, clock,
              [this](std::size_t shard, const Executor& executor) {
                process::spawn_in_background(executor, "table.collect_garbage", collect_on(shard));
              }),
      engine_(shards.catalogue().engine),
      clock_(clock),
      ages_(shards.catalogue().ages),
      turns_(scans),
      waits_(clock),
      hints_(shards_, waits_, clock),
      trims_(clock) {}

Result<std::uint64_t> find_generation(const kv::Reader& reader, std::string_view account, std::string_view table) {
  auto bytes = TRY(reader.get(table_key(account, table)));
  if (!bytes) return fail(ErrorCode::kTableNotFound);
  return decode_table_generation(*bytes);
}

Result<TableRecord> read_table(const kv::Reader& reader, std::string_view account, std::string_view table) {
  auto bytes = TRY(reader.get(table_key(account, table)));
  if (!bytes) return fail(ErrorCode::kTableNotFound);
  return kTableRecord.decode(*bytes);
}

Result<std::uint64_t> read_counter(const kv::Reader& reader, std::string_view key) {
  auto bytes = TRY(reader.get(key));
  if (!bytes) return 0;
  return kCounterRecord.decode(*bytes);
}

Task<Result<void>> TableService::create_table(std::string account, std::string table) {
  if (!is_metrics_table(table)) CO_TRY(check_table_name(table));
  const auto now = clock_.now().time_since_epoch().count();
  CO_TRY(co_await shards_.copies().finish_old(account, to_lower_ascii(table)));
  NotedFeeds feeds;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        const auto key = table_key(account, table);
        auto existing = TRY(txn.get(key));
        if (existing) return fail(ErrorCode::kTableAlreadyExists);
        // A follower of a former table of the name is just being removed.
        if (shards_.divided() && TRY(shards_.copies().under_way(txn, account, to_lower_ascii(table))))
          return fail(ErrorCode::kServerBusy);
        auto last = TRY(read_counter(txn, kLastGenerationKey));
        TableRecord record;
        record.generation = last + 1;
        record.name = table;
        txn.put(kLastGenerationKey, kCounterRecord.encode(record.generation));
        txn.put(key, kTableRecord.encode(record));
        feeds = {};
        const auto capture = TRY(read_capture(txn, feed_key(account, table)));
        if (capture && capture->kept) feeds = TRY(note_creation(txn, capture, now));
        return {};
      },
      &kCreateTableStep));
  announce(feeds, co_await asio::this_coro::executor);
  co_return Result<void>{};
}

Task<Result<void>> TableService::delete_table(std::string account, std::string table) {
  return drop(std::move(account), std::move(table), std::nullopt);
}

Task<Result<void>> TableService::delete_table_fenced(std::string account, std::string table, Fence fence) {
  CO_TRY(check_operation_id(fence.operation_id));
  co_return co_await drop(std::move(account), std::move(table), std::move(fence));
}

Task<Result<void>> TableService::drop(std::string account, std::string table, std::optional<Fence> fence) {
  const auto key = feed_key(account, table);
  const auto now = clock_.now().time_since_epoch().count();
  std::optional<std::uint64_t> feed;
  const auto begin = [&](kv::Transaction& txn) -> Result<std::optional<CopiedTables::Change>> {
    const auto generation = find_generation(txn, account, table);
    if (generation.failed_with(ErrorCode::kTableNotFound)) return fail(ErrorCode::kResourceNotFound);
    const auto followed = TRY(read_feed(txn, key));
    feed = followed ? std::optional(followed->feed) : std::nullopt;
    return TRY(declare(txn, account, {.kind = TableChangeKind::kDrop, .now = now, .generation = TRY(generation)}));
  };
  CO_TRY(co_await change_table(account, table, std::move(fence), begin, &kDeleteTableStep));
  if (feed) waits_.changed(*feed);
  process::spawn_in_background(co_await asio::this_coro::executor, "table.collect_garbage", collect_garbage());
  co_return Result<void>{};
}

Task<Result<bool>> TableService::change_table(std::string account, std::string table, std::optional<Fence> fence,
                                              shards::CatalogueCopies::Begin begin, const FailStep* step) {
  const auto name = to_lower_ascii(table);
  if (!fence) co_return co_await shards_.copies().change(account, name, std::move(begin), step);
  bool entered = false, turned_away = false;
  const auto begin_fenced = [&](kv::Transaction& txn) -> Result<std::optional<CopiedTables::Change>> {
    std::optional<CopiedTables::Change> change;
    const auto effect = [&](OperationLedger&) -> Result<std::uint64_t> {
      change = TRY(begin(txn));
      return change ? 1 : 0;
    };
    turned_away = !TRY(fenced_on(shards_.catalogue().number, txn, account, *fence, entered, effect));
    return change;
  };
  for (;;) {
    const bool changed = CO_TRY(co_await shards_.copies().change(account, name, begin_fenced, step));
    if (!turned_away) co_return changed;
    CO_TRY(co_await enter(shards_.catalogue().number, account, *fence));
    entered = true;
  }
}

Task<Result<void>> TableService::finish_drops() { return shards_.copies().finish_all(); }

Task<Result<TablePage>> TableService::list_tables(std::string account, Filter filter, std::uint32_t limit,
                                                  std::string from) {
  if (limit == 0 || limit > kMaxPageEntities) co_return fail(ErrorCode::kInvalidInput);
  const auto snapshot = engine_.snapshot();
  const auto range = tables_range(account, from);
  const auto cursor = snapshot->scan(range);
  TablePage page;
  std::size_t looked_at = 0;
  for (; cursor->valid(); cursor->next()) {
    auto record = CO_TRY(kTableRecord.decode(cursor->value()));
    Entity row;
    row.properties.push_back({"TableName", Value(record.name)});
    const bool matches = !is_metrics_table(record.name) && filter.matches(row);
    if ((matches && page.names.size() == limit) || ++looked_at > kMaxTablesLookedAt) {
      page.next = record.name;
      break;
    }
    if (matches) page.names.push_back(std::move(record.name));
  }
  CO_TRY(cursor->status());
  co_return page;
}

Task<Result<std::string>> TableService::find_table(std::string account, std::string table) {
  const auto snapshot = engine_.snapshot();
  auto record = CO_TRY(read_table(*snapshot, account, table));
  co_return std::move(record.name);
}

Result<StoredPolicies> TableService::get_acl(std::string_view account, std::string_view table) {
  const auto snapshot = engine_.snapshot();
  auto record = TRY(read_table(*snapshot, account, table));
  return std::move(record.acl);
}

Task<Result<void>> TableService::set_acl(std::string account, std::string table, StoredPolicies policies) {
  if (policies.size() > protocol::kMaxStoredPolicies) co_return fail(ErrorCode::kInvalidXmlDocument);
  co_return co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto record = TRY(read_table(txn, account, table));
        record.acl = policies;
        txn.put(table_key(account, table), kTableRecord.encode(record));
        return {};
      },
      &kSetAclStep);
}

Task<Result<void>> TableService::collect_garbage() {
  CO_TRY(co_await trim_logs());
  std::optional<Error> failed;  // of one shard; the others do not wait for it
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    auto done = co_await collect_on(shard);
    if (!done) failed = std::move(done.error());
  }
  if (failed) co_return fail(std::move(*failed));
  co_return Result<void>{};
}

/// If another process serves the shard, perhaps since a moment ago, that process collects there.
Task<Result<void>> TableService::collect_on(std::size_t shard) {
  if (!shards_.here(shard)) co_return Result<void>{};
  auto& engine = shards_[shard].engine;
  auto done = co_await kv::collect_generations(
      engine, kDroppedGeneration,
      [&engine](std::uint64_t generation) -> Task<Result<void>> {
        co_return co_await engine.erase({entities_of(generation), notes_of(generation)});
      },
      kCollectStep);
  if (!done && !shards_.here(shard)) co_return Result<void>{};
  co_return done;
}

Task<Result<void>> TableService::gained(std::size_t shard) {
  shards_.gained(shard);
  return go_on_with(shard);
}

Task<Result<void>> TableService::go_on_with(std::size_t shard) {
  const bool catalogue = shard == shards_.catalogue().number;
  // The owners of other shards take part in a drop, and there may be none yet.
  for (bool done = !catalogue; !done && shards_.here(shard);) {
    const auto ticket = closing_.ticket();
    if (waits_.closed()) co_return Result<void>{};
    done = (co_await finish_drops()).has_value();
    if (!done) co_await closing_.wait(ticket, clock_, kTryAgain);
  }
  co_return co_await collect_on(shard);
}

std::size_t TableService::shard_of(std::string_view account, std::string_view table,
                                   std::string_view partition_key) const {
  return shards_.of(account, table, partition_key).number;
}

Task<Result<void>> TableService::trim_logs() {
  const auto snapshot = engine_.snapshot();
  const auto cursor = snapshot->scan(feeds_range());
  for (; cursor->valid(); cursor->next()) CO_TRY(co_await trim_log(std::string(cursor->key())));
  co_return cursor->status();
}

}  // namespace tidemark::table_store
