// The settings by which the processes of a stack reach each other across machines, and the links that these settings
// give. Without them everything stays on one machine, over the sockets in DATA/run.
#pragma once
#include <memory>
#include <string>

#include "common/process/config.h"
#include "common/rpc/zmq_transport.h"

namespace tidemark::service {

/// Where a store listens for workers and the api of other machines.
struct ListenSettings {
  std::string address;
  std::string key_file;
  std::string allowed_keys;
  std::int64_t max_connections = 1024;
};
void declare(process::Settings& settings, ListenSettings& listen);

/// Returns nothing if no address is set. kConfigInvalid: tcp needs both files, even on loopback.
Result<std::optional<rpc::TcpListening>> listening(const ListenSettings& settings,
                                                   const std::shared_ptr<const rpc::AllowedKeys>& allowed);
/// Returns null if no address is set.
Result<std::shared_ptr<rpc::AllowedKeys>> allowed_keys(const ListenSettings& settings);
/// Reads the list again, and logs the outcome. `keys` may be null.
void reload(rpc::AllowedKeys* keys);

/// Returns the address by which other processes of the store reach this one, as the table of owners has it:
/// "ipc:///path", or "tcp://HOST:PORT KEY" with the listener's public key. `announced` replaces the listening address;
/// if it is empty, the result is `tcp_address`, or without that the socket `local`. kConfigInvalid.
Result<std::string> peer_address(const ListenSettings& settings, const std::string& announced,
                                 const std::string& tcp_address, const std::string& local);
/// kConfigInvalid: this process has no keys for tcp, or the address is malformed.
Result<std::unique_ptr<rpc::Transport>> open_peer(const ListenSettings& settings, const std::string& address);

/// Where the api and the workers find the stores.
struct StoreAddresses {
  std::string table_address, queue_address, blob_address;
  std::string stores_key;
  std::string key_file;
  /// Tells whether one of the stores is on another machine.
  [[nodiscard]] bool any() const { return !table_address.empty() || !queue_address.empty() || !blob_address.empty(); }
};
void declare(process::Settings& settings, StoreAddresses& stores);

/// The links to the stores, each over tcp if its address is set, otherwise over the socket in DATA/run.
struct StoreLinks {
  std::unique_ptr<rpc::Transport> table, queue, blob;
  std::string where;  // for messages: "DATA/run" or the addresses
  /// Opens the links. kConfigInvalid. `patience`: how long a call waits for a store that is away, if its deadline is
  /// later.
  static Result<StoreLinks> open(const StoreAddresses& settings, const std::string& data,
                                 Duration patience = std::chrono::hours(24));
  /// Checks that the stores that hold the jobs (table store and queue service) answer. kUnavailable, kDeadlineExceeded.
  [[nodiscard]] Task<Result<void>> answer() const;
};

}  // namespace tidemark::service
