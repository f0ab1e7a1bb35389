// The blob store process: wiring only.
#include "blob_store/rest/blob_store_app.h"

int main(int argc, char** argv) {
  const tidemark::service::StoreDescription description{"blob_store", "blob", 10000,
                                                        "Stores block blobs and speaks the Azure blob protocol.",
                                                        tidemark::kv::FadingRows{{"L", "M"}, "l"}};
  return tidemark::service::run_store(argc, argv, description, tidemark::blob_store::make_blob_store);
}
