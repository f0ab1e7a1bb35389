#include "indexes/store/declare.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "indexes/rows/list_piece.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::indexes {
namespace {

constexpr std::string_view kPieces = "keys_";

/// The common beginning of the keys of an index's rows, one for each form of row.
struct RowForm {
  std::string partition_prefix, row_prefix;
};

std::string literal_prefix(const std::string& text) {
  const auto parts = jobs::parse_key_template(text);
  return parts && !parts->empty() && !parts->front().placeholder ? parts->front().text : std::string();
}

const ListsKind* lists_in_blobs(const Definition& definition) {
  const auto* lists = std::get_if<ListsKind>(&definition.kind);
  return lists != nullptr && lists->where == ListsKind::Where::kBlobs ? lists : nullptr;
}

std::vector<RowForm> forms_of(const std::string& name, const Definition& definition) {
  if (const auto* copies = std::get_if<CopiesKind>(&definition.kind)) {
    return {{literal_prefix(copies->partition_key), literal_prefix(copies->row_key)}};
  }
  if (std::holds_alternative<DenormalisedKind>(definition.kind)) return {};
  if (lists_in_blobs(definition) != nullptr) return {};
  const auto* lists = std::get_if<ListsKind>(&definition.kind);
  if (lists != nullptr && lists->where == ListsKind::Where::kPartition) return {{"", name + "_"}};
  std::vector<RowForm> forms{{"", std::string(kPieces)}};
  if (lists == nullptr) forms.push_back({"", std::string(kSummaryRow)});
  return forms;
}

bool may_begin_alike(std::string_view a, std::string_view b) { return a.starts_with(b) || b.starts_with(a); }

bool may_meet(const std::vector<RowForm>& some, const std::vector<RowForm>& others) {
  for (const auto& a : some) {
    for (const auto& b : others) {
      if (may_begin_alike(a.partition_prefix, b.partition_prefix) && may_begin_alike(a.row_prefix, b.row_prefix)) {
        return true;
      }
    }
  }
  return false;
}

/// Tells whether the index sets the property in entities of its destination.
bool sets(const DenormalisedKind& kind, std::string_view property) {
  return std::ranges::find(kind.properties, property, &DenormalisedKind::Taken::name) != kind.properties.end();
}

/// Tells whether the writes of the first index cause work for the second one that may change the second one's writes.
/// For values that are kept in entities, only the properties that are set and read count; for all other kinds, the
/// table.
bool feeds(const Definition& first, const Definition& second) {
  const auto written = first.destination();
  const auto* setter = std::get_if<DenormalisedKind>(&first.kind);
  const auto* taker = std::get_if<DenormalisedKind>(&second.kind);
  // An index within its table does not follow its own rows.
  if (setter == nullptr && iequals_ascii(first.source, written)) return false;
  const bool of_source = iequals_ascii(written, second.source);
  if (setter == nullptr || taker == nullptr) return of_source;
  const auto read = [&](const auto& taken) { return sets(*setter, taken.from); };
  if (of_source && std::ranges::any_of(taker->properties, read)) return true;
  return iequals_ascii(written, second.entities()) &&
         std::ranges::any_of(second.key_properties(), [&](const auto& name) { return sets(*setter, name); });
}

/// Returns the indexes that lead from the writes of one to the reads of another, one after the other; empty if none do.
std::vector<std::string> way(const Definition& from, const Definition& to, const std::vector<Index>& indexes,
                             std::vector<std::string>& seen) {
  for (const auto& index : indexes) {
    if (!feeds(from, index.definition) || std::ranges::find(seen, index.name) != seen.end()) continue;
    if (feeds(index.definition, to)) return {index.name};
    seen.push_back(index.name);
    auto rest = way(index.definition, to, indexes, seen);
    if (rest.empty()) continue;
    rest.insert(rest.begin(), index.name);
    return rest;
  }
  return {};
}

/// Adds problems for properties of the same entities that another index sets as well.
void add_shared_properties(const Definition& definition, const Index& other, std::vector<std::string>& problems) {
  const auto* kind = std::get_if<DenormalisedKind>(&definition.kind);
  const auto* others = std::get_if<DenormalisedKind>(&other.definition.kind);
  if (kind == nullptr || others == nullptr || !iequals_ascii(kind->destination, others->destination)) return;
  for (const auto& taken : kind->properties) {
    if (sets(*others, taken.name)) problems.push_back("properties: " + taken.name + " is set by index " + other.name);
  }
}

void add_shared_blobs(const Definition& definition, const Index& other, std::vector<std::string>& problems) {
  const auto* lists = lists_in_blobs(definition);
  const auto* others = lists_in_blobs(other.definition);
  if (lists == nullptr || others == nullptr || lists->container != others->container) return;
  if (!may_begin_alike(lists->prefix, others->prefix)) return;
  problems.push_back("container " + lists->container + " has blobs of index " + other.name +
                     ", which may have the same names: give them another container, or prefixes of which none begins "
                     "with the other");
}

/// Adds problems for keys made of a property with the name of a lookup parameter: a lookup could not give its value.
void add_hidden_properties(const Definition& definition, std::vector<std::string>& problems) {
  const auto* copies = std::get_if<CopiesKind>(&definition.kind);
  if (copies == nullptr) return;
  for (const auto* text : {&copies->partition_key, &copies->row_key}) {
    const auto parts = jobs::parse_key_template(*text);
    if (!parts) continue;
    for (const auto& part : *parts) {
      if (!part.placeholder || std::ranges::find(kLookupParameters, part.text) == std::end(kLookupParameters)) continue;
      problems.push_back("the keys must not be made of " + part.text + ", which is a parameter of every lookup");
    }
  }
}

void add_full_tables(const Definition& definition, const std::vector<Index>& others,
                     std::vector<std::string>& problems) {
  for (const auto& table : {definition.entities(), definition.referred()}) {
    const auto followers = std::ranges::count_if(
        others, [&](const Index& other) { return !table.empty() && other.definition.follows(table); });
    if (static_cast<std::size_t>(followers) < table_store::kMaxFollowers) continue;
    problems.push_back((iequals_ascii(table, definition.source) ? "source " : "destination ") + table + " has " +
                       std::to_string(table_store::kMaxFollowers) + " indexes, as many as a table can have");
  }
}

bool needs_table_of_its_own(const Definition& definition) {
  const auto* lists = std::get_if<ListsKind>(&definition.kind);
  return std::holds_alternative<SummaryKind>(definition.kind) ||
         (lists != nullptr && lists->where == ListsKind::Where::kAcross);
}

/// Reads only the first rows; the owner of an index finds other rows in its way later.
Task<Result<bool>> holds_others_rows(table_store::TableClient& tables, std::string table) {
  table_store::QueryRequest request;
  request.table = std::move(table);
  const auto page = co_await tables.query(std::move(request));
  if (page.failed_with(ErrorCode::kTableNotFound)) co_return false;
  if (!page) co_return fail(page.error());
  co_return std::ranges::any_of(page->entities, [](const auto& row) { return !row.origin.has_value(); });
}

/// Blobs of others are never touched, but a reader that lists the pieces of a value would find them among the pieces.
Task<Result<void>> look_at_container(blob_store::BlobClient* blobs, ListsKind lists,
                                     std::vector<std::string>& problems) {
  if (blobs == nullptr) {
    problems.emplace_back("container: no containers can be reached from here");
    co_return Result<void>{};
  }
  auto page = co_await blobs->list(lists.container, lists.prefix, "");
  if (page.failed_with(ErrorCode::kContainerNotFound)) co_return Result<void>{};
  const auto names = CO_TRY(std::move(page));
  if (names.names.empty()) co_return Result<void>{};
  problems.push_back("container " + lists.container + " holds other blobs" +
                     (lists.prefix.empty() ? std::string() : " that begin with " + lists.prefix) + ", such as " +
                     names.names.front() + ": give a prefix that none begins with");
  co_return Result<void>{};
}

Task<Result<std::vector<std::string>>> problems_of(table_store::TableClient& tables, blob_store::BlobClient* blobs,
                                                   std::string name, Definition definition, std::vector<Index> others) {
  auto problems = conflicts_of(name, definition, others);
  if (!CO_TRY(co_await tables.table_exists(definition.source))) {
    problems.push_back("source: there is no table " + definition.source);
  }
  const auto destination = definition.destination();
  if (!definition.referred().empty() && !CO_TRY(co_await tables.table_exists(destination))) {
    problems.push_back("destination: there is no table " + destination);
  }
  if (needs_table_of_its_own(definition) && CO_TRY(co_await holds_others_rows(tables, destination))) {
    problems.push_back("destination " + destination + " holds rows that are not of an index");
  }
  if (const auto* lists = lists_in_blobs(definition)) CO_TRY(co_await look_at_container(blobs, *lists, problems));
  co_return problems;
}

std::unexpected<Error> refused(const std::vector<std::string>& problems) {
  return jobs::invalid(ErrorCode::kIndexInvalid, "The index is not valid: ", problems);
}

std::vector<Index> without(std::vector<Index> indexes, const std::string& name) {
  std::erase_if(indexes, [&](const Index& index) { return index.name == name; });
  return indexes;
}

}  // namespace

std::vector<std::string> conflicts_of(const std::string& name, const Definition& definition,
                                      const std::vector<Index>& others) {
  std::vector<std::string> problems;
  const auto destination = definition.destination();
  const auto forms = forms_of(name, definition);
  for (const auto& other : others) {
    add_shared_properties(definition, other, problems);
    add_shared_blobs(definition, other, problems);
    if (iequals_ascii(other.definition.destination(), destination) &&
        may_meet(forms, forms_of(other.name, other.definition))) {
      problems.push_back("destination " + destination + " has rows of index " + other.name +
                         ", which may have the same keys: give them another table, or keys with another beginning");
    }
  }
  add_hidden_properties(definition, problems);
  add_full_tables(definition, others, problems);
  std::vector<std::string> seen;
  const auto back = way(definition, definition, others, seen);
  if (!back.empty()) {
    problems.push_back("destination " + destination + " leads back to the source " + definition.source +
                       " by the indexes " + jobs::joined(back) + ": a circle would never end");
  }
  return problems;
}

Task<Result<IndexStore::Stored>> declare(table_store::TableClient& tables, blob_store::BlobClient* blobs,
                                         IndexStore& store, std::string name, Definition definition) {
  if (CO_TRY(co_await store.find(name))) co_return co_await store.put(std::move(name), std::move(definition));
  auto others = CO_TRY(co_await store.all());
  const auto problems = CO_TRY(co_await problems_of(tables, blobs, name, definition, std::move(others)));
  if (!problems.empty()) co_return refused(problems);
  auto stored = CO_TRY(co_await store.put(name, definition));
  // Another index may have been declared at the same time.
  const auto met = conflicts_of(name, definition, without(CO_TRY(co_await store.all()), name));
  if (met.empty() || !stored.created) co_return stored;
  CO_TRY(co_await store.ask(name, {.drop = true}));
  co_return refused(met);
}

}  // namespace tidemark::indexes
