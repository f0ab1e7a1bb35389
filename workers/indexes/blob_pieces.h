// The blobs of an index that keeps its lists in blobs. The rows of its pieces are a directory: each names the blob with
// the keys of its piece (indexes/rows/list_piece.h). No blob is written twice. A change of pieces takes these steps:
//   notes       one for each blob that will be added or removed, in the index's own partition 'blobs ID'
//   blobs       written under new names
//   directory   the rows name the new blobs
//   settling    removes the noted blobs that no row names, then the notes
// each durable before the next. An owner that dies in between leaves its notes, and the next owner settles them, so
// that no blob is left over and none is missing. An owner that was replaced writes no more blobs: the blob store checks
// the fence, too. Used from one strand.
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
  /// The context must have a blob client.
  BlobPieces(IndexRowsContext context, const indexes::ListsKind& kind);

  /// From now on the requests of earlier owners have no effect, and their unfinished changes are settled.
  Task<Result<void>> begin();
  /// Removes the blobs of an index that was removed.
  Task<Result<void>> end();

  /// Reads the keys of the first rows (each of which may be null), as many as fit into memory at once, but at least one
  /// row. Returns how many rows it has read.
  Task<Result<std::size_t>> load(std::vector<Entity*> rows);
  /// Like write_groups(), but the keys go into blobs. `replaced`: the rows that are changed or erased, as they are now.
  Task<Result<std::vector<Outcomes>>> write(std::vector<table_store::PartitionMutations> groups,
                                            std::vector<const Entity*> replaced);
  /// Removes blobs of the index that no row names, in the order of names, beginning at `from`.
  Task<Result<BlobSweep>> sweep(std::string from);

 private:
  /// A blob, and the row that names it, if there is one.
  struct Note {
    std::string blob;
    jobs::EntityKey row;
    std::string row_key;  // the key of the note itself
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
  /// Returns the notes whose blobs no row names.
  Task<Result<std::vector<Note>>> unnamed(std::vector<Note> notes) const;
  /// Erases the blobs of the notes, and returns the notes whose blobs existed.
  Task<Result<std::vector<Note>>> erase_blobs(std::vector<Note> notes);
  Task<Result<bool>> erase_blob(std::string name, table_store::Fence fence);

  IndexRowsContext context_;
  blob_store::BlobClient& blobs_;
  std::string container_, prefix_;
  bool closed_ = false;  // end() was reached before: no blob is left, and none can be written or removed
  indexes::PieceContents contents_;
};

}  // namespace tidemark::workers
