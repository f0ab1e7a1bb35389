// Tables themselves: create, delete, list, ACLs, service properties, and the collection of what deletion leaves.
#include "table_store/storage/table_service.h"

#include "common/protocol/stored_policies.h"
#include "table_store/model/limits.h"
#include "table_store/storage/service_impl.h"
#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {
// A list is one step on an I/O thread; a filter that few names pass goes on in the next page.
constexpr std::size_t kMaxTablesLookedAt = 5000;
}  // namespace
namespace {

const FailStep kCreateTableStep("table.create_table");
const FailStep kDeleteTableStep("table.delete_table");
const FailStep kSetAclStep("table.set_acl");
const FailStep kSetServicePropertiesStep("table.set_service_properties");
const FailStep kCollectStep("table.collect");

}  // namespace

TableService::TableService(kv::Engine& engine, Clock& clock, Random& random, ScanLimits scans)
    : impl_(std::make_unique<Impl>(engine, clock, random, scans)) {}
TableService::~TableService() = default;

Result<std::uint64_t> find_generation(const kv::Reader& reader, std::string_view account, std::string_view table) {
  auto bytes = reader.get(table_key(account, table));
  if (!bytes) return fail(std::move(bytes.error()));
  if (!*bytes) return fail(ErrorCode::kTableNotFound);
  return decode_table_generation(**bytes);
}

Result<TableRecord> read_table(const kv::Reader& reader, std::string_view account, std::string_view table) {
  auto bytes = reader.get(table_key(account, table));
  if (!bytes) return fail(std::move(bytes.error()));
  if (!*bytes) return fail(ErrorCode::kTableNotFound);
  return decode_table(**bytes);
}

Result<std::uint64_t> read_counter(const kv::Reader& reader, std::string_view key) {
  auto bytes = reader.get(key);
  if (!bytes) return fail(std::move(bytes.error()));
  if (!*bytes) return 0;
  return decode_counter(**bytes);
}

Task<Result<void>> TableService::create_table(std::string account, std::string table) {
  if (auto ok = check_table_name(table); !ok) co_return fail(std::move(ok.error()));
  // Bodies own what they use: at shutdown the engine may run one after the coroutine's frame is gone.
  kv::TransactionBody body = [account = std::move(account),
                              table = std::move(table)](kv::Transaction& txn) -> Result<void> {
    const auto key = table_key(account, table);
    auto existing = txn.get(key);
    if (!existing) return fail(std::move(existing.error()));
    if (*existing) return fail(ErrorCode::kTableAlreadyExists);
    auto last = read_counter(txn, kLastGenerationKey);
    if (!last) return fail(std::move(last.error()));
    TableRecord record;
    record.generation = *last + 1;
    record.name = table;
    txn.put(kLastGenerationKey, encode_counter(record.generation));
    txn.put(key, encode_table(record));
    return {};
  };
  auto task = impl_->engine.transact(std::move(body), &kCreateTableStep);
  auto done = co_await std::move(task);
  co_return done;
}

Task<Result<void>> TableService::delete_table(std::string account, std::string table) {
  auto task = impl_->drop(std::move(account), std::move(table), std::nullopt);
  auto done = co_await std::move(task);
  if (done) {
    auto executor = co_await asio::this_coro::executor;
    auto collection = collect_garbage();
    spawn(executor, std::move(collection));
  }
  co_return done;
}

Task<Result<void>> TableService::delete_table_fenced(std::string account, std::string table, Fence fence) {
  if (auto ok = check_operation_id(fence.operation_id); !ok) co_return fail(std::move(ok.error()));
  auto task = impl_->drop(std::move(account), std::move(table), std::move(fence));
  auto done = co_await std::move(task);
  if (done) {
    auto executor = co_await asio::this_coro::executor;
    auto collection = collect_garbage();
    spawn(executor, std::move(collection));
  }
  co_return done;
}

/// Fence, table and ledger change together.
Task<Result<void>> TableService::Impl::drop(std::string account, std::string table, std::optional<Fence> fence) {
  const TableDirectory::Drop drop_now(*directory, table_key(account, table));
  kv::TransactionBody body = [account = std::move(account), table = std::move(table),
                              fence = std::move(fence)](kv::Transaction& txn) -> Result<void> {
    OperationLedger ledger;
    if (fence) {
      auto loaded = load_ledger(txn, account, fence->operation_id);
      if (!loaded) return fail(std::move(loaded.error()));
      ledger = std::move(*loaded);
      if (auto ok = check_fence(ledger, fence->epoch); !ok) return ok;
    }
    auto generation = find_generation(txn, account, table);
    if (generation.failed_with(ErrorCode::kTableNotFound)) return fail(ErrorCode::kResourceNotFound);
    if (!generation) return fail(std::move(generation.error()));
    txn.erase(table_key(account, table));
    txn.put(dropped_key(*generation), "");
    if (!fence) return {};
    if (!fence->count_applied_as.empty()) {
      if (auto ok = add_to_counter(ledger, fence->count_applied_as, 1); !ok) return ok;
    }
    store_ledger(txn, account, fence->operation_id, ledger);
    return {};
  };
  auto task = engine.transact(std::move(body), &kDeleteTableStep);
  auto done = co_await std::move(task);
  co_return done;
}

Task<Result<TableService::TablePage>> TableService::list_tables(std::string account, Filter filter, std::uint32_t limit,
                                                                std::string from) {
  if (limit == 0 || limit > kMaxPageEntities) co_return fail(ErrorCode::kInvalidInput);
  const auto snapshot = impl_->engine.snapshot();
  const auto range = tables_range(account, from);
  const auto cursor = snapshot->scan(range);
  TablePage page;
  std::size_t looked_at = 0;
  for (; cursor->valid(); cursor->next()) {
    auto record = decode_table(cursor->value());
    if (!record) co_return fail(std::move(record.error()));
    Entity row;
    row.properties.push_back({"TableName", Value(record->name)});
    const bool matches = filter.matches(row);
    if ((matches && page.names.size() == limit) || ++looked_at > kMaxTablesLookedAt) {
      page.next = record->name;
      break;
    }
    if (matches) page.names.push_back(std::move(record->name));
  }
  if (auto ok = cursor->status(); !ok) co_return fail(std::move(ok.error()));
  co_return page;
}

Task<Result<std::string>> TableService::find_table(std::string account, std::string table) {
  const auto snapshot = impl_->engine.snapshot();
  auto record = read_table(*snapshot, account, table);
  if (!record) co_return fail(std::move(record.error()));
  co_return std::move(record->name);
}

Result<StoredPolicies> TableService::get_acl(std::string_view account, std::string_view table) {
  const auto snapshot = impl_->engine.snapshot();
  auto record = read_table(*snapshot, account, table);
  if (!record) return fail(std::move(record.error()));
  return std::move(record->acl);
}

Task<Result<void>> TableService::set_acl(std::string account, std::string table, StoredPolicies policies) {
  if (policies.size() > protocol::kMaxStoredPolicies) co_return fail(ErrorCode::kInvalidXmlDocument);
  kv::TransactionBody body = [account = std::move(account), table = std::move(table),
                              policies = std::move(policies)](kv::Transaction& txn) -> Result<void> {
    auto record = read_table(txn, account, table);
    if (!record) return fail(std::move(record.error()));
    record->acl = policies;
    txn.put(table_key(account, table), encode_table(*record));
    return {};
  };
  auto task = impl_->engine.transact(std::move(body), &kSetAclStep);
  auto done = co_await std::move(task);
  co_return done;
}

Result<std::string> TableService::get_service_properties(std::string_view account) {
  const auto snapshot = impl_->engine.snapshot();
  auto bytes = snapshot->get(service_properties_key(account));
  if (!bytes) return fail(std::move(bytes.error()));
  return std::move(*bytes).value_or(std::string());
}

Task<Result<void>> TableService::set_service_properties(std::string account,
                                                        std::function<Result<std::string>(const std::string&)> change) {
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto stored = txn.get(service_properties_key(account));
    if (!stored) return fail(std::move(stored.error()));
    auto changed = change(std::move(*stored).value_or(std::string()));
    if (!changed) return fail(std::move(changed.error()));
    txn.put(service_properties_key(account), *changed);
    return {};
  };
  auto task = impl_->engine.transact(std::move(body), &kSetServicePropertiesStep);
  auto done = co_await std::move(task);
  co_return done;
}

Task<void> TableService::collect_garbage() {
  std::vector<std::uint64_t> generations;
  {
    const auto snapshot = impl_->engine.snapshot();
    const auto range = dropped_range();
    const auto cursor = snapshot->scan(range);
    for (; cursor->valid(); cursor->next()) {
      if (const auto generation = parse_dropped_key(cursor->key())) generations.push_back(*generation);
    }
  }
  for (const auto generation : generations) {
    auto lower = entity_prefix(generation);
    auto upper = entity_prefix(generation + 1);
    const kv::KeyRange rows{std::move(lower), std::move(upper)};
    // A failure leaves the 'd' row, so the next collection tries again.
    if (!impl_->engine.erase_range(rows)) co_return;
    kv::TransactionBody body = [generation](kv::Transaction& txn) -> Result<void> {
      txn.erase(dropped_key(generation));
      return {};
    };
    auto task = impl_->engine.transact(std::move(body), &kCollectStep);
    const auto done = co_await std::move(task);
    if (!done) co_return;
  }
}

}  // namespace tidemark::table_store
