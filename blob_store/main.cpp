// The blob store process: wiring only.
#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/rest/blob_routes.h"
#include "common/service/store_process.h"

namespace tidemark::blob_store {
namespace {

class BlobStore final : public service::Store {
 public:
  explicit BlobStore(service::StoreContext& context)
      : service_(context.engine, context.clock, context.random, context.background, &context.ages),
        routes_(service_, context.clock, context.accounts, context.auth_policy) {
    service_.collector().start();
  }

  service::Front& front() override { return routes_; }
  rpc::Dispatch internal_face() override { return make_blob_dispatch(service_); }

 private:
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
                                              "Stores block blobs and speaks the Azure blob protocol.",
                                              kv::FadingRows{{"L", "M"}, "l"},
                                              {.requests = 20'000}};
  return service::run_store(argc, argv, description, [](service::StoreContext& context) {
    return std::make_unique<blob_store::BlobStore>(context);
  });
}
