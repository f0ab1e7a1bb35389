#include "indexes/lookup/row_searches.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "indexes/rows/group_text.h"
#include "indexes/rows/list_piece.h"
#include "indexes/store/piece_contents.h"
#include "indexes/store/read_entities.h"
#include "jobs/spec/key_template.h"
#include "table_store/model/filter.h"

namespace tidemark::indexes {
namespace {

using jobs::EntityKey;
using nlohmann::json;
using table_store::Entity;
using table_store::QueryRequest;
using table_store::TableClient;

// What bounds the work and the memory of one lookup.
constexpr std::uint32_t kPiecesAtOnce = 32;
constexpr std::uint32_t kBlobPiecesAtOnce = 8;
constexpr std::size_t kEntitiesAtOnce = 100;
constexpr std::size_t kMostLookedAt = 5000;
constexpr std::size_t kMostBytes = 8UL << 20;
constexpr std::string_view kLast = "\xEF\xBF\xBF";

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string keys_between(std::string_view from, std::string_view before) {
  return " and RowKey ge " + literal(from) + " and RowKey lt " + literal(before);
}

/// The entry of a list, and where it stands: a lookup goes on behind it.
struct Place {
  std::size_t range = 0;
  std::string group;
  ListEntry entry;
  std::string row_key;  // of its piece
};

std::string text_of(const Place& place) {
  const auto parts =
      json::array({place.range, place.group, place.entry.partition_key, place.entry.row_key, place.row_key});
  return base64_encode(parts.dump());
}

std::unexpected<Error> strange_continuation() {
  return fail(ErrorCode::kInvalidQueryParameterValue, "continuation is not one of this lookup.");
}

Result<std::optional<Place>> place_in(const std::string& text, std::size_t ranges) {
  if (text.empty()) return std::nullopt;
  const auto parts = json_or_discarded(base64_decode(text).value_or(""));
  if (!parts.is_array() || parts.size() != 5 || !parts[0].is_number_unsigned()) return strange_continuation();
  if (!std::all_of(parts.begin() + 1, parts.end(), [](const json& part) { return part.is_string(); }) ||
      parts[0].get<std::uint64_t>() >= ranges) {
    return strange_continuation();
  }
  Place place{parts[0].get<std::size_t>(), parts[1].get<std::string>(), {}, parts[4].get<std::string>()};
  place.entry = {parts[2].get<std::string>(), parts[3].get<std::string>()};
  return place;
}

/// Which entities of the table may be found.
struct Source {
  TableClient& tables;
  std::string table;
  table_store::Filter filter;
  table_store::Selection selection;

  Task<Result<std::vector<std::optional<Entity>>>> read(std::vector<EntityKey> keys) const {
    auto read = CO_TRY(co_await read_entities(tables, table, std::move(keys), selection));
    for (auto& entity : read) {
      if (entity && !filter.matches(*entity)) entity.reset();
    }
    co_return read;
  }
};

std::size_t bytes_of(const table_store::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->size();
  const auto* binary = std::get_if<table_store::Binary>(&value);
  return binary != nullptr ? binary->bytes.size() : sizeof value;
}

/// A page that is being filled.
class Page {
 public:
  explicit Page(std::uint32_t top) : top_(top) {}
  [[nodiscard]] bool full() const {
    return found_.entities.size() >= top_ || bytes_ >= kMostBytes || looked_at_ >= kMostLookedAt;
  }
  /// How many more to look at.
  [[nodiscard]] std::size_t room() const {
    return full() ? 0 : std::min(kEntitiesAtOnce, top_ - found_.entities.size());
  }
  void add(Entity entity) {
    for (const auto& property : entity.properties) bytes_ += property.name.size() + bytes_of(property.value);
    ++looked_at_;
    found_.entities.push_back(std::move(entity));
  }
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

/// Where the rows of groups are in keys.
class GroupRows {
 public:
  GroupRows(const Index& index, const LookupRequest& request) : name_(index.name), partition_(request.partition) {
    rows_.table = index.definition.destination();
    rows_.follower = index.id;
    rows_.top = kPiecesAtOnce;
    const auto* lists = std::get_if<ListsKind>(&index.definition.kind);
    if (lists == nullptr || lists->where != ListsKind::Where::kBlobs) return;
    rows_.table = std::string(kIndexTable);
    rows_.top = kBlobPiecesAtOnce;
    before_group_ = lists_of(index.id) + " ";
  }

  [[nodiscard]] bool in_partition() const { return partition_.has_value(); }

  /// The pieces of one group from this hash on.
  [[nodiscard]] QueryRequest pieces_of(const std::string& group, std::uint64_t hash) const {
    const auto place = partition_ ? group_in_partition(name_, *partition_, group) : group_across(before_group_ + group);
    return with("PartitionKey eq " + literal(place.partition_key) + keys_between(place.row_key(hash), place.end()));
  }
  /// All pieces of a range of groups.
  [[nodiscard]] QueryRequest pieces_in(const GroupRange& range, std::size_t properties) const {
    const auto keys = range.place(partition_ ? '_' : '\0', properties);
    const auto prefix = name_ + "_";
    if (!partition_) return with(partitions("ge", keys.first, keys.before) + of_pieces());
    return with("PartitionKey eq " + literal(*partition_) + keys_between(prefix + keys.first, prefix + keys.before));
  }
  /// Likewise behind a group that is done with.
  [[nodiscard]] QueryRequest pieces_behind(const std::string& group, const GroupRange& range,
                                           std::size_t properties) const {
    return with(partitions("gt", group, range.place('\0', properties).before) + of_pieces());
  }
  [[nodiscard]] QueryRequest summaries(const std::string& after, const GroupRange& range,
                                       std::size_t properties) const {
    const auto keys = range.place('\0', properties);
    const auto groups = range.whole
                            ? "PartitionKey eq " + literal(keys.first)
                            : partitions(after.empty() ? "ge" : "gt", after.empty() ? keys.first : after, keys.before);
    return with(groups + " and RowKey eq " + literal(kSummaryRow));
  }

 private:
  [[nodiscard]] QueryRequest with(std::string filter) const {
    auto request = rows_;
    request.filter = std::move(filter);
    return request;
  }
  [[nodiscard]] std::string partitions(const char* relation, const std::string& first,
                                       const std::string& before) const {
    return "PartitionKey " + std::string(relation) + " " + literal(before_group_ + first) + " and PartitionKey lt " +
           literal(before_group_ + before);
  }
  static std::string of_pieces() {
    const auto place = group_across("");
    return keys_between(place.row_prefix, place.end());
  }

  std::string name_;
  std::optional<std::string> partition_;
  std::string before_group_;  // in the key of the partition
  QueryRequest rows_;
};

class ListSearch final : public Search {
 public:
  ListSearch(Source source, std::optional<PieceContents> contents, const Index& index, std::vector<GroupRange> ranges,
             std::optional<Place> resume, const LookupRequest& request)
      : source_(std::move(source)),
        contents_(std::move(contents)),
        by_(std::get<ListsKind>(index.definition.kind).by),
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
    if (range().whole)
      co_return co_await search(rows_.pieces_of(range().beginning(), place_ ? place_->entry.hash() : 0));
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

  /// The piece may have been divided since.
  [[nodiscard]] std::string first_row_of_place() const {
    const auto digits = GroupPlace{}.row_key(place_->entry.hash());
    return place_->row_key.substr(0, place_->row_key.size() - std::min(digits.size(), place_->row_key.size())) + digits;
  }

  Task<Result<void>> search(QueryRequest request) {
    const auto resume = place_;
    do {
      auto read = co_await (contents_ ? contents_->read(source_.tables, request) : source_.tables.query(request));
      if (read.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};
      auto rows = CO_TRY(std::move(read));
      request.continuation = std::move(rows.continuation);
      std::vector<Place> places;
      for (const auto& row : rows.entities) add_entries(row, resume, places);
      CO_TRY(co_await look_at(std::move(places)));
    } while (!request.continuation.empty() && !page_.full());
    co_return Result<void>{};
  }

  void add_entries(const Entity& row, const std::optional<Place>& resume, std::vector<Place>& places) const {
    auto piece = read_piece(row);
    if (!piece || !range().admits(piece->group, by_.size())) return;
    const bool same = resume && resume->group == piece->group;
    if (resume && !same && rows_.in_partition() && row.row_key <= resume->row_key) return;
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

  Task<Result<void>> look_at(std::vector<Place> places) {
    for (std::size_t done = 0; done < places.size() && !page_.full();) {
      const auto end = std::min(places.size(), done + page_.room());
      std::vector<EntityKey> keys;
      for (auto i = done; i < end; ++i) keys.push_back({places[i].entry.partition_key, places[i].entry.row_key});
      auto entities = CO_TRY(co_await source_.read(std::move(keys)));
      for (auto i = done; i < end; ++i) judge(places[i], std::move(entities[i - done]));
      done = end;
      place_ = places[done - 1];
    }
    co_return Result<void>{};
  }

  void judge(const Place& place, std::optional<Entity> entity) {
    const auto values = entity ? values_of(by_, *entity) : std::nullopt;
    const bool in_group =
        values && group_of(by_, entity->partition_key, entity->row_key, entity->properties) == place.group;
    if (!in_group) {
      page_.leave_out();
    } else if (range().admits(*values)) {
      page_.add(std::move(*entity));
    } else {
      page_.look();  // a value of another type with the same text
    }
  }

  Source source_;
  std::optional<PieceContents> contents_;  // of lists in blobs
  std::vector<std::string> by_;
  std::vector<GroupRange> ranges_;
  GroupRows rows_;
  Page page_;
  std::size_t range_ = 0;
  std::optional<Place> place_;  // behind which the next page begins
};

class SummarySearch final : public Search {
 public:
  SummarySearch(TableClient& tables, const Index& index, std::vector<GroupRange> ranges, std::optional<Place> resume,
                const LookupRequest& request)
      : tables_(tables),
        properties_(std::get<SummaryKind>(index.definition.kind).by.size()),
        ranges_(std::move(ranges)),
        rows_(index, request),
        page_(request.top),
        place_(std::move(resume)) {}

  Task<Result<FoundEntities>> run() override {
    for (auto range = place_ ? place_->range : 0; range < ranges_.size(); ++range) {
      // One group has one summary: behind it there is none.
      if (place_ && ranges_[range].whole) {
        place_.reset();
        continue;
      }
      auto request = rows_.summaries(place_ ? place_->group : std::string(), ranges_[range], properties_);
      do {
        auto read = co_await tables_.query(request);
        if (read.failed_with(ErrorCode::kTableNotFound)) break;
        auto rows = CO_TRY(std::move(read));
        request.continuation = std::move(rows.continuation);
        for (auto& row : rows.entities) {
          if (page_.full()) co_return page_.finish(text_of(*place_));
          place_ = Place{range, row.partition_key, {}, {}};
          if (ranges_[range].admits(row.partition_key, properties_)) page_.add(std::move(row));
        }
      } while (!request.continuation.empty());
      place_.reset();
    }
    co_return page_.finish({});
  }

 private:
  TableClient& tables_;
  std::size_t properties_;
  std::vector<GroupRange> ranges_;
  GroupRows rows_;
  Page page_;
  std::optional<Place> place_;
};

class CopySearch final : public Search {
 public:
  CopySearch(Source source, const Index& index, LookupRequest request, jobs::KeyTemplates templates)
      : source_(std::move(source)), templates_(std::move(templates)), page_(request.top) {
    const auto keys = copy_keys_of(request, std::get<CopiesKind>(index.definition.kind));
    rows_.table = index.definition.destination();
    rows_.follower = index.id;
    rows_.continuation = std::move(request.continuation);
    rows_.filter = "PartitionKey eq " + literal(keys.partition_key);
    rows_.filter += keys.exact ? " and RowKey eq " + literal(keys.row_key)
                               : keys_between(keys.row_key, keys.row_key + std::string(kLast));
  }

  Task<Result<FoundEntities>> run() override {
    do {
      rows_.top = static_cast<std::uint32_t>(page_.room());
      auto read = co_await source_.tables.query(rows_);
      if (read.failed_with(ErrorCode::kTableNotFound)) co_return page_.finish({});
      auto rows = CO_TRY(std::move(read));
      rows_.continuation = std::move(rows.continuation);
      CO_TRY(co_await look_at(std::move(rows.entities)));
    } while (!rows_.continuation.empty() && !page_.full());
    co_return page_.finish(std::move(rows_.continuation));
  }

 private:
  Task<Result<void>> look_at(std::vector<Entity> copies) {
    std::erase_if(copies, [](const Entity& copy) { return !copy.origin; });
    std::vector<EntityKey> keys;
    for (const auto& copy : copies) keys.push_back({copy.origin->partition_key, copy.origin->row_key});
    auto entities = CO_TRY(co_await source_.read(std::move(keys)));
    for (std::size_t i = 0; i < copies.size(); ++i) {
      auto& entity = entities[i];
      const EntityKey place{copies[i].partition_key, copies[i].row_key};
      if (entity && jobs::apply_key_templates(templates_, *entity) == place) {
        page_.add(std::move(*entity));
      } else {
        page_.leave_out();
      }
    }
    co_return Result<void>{};
  }

  Source source_;
  jobs::KeyTemplates templates_;
  QueryRequest rows_;
  Page page_;
};

/// What is asked for, and what is compared.
table_store::Selection selection_of(const Definition& definition, const LookupRequest& request) {
  if (!request.keys_only && request.projection.empty()) return std::nullopt;
  auto names = definition.key_properties();
  names.insert(names.end(), request.projection.begin(), request.projection.end());
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<std::unique_ptr<Search>> make_search(SearchStores stores, const Index& index, LookupRequest request) {
  auto& tables = stores.tables;
  const auto& definition = index.definition;
  Source source{tables, definition.source, TRY(table_store::Filter::parse(definition.filter)),
                selection_of(definition, request)};
  if (const auto* copies = std::get_if<CopiesKind>(&definition.kind)) {
    auto templates = TRY(jobs::parse_key_templates(copies->partition_key, copies->row_key));
    return std::make_unique<CopySearch>(std::move(source), index, std::move(request), std::move(templates));
  }
  const auto* lists = std::get_if<ListsKind>(&definition.kind);
  const auto properties = lists != nullptr ? lists->by.size() : std::get<SummaryKind>(definition.kind).by.size();
  auto ranges = ranges_of(request, properties);
  auto resume = TRY(place_in(request.continuation, ranges.size()));
  if (lists == nullptr) {
    return std::make_unique<SummarySearch>(tables, index, std::move(ranges), std::move(resume), request);
  }
  std::optional<PieceContents> contents;
  if (lists->where == ListsKind::Where::kBlobs) {
    if (stores.blobs == nullptr) return fail(ErrorCode::kIndexInvalid, "No containers can be reached from here.");
    contents.emplace(*stores.blobs, stores.clock, lists->container);
  }
  return std::make_unique<ListSearch>(std::move(source), std::move(contents), index, std::move(ranges),
                                      std::move(resume), request);
}

}  // namespace tidemark::indexes
