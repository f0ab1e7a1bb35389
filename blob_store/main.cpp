// The blob store process: wiring, and the setting that only this process has.
#include <fmt/format.h>

#include <boost/asio/thread_pool.hpp>

#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/rest/blob_routes.h"
#include "blob_store/storage/blob_check.h"
#include "blob_store/storage/blob_holdings.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/payload_folder.h"
#include "common/base/data_formats.h"
#include "common/service/store_process.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kDiskThreads = 2;  // they wait for the disk while large content is written

// Measured: bench/micro/payload_layout.cpp. Larger content has its own files.
constexpr std::size_t kApartFromBytes = 2UL << 10;
// The write buffers hold all bytes of a put of 256 KiB, and all memory together is to stay below 200 MB
// (tests/process/blob_footprint_test.py). Many small buffers hold less than few large ones while one is written.
constexpr std::size_t kWriteBufferBytes = 16UL << 20;
constexpr int kWriteBuffers = 4;

constexpr const char* kFolder = "blob";
constexpr const char* kPayloads = "payloads";  // below the store's folder

constexpr std::size_t kMaxShards = 64;

namespace fs = std::filesystem;

struct BlobSettings {
  std::string payload_folder;
  std::string payload_folder_id;  // set once the folder has been opened

  [[nodiscard]] bool shares() const { return !payload_folder.empty(); }
  [[nodiscard]] fs::path payloads(const fs::path& folder) const {
    return shares() ? fs::path(payload_folder) : folder / kPayloads;
  }
};

void declare_settings(process::Settings& settings, BlobSettings& values) {
  settings.add("payload_folder", values.payload_folder,
               "with share_shards: the folder of the content of large blobs, on storage that all blob stores of the "
               "database reach, such as NFS or CephFS");
}

bool has_files(const fs::path& folder) {
  std::error_code unknown;
  auto entry = fs::recursive_directory_iterator(folder, unknown);
  while (!unknown && entry != fs::recursive_directory_iterator() && !entry->is_regular_file(unknown)) {
    entry.increment(unknown);
  }
  return !unknown && entry != fs::recursive_directory_iterator();
}

Result<void> check_settings(const BlobSettings& settings, bool share_shards, const fs::path& data) {
  if (!share_shards && settings.shares()) {
    return fail(ErrorCode::kConfigInvalid, "payload_folder is set, but share_shards is not: set that, or remove it");
  }
  if (!share_shards) return {};
  if (!settings.shares()) {
    return fail(ErrorCode::kConfigInvalid,
                "share_shards needs payload_folder: a folder on storage that all blob stores of the database reach, "
                "where the content of large blobs is");
  }
  const auto own = data / kFolder / kPayloads;
  if (!has_files(own)) return {};
  return fail(ErrorCode::kConfigInvalid,
              fmt::format("{} has the content of large blobs, which a store with share_shards would not see: stop all "
                          "blob stores and move what is in it to payload_folder {}",
                          own.string(), settings.payload_folder));
}

Result<void> check_unstamped(const kv::Engine& engine) { return check_stored_format(*engine.snapshot()); }

/// The payload files, for backups.
class PayloadsBeside final : public service::FilesBeside {
 public:
  explicit PayloadsBeside(const PayloadFiles& files) : files_(files) {}
  [[nodiscard]] std::filesystem::path directory() const override { return files_.directory(); }
  [[nodiscard]] std::shared_ptr<void> keep() const override { return files_.keep_all(); }
  [[nodiscard]] Result<std::vector<std::filesystem::path>> files_of(Rows rows) const override {
    auto names = TRY(files_of_rows(rows, files_.directory()));
    for (auto& name : names) name = std::filesystem::path(kPayloads) / name;
    return names;
  }

 private:
  const PayloadFiles& files_;
};

class BlobStore final : public service::Store {
 public:
  BlobStore(service::StoreContext& context, const BlobSettings& settings)
      : files_(settings.payloads(context.directory), disk_.get_executor(), context.sync),
        service_(context.shards, context.clock, context.random, files_, context.background),
        routes_(service_, context.clock, context.accounts, context.auth_policy) {
    files_.when_let_go([this] { service_.collect_all(); });
    if (context.shards.peers != nullptr) {
      service_.start_sharing(settings.payload_folder_id);
    } else {
      service_.start();
    }
  }

  service::Front& front() override { return routes_; }
  rpc::Dispatch internal_face() override { return make_blob_dispatch(service_); }
  void gained(std::size_t shard) override { service_.gained(shard); }
  void lost(std::size_t shard) override { service_.lost(shard); }
  const service::FilesBeside* files_beside() const override { return &beside_; }
  void begin_shutdown() override { service_.begin_shutdown(); }
  void drain() override { disk_.join(); }

 private:
  asio::thread_pool disk_{kDiskThreads};
  PayloadFiles files_;
  PayloadsBeside beside_{files_};
  BlobService service_;
  BlobRoutes routes_;
};

}  // namespace
}  // namespace tidemark::blob_store

int main(int argc, char** argv) {
  using namespace tidemark;
  blob_store::BlobSettings settings;
  const service::StoreDescription description{
      .process_name = "blob_store",
      .folder = blob_store::kFolder,
      .default_port = 10000,
      .summary = "Stores blobs and speaks the Azure blob protocol.",
      .unit = "container",
      .partition = "blob",
      .ledgers = kv::FadingRows{{"L", "M"}, "l"},
      .targets = {.requests = 20'000},
      .declare_settings = [&](auto& declared) { blob_store::declare_settings(declared, settings); },
      .rows = {.apart_from_bytes = blob_store::kApartFromBytes,
               .write_buffer_bytes = blob_store::kWriteBufferBytes,
               .write_buffers = blob_store::kWriteBuffers},
      .check_unstamped = &blob_store::check_unstamped,
      .format = data_format_of("blob"),
      .holdings = {&blob_store::each_container, &blob_store::content_bytes, true},
      .max_shards = blob_store::kMaxShards,
      .check_shards =
          [&](auto shards, const auto& placement, const auto& folder, auto& run) {
            return blob_store::check_blobs(shards, placement, settings.payloads(folder), run);
          },
      .shares = true,
      .check_settings = [&](bool share_shards,
                            const auto& data) { return blob_store::check_settings(settings, share_shards, data); },
      .check_shared = [&](const auto& catalogue) -> Result<void> {
        settings.payload_folder_id =
            TRY(blob_store::open_payload_folder(settings.payload_folder, catalogue, *make_system_random()));
        return {};
      }};
  return service::run_store(argc, argv, description, [&](service::StoreContext& context) {
    return std::make_unique<blob_store::BlobStore>(context, settings);
  });
}
