#include "indexes/lookup/row_searches.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "indexes/lookup/copy_match.h"
#include "indexes/lookup/list_search.h"
#include "indexes/lookup/search_parts.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "table_store/model/entity_view.h"
#include "table_store/model/text_order.h"

namespace tidemark::indexes {
namespace {

using jobs::EntityKey;
using table_store::Entity;

class SummarySearch final : public Search {
 public:
  SummarySearch(TableClient& tables, const Index& index, std::vector<GroupRange> ranges,
                std::optional<EntryPlace> resume, const LookupRequest& request)
      : tables_(tables),
        properties_(std::get<SummaryKind>(index.definition.kind).by.size()),
        ranges_(std::move(ranges)),
        rows_(index, request),
        page_(request.top),
        place_(std::move(resume)) {}

  Task<Result<FoundEntities>> run() override {
    for (auto range = place_ ? place_->range : 0; range < ranges_.size(); ++range) {
      // One group has one summary, so there is none behind it.
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
          place_ = EntryPlace{range, row.partition_key, {}, {}};
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
  std::optional<EntryPlace> place_;
};

/// The place where reading the copies continues, as a continuation: base64 of the RowKey after a letter, so that it is
/// never empty.
std::string text_of_row(const std::string& row_key) { return base64_encode("r" + row_key); }

class CopySearch final : public Search {
 public:
  CopySearch(Source source, const Index& index, const LookupRequest& request, jobs::KeyTemplates templates)
      : source_(std::move(source)), match_(request, templates), templates_(std::move(templates)), page_(request.top) {
    const auto& kind = std::get<CopiesKind>(index.definition.kind);
    const auto keys = copy_keys_of(request, kind);
    copies_.table = index.definition.destination();
    copies_.rows = {keys.partition_key, keys.row_key, keys.row_key};
    if (keys.exact) {
      copies_.rows.before += jobs::kJustBehind;
    } else {
      copies_.rows.before += kBehindAllKeys;
    }
    copies_.follower = index.id;
    copies_.entities = source_.table;
    copies_.show = show_for(kind, request, match_.open());
    copies_.selection = source_.selection;
    copies_.beside = place_of_progress(index.id);
  }

  /// Returns false if the continuation does not belong to this lookup.
  bool go_on(const std::string& continuation) {
    if (continuation.empty()) return true;
    const auto text = base64_decode(continuation).value_or("");
    if (!text.starts_with('r') || !is_valid_utf8(text)) return false;
    auto& rows = copies_.rows;
    const auto row_key = text.substr(1);
    const auto within = [](std::string_view a, std::string_view b) { return table_store::compare_ordinal(a, b) <= 0; };
    if (!within(rows.from, row_key) || !within(row_key, rows.before)) return false;
    rows.from = row_key;
    return true;
  }

  Task<Result<FoundEntities>> run() override {
    for (;;) {
      copies_.most = static_cast<std::uint32_t>(std::min<std::size_t>(page_.left(), table_store::kMaxListed));
      auto answer = co_await source_.listings.find_copies(copies_);
      // The table is missing, or no key can have this form: nothing is stored there.
      if (answer.failed_with(ErrorCode::kTableNotFound) || answer.failed_with(ErrorCode::kOutOfRangeInput)) {
        co_return page_.finish({});
      }
      auto found = CO_TRY(std::move(answer));
      const bool proves = is_ready(found.beside);
      // The copies of an index that is not ready may hold anything.
      if (!proves && std::exchange(copies_.show, Show::kEntities) != Show::kEntities) continue;
      const auto next = look_at(std::move(found), proves);
      if (!next) co_return page_.finish({});
      if (page_.full()) co_return page_.finish(text_of_row(*next));
      copies_.rows.from = *next;
    }
  }

 private:
  using Show = table_store::CopiesRequest::Show;

  /// `compared`: properties whose values the keys of the copies do not fully tell.
  [[nodiscard]] static Show show_for(const CopiesKind& kind, const LookupRequest& request,
                                     const std::vector<std::string>& compared) {
    if (request.keys_only && compared.empty()) return Show::kKeys;
    if (!kind.properties) return Show::kCopies;
    const auto has = [&kind](const auto& name) {
      const bool own = name != "PartitionKey" && name != "RowKey" && name != "Timestamp";
      return !own || std::ranges::find(*kind.properties, name) != kind.properties->end();
    };
    const auto& wanted = request.projection;
    const bool shows = request.keys_only || (!wanted.empty() && std::ranges::all_of(wanted, has));
    return shows && std::ranges::all_of(compared, has) ? Show::kCopies : Show::kEntities;
  }

  /// Returns the place where the search continues, if there is more.
  std::optional<std::string> look_at(table_store::CopiesPage found, bool proves) {
    const auto blocks = page_.keep(std::move(found.blocks));
    for (const auto& copy : found.copies) {
      if (page_.full()) return copy.row_key;
      judge(copy, blocks, proves);
    }
    return found.next.empty() ? std::nullopt : std::optional(std::move(found.next));
  }

  void judge(const table_store::FoundCopy& copy, std::string_view blocks, bool proves) {
    table_store::EntityView view;
    view.partition_key = copy.of.partition_key;
    view.row_key = copy.of.row_key;
    if (copy.shown) view.version = copy.shown->version;
    if (copy.shown) view.block = block_in(blocks, *copy.shown);
    if (proves && copy.settled && (copy.shown || copies_.show == Show::kKeys)) {
      if (!has_what_is_asked_for(copy, view)) return page_.look();
      return page_.add(FoundEntity{copy.of.partition_key, copy.of.row_key, view.version, view.block});
    }
    if (!copy.shown || !table_store::is_property_block(view.block)) return page_.leave_out();
    auto entity = view.to_entity();
    const EntityKey place{copies_.rows.partition_key, copy.row_key};
    if (!source_.filter.matches(entity) || jobs::apply_key_templates(templates_, entity) != place) {
      return page_.leave_out();
    }
    if (!match_.admits(entity, place)) return page_.look();
    page_.add(std::move(entity));
  }

  [[nodiscard]] bool has_what_is_asked_for(const table_store::FoundCopy& copy,
                                           const table_store::EntityView& view) const {
    if (!match_.admits_place({copy.of.partition_key, copy.of.row_key}, copy.row_key)) return false;
    if (match_.open().empty()) return true;
    return table_store::is_property_block(view.block) && match_.admits_open(view.to_entity(match_.open()));
  }

  Source source_;
  CopyMatch match_;
  jobs::KeyTemplates templates_;
  table_store::CopiesRequest copies_;
  Page page_;
};

/// Selects the requested properties and those that are compared.
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
    auto search = std::make_unique<CopySearch>(std::move(source), index, request, std::move(templates));
    if (!search->go_on(request.continuation)) return strange_continuation();
    return search;
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
