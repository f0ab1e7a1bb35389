// The blob store process: wiring only.
#include <boost/asio/thread_pool.hpp>

#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/rest/blob_routes.h"
#include "blob_store/storage/blob_check.h"
#include "blob_store/storage/blob_holdings.h"
#include "blob_store/storage/blob_lookup.h"
#include "common/service/store_process.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kDiskThreads = 2;  // which wait for the disk while large content is written

// Measured: bench/micro/payload_layout.cpp. Larger content has files of its own.
constexpr std::size_t kApartFromBytes = 16UL << 10;
// They hold all bytes of a put of 256 KiB, and all memory together is to stay below 200 MB
// (tests/process/blob_footprint_test.py). Many small ones hold less than a few large ones while one is being written.
constexpr std::size_t kWriteBufferBytes = 16UL << 20;
constexpr int kWriteBuffers = 4;

constexpr std::uint32_t kDataFormat = 2;
constexpr const char* kPayloads = "payloads";  // below the store's folder

constexpr std::size_t kMaxShards = 64;

Result<void> check_data(std::span<const kv::Engine* const> shards, const kv::Placement& placement,
                        const std::filesystem::path& folder, kv::CheckRun& run) {
  return check_blobs(shards, placement, folder / kPayloads, run);
}

Result<void> check_unstamped(const kv::Engine& engine) { return check_stored_format(*engine.snapshot()); }

/// For backups.
class PayloadsBeside final : public service::FilesBeside {
 public:
  explicit PayloadsBeside(const PayloadFiles& files) : files_(files) {}
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
  explicit BlobStore(service::StoreContext& context)
      : files_(context.directory / kPayloads, disk_.get_executor(), context.sync),
        service_(context.shards, context.clock, context.random, files_, context.background),
        routes_(service_, context.clock, context.accounts, context.auth_policy) {
    files_.when_let_go([this] { service_.collect_all(); });
    service_.start();
  }

  service::Front& front() override { return routes_; }
  rpc::Dispatch internal_face() override { return make_blob_dispatch(service_); }
  const service::FilesBeside* files_beside() const override { return &beside_; }
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
  const service::StoreDescription description{
      "blob_store",
      "blob",
      10000,
      "Stores blobs and speaks the Azure blob protocol.",
      "container",
      "blob",
      kv::FadingRows{{"L", "M"}, "l"},
      {.requests = 20'000},
      {},
      {blob_store::kApartFromBytes, blob_store::kWriteBufferBytes, blob_store::kWriteBuffers},
      &blob_store::check_unstamped,
      blob_store::kDataFormat,
      {},
      {&blob_store::each_container, &blob_store::content_bytes, true},
      blob_store::kMaxShards,
      &blob_store::check_data};
  return service::run_store(argc, argv, description, [](service::StoreContext& context) {
    return std::make_unique<blob_store::BlobStore>(context);
  });
}
