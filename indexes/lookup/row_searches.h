// The three ways from a lookup to entities: by the pieces of lists, by copies, and the rows of a summary.
#pragma once
#include <deque>
#include <memory>
#include <string_view>

#include "blob_store/client/blob_client.h"
#include "indexes/lookup/lookup_request.h"
#include "indexes/store/index_store.h"
#include "table_store/client/listing_client.h"

namespace tidemark::indexes {

/// An entity as it is stored, since most entities go into the answer without being decoded. If only the keys are
/// requested, the rest may be empty.
struct FoundEntity {
  std::string partition_key, row_key;
  table_store::Version version = 0;
  std::string_view block = {};  // of the properties (table_store/model/property_block.h)
};

struct FoundEntities {
  std::vector<FoundEntity> entities;
  std::deque<std::string> blocks;  // the memory of the entities' blocks
  std::uint64_t left_out = 0;      // entities in the rows that no longer match
  std::string continuation;        // empty at the end; a page may have no entities and still have a continuation
};

class Search {
 public:
  virtual ~Search() = default;
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual Task<Result<FoundEntities>> run() = 0;
};

/// The stores that a search reads; they outlive the search.
struct SearchStores {
  table_store::TableClient& tables;
  table_store::ListingClient& listings;
  blob_store::BlobClient* blobs;  // null if this process reaches no containers
  Clock& clock;
};
Result<std::unique_ptr<Search>> make_search(SearchStores stores, const Index& index, LookupRequest request);

}  // namespace tidemark::indexes
