#include "indexes/lookup/list_search.h"

#include <algorithm>

#include "table_store/model/entity_view.h"
#include "table_store/model/group_text.h"
#include "table_store/model/text_order.h"

namespace tidemark::indexes {
namespace {

using jobs::EntityKey;
using table_store::Entity;

class ListSearch final : public Search {
 public:
  ListSearch(Source source, std::optional<PieceContents> contents, const Index& index, std::vector<GroupRange> ranges,
             std::optional<EntryPlace> resume, const LookupRequest& request)
      : source_(std::move(source)),
        contents_(std::move(contents)),
        by_(std::get<ListsKind>(index.definition.kind).by),
        index_id_(index.id),
        keys_only_(request.keys_only),
        ranges_(std::move(ranges)),
        rows_(index, request),
        page_(request.top),
        place_(std::move(resume)) {}

  Task<Result<FoundEntities>> run() override {
    for (auto range = place_ ? place_->range : 0; range < ranges_.size(); ++range) {
      range_ = range;
      CO_TRY(co_await search_range());
      if (page_.full()) co_return page_.finish(place_ ? text_of(*place_) : std::string());
      place_.reset();
    }
    co_return page_.finish({});
  }

 private:
  [[nodiscard]] const GroupRange& range() const { return ranges_[range_]; }

  Task<Result<void>> search_range() {
    if (range().whole) {
      if (!place_ && !contents_ && CO_TRY(co_await search_beginning())) co_return Result<void>{};
      co_return co_await search(rows_.pieces_of(range().beginning(), place_ ? place_->entry.hash() : 0));
    }
    if (!place_) co_return co_await search(rows_.pieces_in(range(), by_.size()));
    const auto group = place_->group;
    if (rows_.in_partition()) {
      auto rest = rows_.pieces_in(range(), by_.size());
      rest.filter += " and RowKey ge " + literal(first_row_of_place());
      co_return co_await search(std::move(rest));
    }
    CO_TRY(co_await search(rows_.pieces_of(group, place_->entry.hash())));
    if (page_.full()) co_return Result<void>{};
    co_return co_await search(rows_.pieces_behind(group, range(), by_.size()));
  }

  /// Searches one group from its beginning. One call reads the pieces, the listed entities, and the proof that the
  /// lists are right. Returns false if the search must go on from `place_`: there is more, or the proof is missing.
  Task<Result<bool>> search_beginning() {
    const auto place = rows_.place_of(range().beginning());
    table_store::ListedRequest request;
    request.table = rows_.table();
    request.rows = {place.partition_key, place.row_key(0), place.end()};
    request.property = kListForm.keys;
    request.follower = index_id_;
    request.entities = source_.table;
    request.most = static_cast<std::uint32_t>(std::min<std::size_t>(page_.left(), table_store::kMaxListed));
    request.all = !keys_only_;
    request.selection = source_.selection;
    request.beside = place_of_progress(index_id_);
    auto answer = co_await source_.listings.find_listed(std::move(request));
    // There are no rows under a key that no entity can have.
    if (answer.failed_with(ErrorCode::kTableNotFound) || answer.failed_with(ErrorCode::kOutOfRangeInput)) {
      co_return true;
    }
    auto listed = CO_TRY(std::move(answer));
    const bool proves = is_ready(listed.beside);
    if (keys_only_ && !proves) co_return false;
    const auto blocks = page_.keep(std::move(listed.blocks));
    for (const auto& [row, entities] : listed.rows) {
      const auto piece = read_piece(row);
      if (!piece || !range().admits(piece->group, by_.size())) continue;
      const auto& entries = piece->entries;
      const auto seen = std::min(entries.size(), entities.size());
      std::size_t next = 0;
      for (; next < seen && !page_.full(); ++next) {
        judge_listed(piece->group, entries[next], entities[next], blocks, proves);
      }
      if (next > 0) place_ = EntryPlace{range_, piece->group, entries[next - 1], row.row_key};
      if (page_.full()) co_return true;
      if (seen < entries.size()) co_return false;
    }
    co_return !listed.more;
  }

  void judge_listed(const std::string& group, const ListEntry& entry, const table_store::ListedEntity& listed,
                    std::string_view blocks, bool proves) {
    table_store::EntityView view;
    view.partition_key = entry.partition_key;
    view.row_key = entry.row_key;
    if (listed.now) view.version = listed.now->version;
    if (listed.now) view.block = block_in(blocks, *listed.now);
    if (proves && listed.settled && (listed.now || keys_only_)) {
      return page_.add(FoundEntity{entry.partition_key, entry.row_key, view.version, view.block});
    }
    std::optional<Entity> entity;
    if (listed.now && table_store::is_property_block(view.block)) entity = view.to_entity();
    if (entity && !source_.filter.matches(*entity)) entity.reset();
    judge(group, std::move(entity));
  }

  /// Returns the row to go on from. The piece may have been divided since, or have joined the next one.
  [[nodiscard]] std::string first_row_of_place() const {
    const auto digits = GroupPlace{}.row_key(place_->entry.hash());
    return place_->row_key.substr(0, place_->row_key.size() - std::min(digits.size(), place_->row_key.size())) + digits;
  }

  Task<Result<void>> search(QueryRequest request) {
    do {
      // A piece whose keys were seen may have joined the next one since.
      const auto resume = place_;
      auto read = co_await (contents_ ? contents_->read(source_.tables, request) : source_.tables.query(request));
      if (read.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};
      auto rows = CO_TRY(std::move(read));
      request.continuation = table_store::text_behind(rows);
      std::vector<EntryPlace> places;
      for (const auto& row : rows.entities) add_entries(row, resume, places);
      CO_TRY(co_await look_at(std::move(places)));
    } while (!request.continuation.empty() && !page_.full());
    co_return Result<void>{};
  }

  void add_entries(const Entity& row, const std::optional<EntryPlace>& resume, std::vector<EntryPlace>& places) const {
    auto piece = read_piece(row);
    if (!piece || !range().admits(piece->group, by_.size())) return;
    const bool same = resume && resume->group == piece->group;
    const bool seen =
        resume && !same && rows_.in_partition() && table_store::compare_ordinal(row.row_key, resume->row_key) <= 0;
    if (seen) return;
    const auto behind = [&](const ListEntry& entry) {
      const auto& before = resume->entry;
      if (entry.hash() != before.hash()) return entry.hash() > before.hash();
      return std::tie(entry.partition_key, entry.row_key) > std::tie(before.partition_key, before.row_key);
    };
    for (auto& entry : piece->entries) {
      if (same && !behind(entry)) continue;
      places.push_back({range_, piece->group, std::move(entry), row.row_key});
    }
  }

  Task<Result<void>> look_at(std::vector<EntryPlace> places) {
    for (std::size_t done = 0; done < places.size() && !page_.full();) {
      const auto end = std::min(places.size(), done + page_.room());
      std::vector<EntityKey> keys;
      for (auto i = done; i < end; ++i) keys.push_back({places[i].entry.partition_key, places[i].entry.row_key});
      auto entities = CO_TRY(co_await source_.read(std::move(keys)));
      for (auto i = done; i < end; ++i) judge(places[i].group, std::move(entities[i - done]));
      done = end;
      place_ = places[done - 1];
    }
    co_return Result<void>{};
  }

  void judge(const std::string& group, std::optional<Entity> entity) {
    const auto values = entity ? values_of(by_, *entity) : std::nullopt;
    const bool in_group =
        values && table_store::group_of(by_, entity->partition_key, entity->row_key, entity->properties) == group;
    if (!in_group) {
      page_.leave_out();
    } else if (range().admits(*values)) {
      page_.add(std::move(*entity));
    } else {
      page_.look();  // a value of another type with the same text
    }
  }

  Source source_;
  std::optional<PieceContents> contents_;  // set if the lists are in blobs
  std::vector<std::string> by_;
  std::string index_id_;
  bool keys_only_;
  std::vector<GroupRange> ranges_;
  GroupRows rows_;
  Page page_;
  std::size_t range_ = 0;
  std::optional<EntryPlace> place_;  // the next page begins behind it
};

}  // namespace

std::unique_ptr<Search> make_list_search(Source source, std::optional<PieceContents> contents, const Index& index,
                                         std::vector<GroupRange> ranges, std::optional<EntryPlace> resume,
                                         const LookupRequest& request) {
  return std::make_unique<ListSearch>(std::move(source), std::move(contents), index, std::move(ranges),
                                      std::move(resume), request);
}

}  // namespace tidemark::indexes
