// Finds entities by an index. The rows only tell where to look. An entity is read and compared with the request, unless
// the log has no change of it that the index has not processed; so no entity is found that no longer matches.
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
  FoundEntities found;  // for a summary: its rows
};

/// Thread safe.
class Lookup {
 public:
  /// `blobs`: null if this process reaches no containers.
  Lookup(table_store::TableClient& tables, table_store::ListingClient& listings, blob_store::BlobClient* blobs,
         IndexStore store, Clock& clock)
      : tables_(tables), listings_(listings), blobs_(blobs), store_(store), clock_(clock) {}

  /// Returns the status, which may be a moment old. kIndexNotFound.
  Task<Result<Status>> status(std::string name);
  /// `status` is the one for which the request was made. kDeadlineExceeded if the index does not become as fresh as the
  /// request wants within the time it gives; `give_up` ends the wait early. kInvalidQueryParameterValue for a
  /// continuation of another lookup. The time spent waiting for the index is added to `waited`.
  Task<Result<LookupAnswer>> find(Status status, LookupRequest request, std::function<bool()> give_up,
                                  Duration* waited = nullptr);

 private:
  /// The result of a read a moment ago, so that consecutive lookups need not ask each time how far the index is.
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
