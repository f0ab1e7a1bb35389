#include "common/service/other_hosts.h"

#include "common/base/encoding.h"
#include "common/base/log.h"
#include "common/process/failures.h"
#include "common/rpc/call.h"
#include "common/service/maintenance_calls.h"
#include "common/service/store_process.h"

namespace tidemark::service {
namespace {

/// The time for both stores in turn, within the second that a prober of a process usually waits.
constexpr Duration kAnswerWithin = std::chrono::milliseconds(400);

constexpr const char* kKeyMeaning = "this process's key file for links to other machines, made by `tidemark keys make`";

std::unexpected<Error> incomplete(const std::string& what) { return fail(ErrorCode::kConfigInvalid, what); }

/// Opens links to "tcp://HOST:PORT" of a store, or to its socket on this machine.
class Links {
 public:
  Links(const StoreAddresses& settings, const std::string& data, Duration patience)
      : settings_(settings), data_(data), patience_(patience) {}

  Result<void> prepare() {
    if (!settings_.any()) return {};
    if (settings_.stores_key.empty() || settings_.key_file.empty()) {
      return incomplete(
          "table_address, queue_address and blob_address need stores_key, the public key of the stores, and "
          "internal_key_file, the key file of this process: see `tidemark keys --help`");
    }
    server_key_ = TRY(rpc::parse_public_key(settings_.stores_key, "stores_key"));
    keys_ = TRY(rpc::read_key_file(settings_.key_file));
    return {};
  }

  std::unique_ptr<rpc::Transport> open(const std::string& address, const std::string& folder, const char* name) {
    const rpc::ClientOptions options{name, patience_};
    const auto local = internal_endpoint(data_, folder);
    where_ += (where_.empty() ? "" : ",") + (address.empty() ? local : address);
    if (address.empty()) return rpc::connect(local, options);
    return rpc::connect(rpc::TcpServer{address, server_key_, keys_}, options);
  }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const StoreAddresses& settings_;
  const std::string& data_;
  const Duration patience_;
  std::string server_key_;
  rpc::KeyPair keys_;
  std::string where_;
};

}  // namespace

void declare(process::Settings& settings, ListenSettings& listen) {
  settings.add("internal_address", listen.address,
               "address for workers and the api on other machines, tcp://ADDRESS:PORT; empty: this machine only");
  settings.add("internal_key_file", listen.key_file, kKeyMeaning);
  settings.add("internal_allowed_keys", listen.allowed_keys,
               "file of the public keys that may connect there, one a line; SIGHUP reads it again");
  settings.add("internal_max_connections", listen.max_connections, 1, 100000,
               "open connections from other machines; further ones are cut");
}

Result<std::string> peer_address(const ListenSettings& settings, const std::string& announced,
                                 const std::string& tcp_address, const std::string& local) {
  if (tcp_address.empty()) return local;
  const auto keys = TRY(rpc::read_key_file(settings.key_file));
  return (announced.empty() ? tcp_address : announced) + " " + hex_encode(keys.public_key);
}

Result<std::unique_ptr<rpc::Transport>> open_peer(const ListenSettings& settings, const std::string& address) {
  constexpr Duration kPatience = std::chrono::seconds(2);
  const rpc::ClientOptions options{"process of this store", kPatience};
  const auto space = address.find(' ');
  if (space == std::string::npos) return rpc::connect(address, options);
  if (settings.key_file.empty()) return incomplete("no internal_key_file to connect to " + address + " with");
  const auto key = TRY(rpc::parse_public_key(address.substr(space + 1), "the key in " + address));
  return rpc::connect(rpc::TcpServer{address.substr(0, space), key, TRY(rpc::read_key_file(settings.key_file))},
                      options);
}

Result<std::shared_ptr<rpc::AllowedKeys>> allowed_keys(const ListenSettings& settings) {
  if (settings.address.empty()) return std::shared_ptr<rpc::AllowedKeys>();
  if (settings.key_file.empty() || settings.allowed_keys.empty()) {
    return incomplete("refusing to listen on " + settings.address +
                      " without keys: set internal_key_file and internal_allowed_keys (see `tidemark keys --help`), "
                      "or leave internal_address empty");
  }
  return rpc::AllowedKeys::read(settings.allowed_keys);
}

Result<std::optional<rpc::TcpListening>> listening(const ListenSettings& settings,
                                                   const std::shared_ptr<const rpc::AllowedKeys>& allowed) {
  if (!allowed) return std::optional<rpc::TcpListening>();
  rpc::TcpListening tcp{settings.address, TRY(rpc::read_key_file(settings.key_file)), allowed};
  tcp.max_connections = static_cast<std::size_t>(settings.max_connections);
  tcp.refused = &process::log_refused_key;
  log_info("other machines may connect allowed_keys={}", allowed->size());
  return std::optional(std::move(tcp));
}

void reload(rpc::AllowedKeys* keys) {
  if (keys == nullptr) return;
  if (const auto count = keys->reload()) {
    log_info("the list of allowed keys was read again keys={}", *count);
  } else {
    log_error("the list of allowed keys is kept, because the new one cannot be used reason=\"{}\"",
              count.error().message);
  }
}

void declare(process::Settings& settings, StoreAddresses& stores) {
  settings.add("table_address", stores.table_address,
               "the table store's internal_address on another machine, tcp://HOST:PORT; empty: DATA/run/table.sock");
  settings.add("queue_address", stores.queue_address, "likewise for the queue service");
  settings.add("blob_address", stores.blob_address, "likewise for the blob store");
  settings.add("stores_key", stores.stores_key,
               "public key of the stores on other machines, as `tidemark keys show` prints it");
  settings.add("internal_key_file", stores.key_file, kKeyMeaning);
}

Result<StoreLinks> StoreLinks::open(const StoreAddresses& settings, const std::string& data, Duration patience) {
  Links links(settings, data, patience);
  TRY(links.prepare());
  StoreLinks out;
  out.table = links.open(settings.table_address, "table", "table store");
  out.queue = links.open(settings.queue_address, "queue", "queue service");
  out.blob = links.open(settings.blob_address, "blob", "blob store");
  out.where = links.where();
  return out;
}

Task<Result<void>> StoreLinks::answer() const {
  CO_TRY(co_await rpc::call(*table, calls::Identify{}, kAnswerWithin));
  CO_TRY(co_await rpc::call(*queue, calls::Identify{}, kAnswerWithin));
  co_return Result<void>{};
}

}  // namespace tidemark::service
