// Lookups in rows that a test writes like an owner.
#pragma once
#include <algorithm>

#include "indexes/lookup/row_searches.h"
#include "indexes/rows/list_piece.h"
#include "tests/unit/indexes_fixture.h"

namespace tidemark::indexes {

using table_store::Entity;
using table_store::Property;
using Parameters = std::vector<std::pair<std::string, std::string>>;

inline Definition defined(std::string_view text) {
  auto definition = parse_definition(text);
  EXPECT_TRUE(definition) << definition.error().message;
  return definition ? std::move(*definition) : Definition{};
}

inline Definition lists(const std::string& by, const std::string& more = "") {
  return defined(R"({"kind":"lists","source":"Source","by":[)" + by + R"(],"destination":"Rows")" + more + "}");
}
struct IndexLookup : IndexFixture {
  void SetUp() override {
    for (const auto* table : {"Source", "Rows"}) ASSERT_TRUE(run_task(tables.create_table(table)));
  }

  void write(const std::string& table, const std::string& partition, table_store::Mutation mutation) {
    mutation.kind = table_store::MutationKind::kInsertOrReplace;
    const auto done = run_task(tables.mutate(table, partition, {std::move(mutation)}, std::nullopt));
    ASSERT_TRUE(done) << done.error().message;
  }
  Entity put(const std::string& partition, const std::string& row, std::vector<Property> properties) {
    write("Source", partition, table_store::change(table_store::MutationKind::kInsert, row, std::move(properties)));
    return **run_task(tables.get("Source", partition, row));
  }
  void put_row(const Index& index, const std::string& partition, const std::string& row,
               std::vector<Property> properties, const table_store::Origin& of = {}) {
    auto mutation = table_store::change(table_store::MutationKind::kInsert, row, std::move(properties));
    mutation.source_version = ++row_version;
    mutation.origin = {index.id, of.partition_key, of.row_key};
    write("Rows", partition, std::move(mutation));
  }
  /// Writes the pieces of one group, each with a few entries.
  void put_list(const Index& index, const std::string& group, const std::vector<Entity>& members,
                std::size_t in_a_piece = 3) {
    const auto& kind = std::get<ListsKind>(index.definition.kind);
    ListPiece piece;
    piece.group = group;
    for (const auto& member : members) {
      piece.entries.push_back({member.partition_key, member.row_key});
    }
    std::ranges::sort(piece.entries, {}, &ListEntry::hash);
    const bool across = kind.where == ListsKind::Where::kAcross;
    const auto place =
        across ? group_across(group) : group_in_partition(index.name, members.front().partition_key, group);
    while (!piece.entries.empty()) {
      ListPiece part;
      part.group = group;
      const auto count = std::min(in_a_piece, piece.entries.size());
      const auto end = piece.entries.begin() + static_cast<std::ptrdiff_t>(count);
      part.entries.assign(piece.entries.begin(), end);
      piece.entries.erase(piece.entries.begin(), end);
      if (!piece.entries.empty()) part.bound = part.entries.back().hash();
      put_row(index, place.partition_key, place.row_key(part.bound), piece_rows(part).front().properties);
    }
  }

  /// Returns all pages, "P/R" for each entity.
  std::vector<std::string> found(const Index& index, Parameters parameters) {
    std::vector<std::string> out;
    left_out = 0;
    std::string continuation;
    do {
      auto given = parameters;
      if (!continuation.empty()) given.emplace_back("continuation", continuation);
      const auto request = read_lookup(index.definition, given);
      EXPECT_TRUE(request) << request.error().message;
      if (!request) break;
      auto search = make_search({tables, listings, nullptr, clock}, index, *request);
      EXPECT_TRUE(search);
      auto page = run_task((*search)->run());
      EXPECT_TRUE(page) << page.error().message;
      if (!page) break;
      EXPECT_LE(page->entities.size(), request->top);
      for (const auto& entity : page->entities) out.push_back(entity.partition_key + "/" + entity.row_key);
      left_out += page->left_out;
      continuation = page->continuation;
    } while (!continuation.empty());
    return out;
  }

  table_store::ListingClient listings{loopback, "acct"};
  table_store::Version row_version = 1;
  std::uint64_t left_out = 0;
};

}  // namespace tidemark::indexes
