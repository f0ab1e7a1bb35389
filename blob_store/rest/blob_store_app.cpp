#include "blob_store/rest/blob_store_app.h"

#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/rest/blob_routes.h"

namespace tidemark::blob_store {
namespace {

class BlobStore final : public service::Store {
 public:
  explicit BlobStore(service::StoreContext& context)
      : service_(context.engine, context.clock, context.random, context.background),
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

std::unique_ptr<service::Store> make_blob_store(service::StoreContext& context) {
  return std::make_unique<BlobStore>(context);
}

}  // namespace tidemark::blob_store
