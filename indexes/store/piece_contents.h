// Reads what lists have in blobs. The row of a piece names its blob, which nobody changes: a piece that changes gets
// another blob, then its row names that, and then the first one goes. So whoever finds no blob reads the row again.
// Used from one strand.
#pragma once
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "table_store/client/table_client.h"

namespace tidemark::indexes {

/// The version of the original that these blobs claim to be copies of: older than any blob that was written otherwise,
/// so nothing that is not an index's is ever replaced or removed.
inline constexpr std::int64_t kPieceMark = 1;

class PieceContents {
 public:
  PieceContents(blob_store::BlobClient& blobs, Clock& clock, std::string container)
      : blobs_(blobs), clock_(clock), container_(std::move(container)) {}

  /// Gives each of these rows the keys of its piece, as lists in tables have them (list_piece.h). A row whose blob is
  /// not there, or is not an index's, stays as it is.
  Task<Result<void>> add_keys(std::vector<table_store::Entity*> rows);
  /// A page of rows with their keys; what has been replaced meanwhile is read again. kServerBusy if that does not end.
  Task<Result<table_store::QueryPage>> read(table_store::TableClient& tables, table_store::QueryRequest request);

 private:
  Task<Result<void>> add_keys_of(table_store::Entity* row);
  blob_store::BlobClient& blobs_;
  Clock& clock_;
  std::string container_;
};

}  // namespace tidemark::indexes
