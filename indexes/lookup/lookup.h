// Finds entities by an index. The rows only say where to look: each entity is read and compared with what was asked
// for, so none is found that does not match by now.
#pragma once
#include <functional>

#include "indexes/lookup/lookup_request.h"
#include "indexes/lookup/status.h"

namespace tidemark::indexes {

struct LookupAnswer {
  Status status;                              // before the rows were read
  std::vector<table_store::Entity> entities;  // of a summary: its rows
  std::uint64_t left_out = 0;                 // entities in the rows that do not match by now
  std::string continuation;                   // empty at the end; a page may be empty and still have one
};

class Lookup {
 public:
  Lookup(table_store::TableClient& tables, IndexStore& store, Clock& clock)
      : tables_(tables), store_(store), clock_(clock) {}

  /// kDeadlineExceeded if the index has not become as fresh as the request wants in the time it gives; `give_up` ends
  /// the wait early. kInvalidQueryParameterValue for a continuation of another lookup.
  Task<Result<LookupAnswer>> find(Index index, LookupRequest request, std::function<bool()> give_up);

 private:
  Task<Result<Status>> await_freshness(Index index, const LookupRequest& request, std::function<bool()> give_up);
  table_store::TableClient& tables_;
  IndexStore& store_;
  Clock& clock_;
};

}  // namespace tidemark::indexes
