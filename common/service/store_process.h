// The process of a store: settings, engine, HTTP, RPC, health, metrics, shutdown. Each of the three stores supplies its
// two faces.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/auth/authenticator.h"
#include "common/base/random.h"
#include "common/http/server.h"
#include "common/kv/fading_rows.h"
#include "common/process/config.h"
#include "common/process/metrics.h"
#include "common/rpc/transport.h"
#include "common/service/front.h"
#include "common/service/holdings.h"
#include "common/service/store_backup.h"
#include "common/shards/shards.h"

namespace tidemark::service {

struct StoreContext {
  shards::Shards shards;
  kv::Engine& engine;  // of the first shard, as is the next member
  const Clock& ages;   // how old things are: common/kv/age_clock.h
  Clock& clock;
  Random& random;
  process::Metrics& metrics;
  std::vector<auth::Account> accounts;
  auth::Policy auth_policy;
  Executor background;  // for coroutines that serve no request
  std::size_t io_threads = 1;
  std::filesystem::path directory = {};  // the store's own, with its database; for files beside the database
  bool sync = true;                      // true: acknowledged writes survive a power cut
};

/// A store. It is destroyed after the servers have stopped and before the engine is closed.
class Store {
 public:
  virtual ~Store() = default;
  /// The public face; /healthz, /readyz and /metrics never come there.
  virtual Front& front() = 0;
  virtual rpc::Dispatch internal_face() = 0;
  /// See rpc::UndeliveredHook. `dispatch` answers the calls of internal_face(), wherever they belong.
  virtual rpc::UndeliveredHook undelivered(rpc::Dispatch) { return {}; }

  // For a store whose shards are divided among processes.
  /// This process has begun, or ceased, to serve the shard. Called from any thread; they do not block.
  virtual void gained(std::size_t) {}
  virtual void lost(std::size_t) {}

  /// Reads figures that are read now and then. A request for /metrics waits for it.
  virtual Task<void> before_metrics() { co_return; }
  /// Ends long waits, such as long polls, so that requests in progress finish soon.
  virtual void begin_shutdown() {}
  /// Returns null if the store has none.
  virtual const FilesBeside* files_beside() const { return nullptr; }
  /// Called after the I/O threads have ended. Returns when no work that the store began elsewhere uses a coroutine any
  /// more.
  virtual void drain() {}
};

struct StoreDescription {
  std::string process_name;    // such as "table_store"
  std::string folder;          // such as "table": DATA/table, DATA/run/table.sock
  std::uint16_t default_port;  // such as 10002
  std::string summary;         // for --help
  std::string unit;            // its units, such as "table"; a label of its metrics
  std::string partition = {};  // the word for a partition's name; empty: the units are the partitions
  /// Ledgers of operations, which are removed once they have not changed for operation_retention_h (a setting).
  std::optional<kv::FadingRows> ledgers = {};
  /// The service's targets for an account and a part of its data, with service_targets: items per second, and requests.
  AccountRates targets = {};
  /// Declares the settings that only this store has; the variables they are bound to must outlive run_store.
  std::function<void(process::Settings&)> declare_settings = {};
  /// kv::RocksDbOptions.
  struct Rows {
    std::size_t apart_from_bytes = 0;
    std::size_t write_buffer_bytes = 64UL << 20;
    int write_buffers = 3;
  } rows = {};
  /// Checks that this program can read the data in a folder that says nothing about its format.
  std::function<Result<void>(const kv::Engine&)> check_unstamped = {};
  /// The format of the folder: see data_stamp.h.
  std::uint32_t format = 1;
  /// Walks all rows of the store, and the files beside them in its folder; the database's own files are checked before.
  std::function<Result<void>(const kv::Engine&, const std::filesystem::path& folder, kv::CheckRun&)> check = {};
  Holdings holdings = {};
  /// The largest number of shards over which its rows can be divided.
  std::size_t max_shards = 1;
  /// Takes the place of `check` for a store whose shards refer to each other: checks all shards together.
  using CheckShards = std::function<Result<void>(std::span<const kv::Engine* const>, const shards::Placement&,
                                                 const std::filesystem::path& folder, kv::CheckRun&)>;
  CheckShards check_shards = {};
  /// Whether several processes can share the shards.
  bool shares = false;
  /// Checks the settings that only this store has, against the common ones. `data`: the directory of all stores.
  std::function<Result<void>(bool share_shards, const std::filesystem::path& data)> check_settings = {};
  /// Checks, in a process that shares shards, that it sees the same files as the others. Called before it claims any.
  std::function<Result<void>(const kv::Reader& catalogue)> check_shared = {};
};

using StoreFactory = std::function<std::unique_ptr<Store>(StoreContext&)>;

/// main() of a store. Returns the exit code.
int run_store(int argc, const char* const* argv, const StoreDescription& description, const StoreFactory& build);

/// "ipc://DATA/run/FOLDER.sock"
std::string internal_endpoint(const std::string& data, const std::string& folder);
/// Parses "name:base64key[:base64key2] [tables=100] [table_bytes=10GiB] ..." separated by commas: the bounds are those
/// of common/service/quotas.h. kConfigInvalid.
Result<std::vector<auth::Account>> parse_accounts(const std::string& text);
/// Parses the same on separate lines; blank lines and those that begin with # do not count. kConfigInvalid.
Result<std::vector<auth::Account>> parse_accounts_file(const std::string& text);

}  // namespace tidemark::service
