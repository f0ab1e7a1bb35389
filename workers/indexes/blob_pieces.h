// The blobs of an index whose lists are in blobs. The rows of its pieces are a directory: each names the blob with the
// keys of its piece (indexes/rows/list_piece.h). No blob is written twice. A change of pieces goes
//   notes       of all blobs that are to come or to go, in the index's own partition 'blobs ID'
//   blobs       under new names
//   directory   the rows name them now
//   settling    of those noted, what no row names is removed; then the notes are
// each durable before the next. Whoever dies in between leaves notes, and the next owner settles them, so that no blob
// is left over and none is missed. An owner that was replaced writes none any more: the blob store has the fence, too.
// Used from one strand.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "indexes/store/piece_contents.h"
#include "workers/indexes/index_rows.h"
#include "workers/indexes/row_writer.h"

namespace tidemark::workers {

class BlobPieces {
 public:
  /// The context has a blob client.
  BlobPieces(IndexRowsContext context, const indexes::ListsKind& kind);

  /// From now on nothing takes effect that an earlier owner has sent, and nothing is left of what it did not end.
  Task<Result<void>> begin();
  /// The index is no more: nor are its blobs.
  Task<Result<void>> end();

  /// Reads the keys of as many of these rows, null or not, as are held in memory at once, from the first on; at least
  /// of one. Returns how many that are.
  Task<Result<std::size_t>> load(std::vector<Entity*> rows);
  /// As write_groups(), but the keys go into blobs. `replaced`: the rows that are changed or erased, as they are.
  Task<Result<std::vector<Outcomes>>> write(std::vector<table_store::PartitionMutations> groups,
                                            std::vector<const Entity*> replaced);
  /// Removes blobs of the index that no row names, from `from` on in the order of names.
  Task<Result<BlobSweep>> sweep(std::string from);

 private:
  /// A blob, and the row that names it, if any does.
  struct Note {
    std::string blob;
    jobs::EntityKey row;
    std::string row_key;  // of the note itself
  };
  struct NewBlob {
    std::string name, keys;
  };
  void take_keys(table_store::PartitionMutations& group, std::uint64_t version, std::vector<NewBlob>& blobs,
                 std::vector<Note>& notes) const;
  Task<Result<void>> put_notes(std::vector<Note> notes);
  Task<Result<void>> put_blobs(std::vector<NewBlob> blobs, table_store::Fence fence);
  Task<Result<void>> put_blob(NewBlob blob, table_store::Fence fence);
  Task<Result<void>> settle(std::vector<Note> notes);
  Task<Result<void>> settle_all();
  /// Those of the notes whose blobs no row names.
  Task<Result<std::vector<Note>>> unnamed(std::vector<Note> notes) const;
  /// Whose blobs were there.
  Task<Result<std::vector<Note>>> erase_blobs(std::vector<Note> notes);
  Task<Result<bool>> erase_blob(std::string name, table_store::Fence fence);

  IndexRowsContext context_;
  blob_store::BlobClient& blobs_;
  std::string container_, prefix_;
  bool closed_ = false;  // end() was reached before: no blob is left, and none can be written or removed
  indexes::PieceContents contents_;
};

}  // namespace tidemark::workers
