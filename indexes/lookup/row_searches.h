// The three ways from a lookup to entities: by the pieces of lists, by copies, and the rows of a summary.
#pragma once
#include <memory>

#include "blob_store/client/blob_client.h"
#include "indexes/lookup/lookup_request.h"
#include "indexes/store/index_store.h"

namespace tidemark::indexes {

struct FoundEntities {
  std::vector<table_store::Entity> entities;
  std::uint64_t left_out = 0;
  std::string continuation;
};

class Search {
 public:
  virtual ~Search() = default;
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual Task<Result<FoundEntities>> run() = 0;
};

/// What a search reads from; it outlives the search.
struct SearchStores {
  table_store::TableClient& tables;
  blob_store::BlobClient* blobs;  // null if this process reaches no containers
  Clock& clock;
};
Result<std::unique_ptr<Search>> make_search(SearchStores stores, const Index& index, LookupRequest request);

}  // namespace tidemark::indexes
