// Finds entities by an index. The rows only say where to look. An entity is read and compared with what was asked for,
// unless the log has no change of it that the index has not dealt with; so none is found that does not match by now.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "blob_store/client/blob_client.h"
#include "common/base/mutex.h"
#include "indexes/lookup/lookup_request.h"
#include "indexes/lookup/row_searches.h"
#include "indexes/lookup/status.h"

namespace tidemark::indexes {

struct LookupAnswer {
  Status status;        // before the rows were read
  FoundEntities found;  // of a summary: its rows
};

/// Thread safe.
class Lookup {
 public:
  /// `blobs`: null if this process reaches no containers.
  Lookup(table_store::TableClient& tables, table_store::ListingClient& listings, blob_store::BlobClient* blobs,
         IndexStore store, Clock& clock)
      : tables_(tables), listings_(listings), blobs_(blobs), store_(store), clock_(clock) {}

  /// It may be a moment old. kIndexNotFound.
  Task<Result<Status>> status(std::string name);
  /// `status` is what the request was made for. kDeadlineExceeded if the index has not become as fresh as the request
  /// wants in the time it gives; `give_up` ends the wait early. kInvalidQueryParameterValue for a continuation of
  /// another lookup. How long it waited for the index is added to `waited`.
  Task<Result<LookupAnswer>> find(Status status, LookupRequest request, std::function<bool()> give_up,
                                  Duration* waited = nullptr);

 private:
  /// What was read a moment ago, so that lookups one after the other need not ask how far the index is each time.
  class Recent {
   public:
    std::optional<Status> find(const std::string& name, Duration now) const;
    void set(const Status& status, Duration now);

   private:
    struct Entry {
      Status status;
      Duration at{};
    };
    mutable Mutex mutex_;
    std::map<std::string, Entry> entries_ GUARDED_BY(mutex_);
  };

  Task<Result<Status>> read_status(std::string name);
  Task<Result<Status>> await_freshness(Status status, const LookupRequest& request, std::function<bool()> give_up,
                                       Duration* waited);
  table_store::TableClient& tables_;
  table_store::ListingClient& listings_;
  blob_store::BlobClient* blobs_;
  IndexStore store_;
  Clock& clock_;
  std::shared_ptr<Recent> recent_ = std::make_shared<Recent>();
};

}  // namespace tidemark::indexes
