#include "indexes/store/declare.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "indexes/rows/list_piece.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::indexes {
namespace {

constexpr std::string_view kPieces = "keys_";

/// What all keys of an index's rows begin with, one for each form of row.
struct RowForm {
  std::string partition_prefix, row_prefix;
};

std::string literal_prefix(const std::string& text) {
  const auto parts = jobs::parse_key_template(text);
  return parts && !parts->empty() && !parts->front().placeholder ? parts->front().text : std::string();
}

std::vector<RowForm> forms_of(const std::string& name, const Definition& definition) {
  if (const auto* copies = std::get_if<CopiesKind>(&definition.kind)) {
    return {{literal_prefix(copies->partition_key), literal_prefix(copies->row_key)}};
  }
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

/// An index within its table does not follow its own rows.
bool leads_on(const Definition& definition) { return !iequals_ascii(definition.source, definition.destination()); }

/// The indexes that lead from one table to another, one after the other; empty if none do.
std::vector<std::string> way(const std::string& from, const std::string& to, const std::vector<Index>& indexes,
                             std::vector<std::string>& seen) {
  for (const auto& index : indexes) {
    if (!leads_on(index.definition) || !iequals_ascii(index.definition.source, from)) continue;
    const auto reached = index.definition.destination();
    if (iequals_ascii(reached, to)) return {index.name};
    if (std::ranges::find(seen, to_lower_ascii(reached)) != seen.end()) continue;
    seen.push_back(to_lower_ascii(reached));
    auto rest = way(reached, to, indexes, seen);
    if (rest.empty()) continue;
    rest.insert(rest.begin(), index.name);
    return rest;
  }
  return {};
}

bool needs_table_of_its_own(const Definition& definition) {
  const auto* lists = std::get_if<ListsKind>(&definition.kind);
  return std::holds_alternative<SummaryKind>(definition.kind) ||
         (lists != nullptr && lists->where == ListsKind::Where::kAcross);
}

/// Looks at the first rows only; the owner of an index meets what is in its way later.
Task<Result<bool>> holds_others_rows(table_store::TableClient& tables, std::string table) {
  table_store::QueryRequest request;
  request.table = std::move(table);
  const auto page = co_await tables.query(std::move(request));
  if (page.failed_with(ErrorCode::kTableNotFound)) co_return false;
  if (!page) co_return fail(page.error());
  co_return std::ranges::any_of(page->entities, [](const auto& row) { return !row.origin.has_value(); });
}

Task<Result<std::vector<std::string>>> problems_of(table_store::TableClient& tables, std::string name,
                                                   Definition definition, std::vector<Index> others) {
  auto problems = conflicts_of(name, definition, others);
  if (!CO_TRY(co_await tables.table_exists(definition.source))) {
    problems.push_back("source: there is no table " + definition.source);
  }
  const auto destination = definition.destination();
  if (needs_table_of_its_own(definition) && CO_TRY(co_await holds_others_rows(tables, destination))) {
    problems.push_back("destination " + destination + " holds rows that are not of an index");
  }
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
  std::size_t of_source = 0;
  for (const auto& other : others) {
    if (iequals_ascii(other.definition.source, definition.source)) ++of_source;
    if (iequals_ascii(other.definition.destination(), destination) &&
        may_meet(forms, forms_of(other.name, other.definition))) {
      problems.push_back("destination " + destination + " has rows of index " + other.name +
                         ", which may have the same keys: give them another table, or keys with another beginning");
    }
  }
  if (of_source >= table_store::kMaxFollowers) {
    problems.push_back("source " + definition.source + " has " + std::to_string(table_store::kMaxFollowers) +
                       " indexes, as many as a table can have");
  }
  std::vector<std::string> seen;
  const auto back = leads_on(definition) ? way(destination, definition.source, others, seen) : seen;
  if (!back.empty()) {
    problems.push_back("destination " + destination + " leads back to the source " + definition.source +
                       " by the indexes " + jobs::joined(back) + ": a circle would never end");
  }
  return problems;
}

Task<Result<IndexStore::Stored>> declare(table_store::TableClient& tables, IndexStore& store, std::string name,
                                         Definition definition) {
  if (CO_TRY(co_await store.find(name))) co_return co_await store.put(std::move(name), std::move(definition));
  auto others = CO_TRY(co_await store.all());
  const auto problems = CO_TRY(co_await problems_of(tables, name, definition, std::move(others)));
  if (!problems.empty()) co_return refused(problems);
  auto stored = CO_TRY(co_await store.put(name, definition));
  // Somebody may have declared another one at the same time.
  const auto met = conflicts_of(name, definition, without(CO_TRY(co_await store.all()), name));
  if (met.empty() || !stored.created) co_return stored;
  CO_TRY(co_await store.ask(name, {.drop = true}));
  co_return refused(met);
}

}  // namespace tidemark::indexes
