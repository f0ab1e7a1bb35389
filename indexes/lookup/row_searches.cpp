#include "indexes/lookup/row_searches.h"

#include <algorithm>

#include "indexes/lookup/list_search.h"
#include "indexes/lookup/search_parts.h"
#include "jobs/spec/key_template.h"

namespace tidemark::indexes {
namespace {

using jobs::EntityKey;
using table_store::Entity;

constexpr std::string_view kLast = "\xEF\xBF\xBF";

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
  Source source{tables, stores.listings, definition.source, TRY(table_store::Filter::parse(definition.filter)),
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
  return make_list_search(std::move(source), std::move(contents), index, std::move(ranges), std::move(resume), request);
}

}  // namespace tidemark::indexes
