#include "common/service/store_process.h"
#include "queue_service/rest/queue_store_app.h"

int main(int argc, char** argv) {
  return tidemark::service::run_store(
      argc, argv, {"queue_service", "queue", 10001, "Tidemark's queue service: Azure Queue REST on HTTP."},
      tidemark::queue_service::make_queue_store);
}
