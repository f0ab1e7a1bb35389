// Rows of the kinds `lists` and `summary` (indexes/rows/list_piece.h). The entities' keys are put into and taken out of
// the pieces of their groups. Each piece takes one search and one write, however many of its keys change. Only the
// owner writes pieces, one write of a group at a time, so it replaces exactly the rows that it has read. Private to
// this folder.
#pragma once
#include <span>

#include "common/base/encoding.h"
#include "indexes/rows/group_totals.h"
#include "workers/indexes/blob_pieces.h"
#include "workers/indexes/group_work.h"
#include "workers/indexes/index_kinds.h"

namespace tidemark::workers {

using indexes::GroupTotals;
using table_store::Mutation;
using table_store::Origin;
using table_store::PartitionMutations;
using table_store::Version;

/// A piece with some of its group's changes made.
struct PieceChange {
  GroupWork* work = nullptr;
  /// The rows that it replaces, as they were read: its own, unless it is new, and those of neighbours that it joins.
  std::vector<Entity> rows;
  Version as_of = 0;     // the version at which they were read
  ListPiece piece;       // the new contents
  bool visited = false;  // only to be joined; none of its keys change
  Wrong changed;
  GroupTotals before;             // of the rows as they were read; only the count, unless there are sums
  std::optional<Entity> summary;  // of the group
  bool has_others_below = false;  // there is a row below, perhaps of another group

  /// Tells whether the group has or had several entities, or may have or have had some in other pieces.
  [[nodiscard]] bool shares() const {
    return before.count > 1 || piece.entries.size() > 1 || piece.bound != ListPiece{}.bound || has_others_below;
  }
  [[nodiscard]] std::vector<std::string> row_keys() const;
};

class ListRows final : public IndexRows {
 public:
  ListRows(IndexRowsContext context, Listing listing)
      : context_(context),
        entities_(context.index.definition.entities()),
        listing_(std::move(listing)),
        table_(listing_.table),
        in_partition_(listing_.in_partition),
        unique_(listing_.unique),
        sums_(listing_.sums) {}

  Task<Result<Wrong>> reconcile(std::vector<ChangedEntity> changed) override;
  std::unique_ptr<Gathering> gather() override;
  Task<Result<Wrong>> check(std::vector<Entity> rows) override;
  Task<Result<void>> erase(std::vector<Entity> rows) override;
  [[nodiscard]] std::string table() const override { return table_; }
  [[nodiscard]] std::string row_filter() const override { return listing_.row_filter; }
  [[nodiscard]] std::uint32_t rows_at_once() const override { return listing_.blobs ? 32 : 8; }
  Task<Result<void>> begin() override;
  Task<Result<void>> end() override;
  [[nodiscard]] bool has_blobs() const override { return listing_.blobs != nullptr; }
  Task<Result<BlobSweep>> check_blobs(std::string from) override;
  [[nodiscard]] bool has_notes() const override { return unique_; }
  Task<Result<std::string>> check_notes(std::string from) override;

 private:
  /// The keys of a walk's entities, by group.
  class Keys;

  [[nodiscard]] std::optional<std::string> group_of(const Entity& entity) const { return listing_.group_of(entity); }
  [[nodiscard]] GroupPlace place_of(const ListPiece& piece, const Entity& row) const;
  [[nodiscard]] GroupPlace place_of(const std::string& group, const std::string& partition_key) const {
    return listing_.place_of(group, partition_key);
  }
  [[nodiscard]] ListEntry entry_of(const Entity& entity) const;
  [[nodiscard]] bool in_source() const { return iequals_ascii(table_, entities_); }
  [[nodiscard]] Origin mark() const { return {context_.index.id, "", ""}; }
  Task<Result<Wrong>> make(std::vector<GroupWork> works);
  /// Returns the same number of searches for each of these groups: for its piece, a piece below, and its summary, as
  /// far as they are needed.
  [[nodiscard]] std::vector<table_store::RowSearch> searches_for(const std::vector<GroupWork*>& works,
                                                                 bool looks_below) const;
  /// Makes one step of each of these groups.
  Task<Result<Wrong>> make_round(std::vector<GroupWork*> works);
  std::optional<PieceChange> begin_piece(GroupWork& work, std::optional<Entity> row) const;
  void let_go(PieceChange& change) const;
  [[nodiscard]] GroupTotals totals_of(const std::vector<ListEntry>& entries) const;
  /// The rows of the pieces on both sides of one.
  struct Neighbours {
    std::optional<Entity> below, above;
  };
  [[nodiscard]] bool may_join(const PieceChange& change) const;
  /// Joins each of these pieces with those of its neighbours that fit. Returns how many it has dealt with, from the
  /// first on.
  Task<Result<std::size_t>> join_neighbours(std::span<PieceChange> small) const;
  /// Leaves out the neighbours that the piece is not to be joined with.
  void leave_out_large(const PieceChange& change, Neighbours& neighbours) const;
  void join(PieceChange& change, Entity row) const;
  /// Returns the pieces that a scrub must visit, because they and the pieces behind them may fit into one.
  [[nodiscard]] std::vector<GroupWork> small_pieces(const std::vector<ListPiece>& pieces,
                                                    const std::vector<Entity>& rows) const;
  /// Reads the keys of the pieces from their blobs. Cuts off the rows that are too many for one round.
  Task<Result<void>> load(std::vector<std::optional<Entity>>& rows, std::size_t searches_of_each) const;
  Task<Result<std::vector<Outcomes>>> write(std::vector<PartitionMutations>& groups,
                                            const std::vector<PieceChange>& changes);
  Task<Result<PartitionMutations>> mutations_of(const PieceChange& change) const;
  Task<Result<void>> sum_up(const PieceChange& change, PartitionMutations& out) const;
  struct OtherPieces {
    GroupTotals totals;
    std::vector<ListEntry> some;  // unless they are in blobs
  };
  /// Returns the totals of all pieces of the group except those in the rows `but`.
  Task<Result<OtherPieces>> other_pieces(GroupPlace place, std::vector<std::string> but) const;
  [[nodiscard]] Mutation put(std::string row_key, Version as_of, std::vector<table_store::Property> properties) const;
  [[nodiscard]] Mutation erasure(std::string row_key) const;
  struct Judgement {
    std::string group;
    std::optional<indexes::Violation> violation;
  };
  /// A piece of a group, as seen in its row.
  struct SeenPiece {
    GroupPlace place;
    std::string group;
    bool violates = false;
    bool is_last = false;
  };
  [[nodiscard]] std::string name_of_group(const GroupPlace& place, const std::string& group) const;
  Task<Result<Judgement>> judge_uniqueness(GroupPlace place, std::string group, std::span<const ListEntry> entries,
                                           std::vector<std::string> pieces) const;
  Task<Result<void>> note_violations(const std::vector<PieceChange>& changes);
  Task<Result<void>> note_judged(std::vector<Judgement> judged);
  Task<Result<void>> check_violations(std::vector<SeenPiece> seen);
  [[nodiscard]] std::optional<SeenPiece> group_in_note(const indexes::Violation& violation) const;
  Task<Result<Wrong>> check_pieces(std::vector<Entity> rows);
  Task<Result<Wrong>> check_some(std::vector<Entity> rows);
  [[nodiscard]] bool is_misplaced(const Entity& row) const;
  /// Erases misplaced rows, and rows whose blobs are missing, and takes them out of `rows`.
  Task<Result<Wrong>> erase_lost(std::vector<Entity>& rows);
  Task<Result<Wrong>> check_summary(std::string group);

  IndexRowsContext context_;
  std::string entities_;  // the table of the listed entities
  Listing listing_;
  std::string table_;
  bool in_partition_;
  bool unique_;
  bool sums_;
};

}  // namespace tidemark::workers
