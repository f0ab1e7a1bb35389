// Rows of the kinds `lists` and `summary` (indexes/rows/list_piece.h). The entities' keys are put into and taken out of
// the pieces of their groups: for each piece one search and one write, whatever number of its keys change. Only the
// owner writes pieces, one write of a group at a time, so what it has read is what it replaces. Private to this folder.
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
  std::optional<Entity> row;  // as it is; nothing: it is new
  ListPiece piece;            // as it is to be
  Wrong changed;
  GroupTotals before;
  std::optional<Entity> summary;  // the group's
  bool has_others_below = false;  // or may have

  /// The group has several entities, or had, or may have or have had some in other pieces.
  [[nodiscard]] bool shares() const {
    return before.count > 1 || piece.entries.size() > 1 || piece.bound != ListPiece{}.bound || has_others_below;
  }
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

 private:
  /// Of the entities of a walk, their keys by group.
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
  /// One step of each of these groups.
  Task<Result<Wrong>> make_round(std::vector<GroupWork*> works);
  std::optional<PieceChange> begin_piece(GroupWork& work, std::optional<Entity> row) const;
  void let_go(PieceChange& change) const;
  /// Cuts off what is too much for one round.
  Task<Result<void>> load(std::vector<std::optional<Entity>>& rows, std::size_t searches_of_each) const;
  Task<Result<std::vector<Outcomes>>> write(std::vector<PartitionMutations>& groups,
                                            const std::vector<PieceChange>& changes);
  Task<Result<PartitionMutations>> mutations_of(const PieceChange& change, Version as_of) const;
  Task<Result<void>> sum_up(const PieceChange& change, Version as_of, PartitionMutations& out) const;
  struct OtherPieces {
    GroupTotals totals;
    std::vector<ListEntry> some;  // unless they are in blobs
  };
  /// All pieces of the group but one.
  Task<Result<OtherPieces>> other_pieces(GroupPlace place, std::optional<std::string> but) const;
  [[nodiscard]] Mutation put(std::string row_key, Version as_of, std::vector<table_store::Property> properties) const;
  [[nodiscard]] Mutation erasure(std::string row_key) const;
  struct Judgement {
    std::string group;
    std::optional<indexes::Violation> violation;
  };
  /// What a row says of its group.
  struct SeenPiece {
    GroupPlace place;
    std::string group;
    bool violates = false;
    bool is_last = false;
  };
  [[nodiscard]] std::string name_of_group(const GroupPlace& place, const std::string& group) const;
  Task<Result<Judgement>> judge_uniqueness(GroupPlace place, std::string group, std::span<const ListEntry> entries,
                                           std::optional<std::string> piece) const;
  Task<Result<void>> note_violations(const std::vector<PieceChange>& changes);
  Task<Result<void>> note_judged(std::vector<Judgement> judged);
  Task<Result<void>> check_violations(std::vector<SeenPiece> seen);
  Task<Result<Wrong>> check_pieces(std::vector<Entity> rows);
  Task<Result<Wrong>> check_some(std::vector<Entity> rows);
  [[nodiscard]] bool is_misplaced(const Entity& row) const;
  /// Takes them out of the rows.
  Task<Result<Wrong>> erase_lost(std::vector<Entity>& rows);
  Task<Result<Wrong>> check_summary(std::string group);

  IndexRowsContext context_;
  std::string entities_;  // the table of what is listed
  Listing listing_;
  std::string table_;
  bool in_partition_;
  bool unique_;
  bool sums_;
};

}  // namespace tidemark::workers
