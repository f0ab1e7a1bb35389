// The common parts of the searches of lookups. Private to this folder.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "indexes/lookup/row_searches.h"
#include "indexes/rows/list_piece.h"
#include "indexes/store/followed_rows.h"
#include "jobs/spec/selection.h"
#include "jobs/store/rows.h"
#include "table_store/client/table_client.h"
#include "table_store/model/filter.h"

namespace tidemark::indexes {

using jobs::literal;
using table_store::QueryRequest;
using table_store::TableClient;

std::string keys_between(std::string_view from, std::string_view before);

/// The place of an entry of a list, behind which a lookup continues.
struct EntryPlace {
  std::size_t range = 0;
  std::string group;
  ListEntry entry;
  std::string row_key;  // of its piece
};

/// The continuation of a lookup.
std::string text_of(const EntryPlace& place);
std::unexpected<Error> strange_continuation();
Result<std::optional<EntryPlace>> place_in(const std::string& text, std::size_t ranges);

/// Tells whether the index is ready: while an index is built, again or for the first time, its rows may be out of date.
bool is_ready(const std::optional<table_store::Entity>& progress);

/// The table, and the entities of it that may be found.
struct Source {
  TableClient& tables;
  table_store::ListingClient& listings;
  std::string table;
  table_store::Filter filter;
  table_store::Selection selection;

  [[nodiscard]] Task<Result<std::vector<std::optional<table_store::Entity>>>> read(
      std::vector<jobs::EntityKey> keys) const;
};

/// A page that is being filled.
class Page {
 public:
  explicit Page(std::uint32_t top) : top_(top) {}
  [[nodiscard]] bool full() const;
  /// Returns how many more entities the page can take.
  [[nodiscard]] std::size_t left() const { return full() ? 0 : top_ - found_.entities.size(); }
  /// Returns how many more entities to look at in one read.
  [[nodiscard]] std::size_t room() const;
  /// The entity's block must be in memory that the page keeps.
  void add(FoundEntity entity);
  void add(table_store::Entity entity);
  std::string_view keep(std::string blocks) { return found_.blocks.emplace_back(std::move(blocks)); }
  void leave_out() {
    ++looked_at_;
    ++found_.left_out;
  }
  void look() { ++looked_at_; }
  FoundEntities finish(std::string continuation) {
    found_.continuation = std::move(continuation);
    return std::move(found_);
  }

 private:
  std::size_t top_;
  std::size_t looked_at_ = 0;
  std::size_t bytes_ = 0;
  FoundEntities found_;
};

/// Computes the keys of the rows of groups.
class GroupRows {
 public:
  GroupRows(const Index& index, const LookupRequest& request);

  [[nodiscard]] bool in_partition() const { return partition_.has_value(); }
  [[nodiscard]] const std::string& table() const { return rows_.table; }
  [[nodiscard]] GroupPlace place_of(const std::string& group) const {
    return partition_ ? group_in_partition(name_, *partition_, group) : group_across(before_group_ + group);
  }
  /// Selects the pieces of one group, beginning at this hash.
  [[nodiscard]] QueryRequest pieces_of(const std::string& group, std::uint64_t hash) const;
  /// Selects all pieces of a range of groups.
  [[nodiscard]] QueryRequest pieces_in(const GroupRange& range, std::size_t properties) const;
  /// Selects the pieces of a range behind a group that is finished.
  [[nodiscard]] QueryRequest pieces_behind(const std::string& group, const GroupRange& range,
                                           std::size_t properties) const;
  [[nodiscard]] QueryRequest summaries(const std::string& after, const GroupRange& range, std::size_t properties) const;

 private:
  [[nodiscard]] QueryRequest with(std::string filter) const;
  [[nodiscard]] std::string partitions(const char* relation, const std::string& first, const std::string& before) const;
  static std::string of_pieces();

  std::string name_;
  std::optional<std::string> partition_;
  std::string before_group_;  // in the key of the partition
  QueryRequest rows_;
};

}  // namespace tidemark::indexes
