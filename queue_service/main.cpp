#include "common/service/store_process.h"
#include "queue_service/rest/queue_store_app.h"

int main(int argc, char** argv) {
  using namespace tidemark;
  queue_service::QueueSettings settings;
  const service::StoreDescription description{
      "queue_service", "queue",
      10001,           "Stores queues and speaks the Azure Queue protocol.",
      std::nullopt,    [&](process::Settings& declared) { queue_service::declare_settings(declared, settings); }};
  return service::run_store(argc, argv, description, [&](service::StoreContext& context) {
    return queue_service::make_queue_store(context, settings);
  });
}
