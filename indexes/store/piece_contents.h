// Reads the contents of lists in blobs. The row of a piece names its blob, which nobody changes: a piece that changes
// gets another blob, then its row names the new one, and then the first one is removed. So a reader that finds no blob
// reads the row again. Used from one strand.
#pragma once
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "table_store/client/table_client.h"

namespace tidemark::indexes {

/// The version of the original of which these blobs claim to be copies: older than that of any other blob, so only
/// blobs of an index are ever replaced or removed.
inline constexpr std::int64_t kPieceMark = 1;

class PieceContents {
 public:
  PieceContents(blob_store::BlobClient& blobs, Clock& clock, std::string container)
      : blobs_(blobs), clock_(clock), container_(std::move(container)) {}

  /// Gives each of these rows the keys of its piece, in the form of lists in tables (list_piece.h). A row whose blob is
  /// missing, or does not belong to an index, stays as it is.
  Task<Result<void>> add_keys(std::vector<table_store::Entity*> rows);
  /// Reads a page of rows with their keys; rows that were replaced meanwhile are read again. kServerBusy if that does
  /// not end.
  Task<Result<table_store::QueryPage>> read(table_store::TableClient& tables, table_store::QueryRequest request);

 private:
  Task<Result<void>> add_keys_of(table_store::Entity* row);
  blob_store::BlobClient& blobs_;
  Clock& clock_;
  std::string container_;
};

}  // namespace tidemark::indexes
