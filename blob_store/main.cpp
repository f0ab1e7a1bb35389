// The blob store process: wiring only.
#include <boost/asio/thread_pool.hpp>

#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/rest/blob_routes.h"
#include "blob_store/storage/blob_lookup.h"
#include "common/service/store_process.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kDiskThreads = 2;  // which wait for the disk while large content is written

// Measured: bench/micro/payload_layout.cpp. Larger content has files of its own.
constexpr std::size_t kApartFromBytes = 16UL << 10;

Result<void> check_data(const kv::Engine& engine) { return check_stored_format(*engine.snapshot()); }

class BlobStore final : public service::Store {
 public:
  explicit BlobStore(service::StoreContext& context)
      : files_(context.directory / "payloads", disk_.get_executor(), context.sync),
        service_(context.engine, context.clock, context.random, files_, context.background, &context.ages),
        routes_(service_, context.clock, context.accounts, context.auth_policy) {
    service_.collector().start();
  }

  service::Front& front() override { return routes_; }
  rpc::Dispatch internal_face() override { return make_blob_dispatch(service_); }
  void drain() override { disk_.join(); }

 private:
  asio::thread_pool disk_{kDiskThreads};
  PayloadFiles files_;
  BlobService service_;
  BlobRoutes routes_;
};

}  // namespace
}  // namespace tidemark::blob_store

int main(int argc, char** argv) {
  using namespace tidemark;
  const service::StoreDescription description{"blob_store",
                                              "blob",
                                              10000,
                                              "Stores blobs and speaks the Azure blob protocol.",
                                              "container",
                                              "blob",
                                              kv::FadingRows{{"L", "M"}, "l"},
                                              {.requests = 20'000},
                                              {},
                                              blob_store::kApartFromBytes,
                                              &blob_store::check_data};
  return service::run_store(argc, argv, description, [](service::StoreContext& context) {
    return std::make_unique<blob_store::BlobStore>(context);
  });
}
