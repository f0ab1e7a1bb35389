#include "queue_service/rest/queue_store_app.h"

#include "queue_service/internal/queue_dispatch.h"
#include "queue_service/rest/queue_routes.h"

namespace tidemark::queue_service {
namespace {

class QueueStore final : public service::Store {
 public:
  explicit QueueStore(service::StoreContext& context)
      : service_(context.engine, context.clock, context.random),
        routes_(service_, context.clock, context.accounts, context.auth_policy) {
    auto collecting = service_.collect_garbage();
    spawn(context.background, std::move(collecting));
  }

  Task<http::Response> serve(http::Request& request) override { return routes_.serve(request); }
  http::Response render_error(const Error& error, const std::string& request_id) override {
    return routes_.render(error, request_id);
  }
  rpc::Dispatch internal_face() override { return make_queue_dispatch(service_); }
  void begin_shutdown() override { service_.begin_shutdown(); }

 private:
  QueueService service_;
  rest::QueueRoutes routes_;
};

}  // namespace

std::unique_ptr<service::Store> make_queue_store(service::StoreContext& context) {
  return std::make_unique<QueueStore>(context);
}

}  // namespace tidemark::queue_service
