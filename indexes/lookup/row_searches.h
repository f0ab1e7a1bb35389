// The three ways from a lookup to entities: by the pieces of lists, by copies, and the rows of a summary.
#pragma once
#include <memory>

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

/// The search lives no longer than the client.
Result<std::unique_ptr<Search>> make_search(table_store::TableClient& tables, const Index& index,
                                            LookupRequest request);

}  // namespace tidemark::indexes
