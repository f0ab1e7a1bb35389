// The table store process: wiring only.
#include "common/service/store_process.h"
#include "table_store/rest/table_store_app.h"
#include "table_store/storage/table_keys.h"

int main(int argc, char** argv) {
  tidemark::service::StoreDescription description{"table_store", "table", 10002,
                                                  "Stores tables and speaks the Azure Table protocol.",
                                                  tidemark::table_store::fading_operations()};
  return tidemark::service::run_store(argc, argv, description, tidemark::table_store::make_table_store);
}
