// Indexes with owners and keepers on stores in memory, and the expected rows by a full scan of the table.
#pragma once
#include <map>
#include <set>

#include "index_keepers_fixture.h"
#include "indexes/rows/group_totals.h"
#include "indexes/rows/list_piece.h"
#include "jobs/spec/key_template.h"
#include "table_store/model/group_text.h"

namespace tidemark::workers {

using namespace std::chrono_literals;
using table_store::Origin;
using table_store::Property;

/// The contents of a row, without the properties that every write changes.
using Rows = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

class IndexRowsFixture : public IndexKeepersFixture {
 protected:
  static Mutation entity(const std::string& row, const std::string& colour, std::int64_t size) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.lenient = true;
    if (!colour.empty()) mutation.properties.push_back({"Colour", colour});
    if (size >= 0) mutation.properties.push_back({"Size", size});
    return mutation;
  }
  std::vector<Entity> originals() {
    auto all = rows_in("Source");
    std::erase_if(all, [](const Entity& row) { return row.origin.has_value(); });
    return all;
  }

  static std::vector<std::string> texts(const std::vector<Property>& properties) {
    std::vector<std::string> out;
    for (const auto& property : properties) out.push_back(property.name + "=" + table_store::key_text(property.value));
    std::ranges::sort(out);
    return out;
  }
  /// Returns the rows of the index; for pieces, their keys together.
  Rows actual(const Index& index) {
    if (const auto* lists = in_blobs(index)) return actual_in_blobs(index, *lists);
    Rows out;
    const auto table = index.definition.destination();
    const bool copies = std::holds_alternative<indexes::CopiesKind>(index.definition.kind);
    for (const auto& row : rows_in(table)) {
      if (!row.origin || row.origin->follower != index.id) continue;
      if (copies || row.row_key == indexes::kSummaryRow) {
        auto properties = row.properties;
        std::erase_if(properties, [](const Property& property) { return property.name == "Parts"; });
        out[{row.partition_key, row.row_key}] = texts(properties);
        continue;
      }
      add_piece(row, row.partition_key, out);
    }
    return out;
  }
  /// Returns the lists as everybody can read them: each row of the directory names a blob.
  Rows actual_in_blobs(const Index& index, const indexes::ListsKind& lists) {
    Rows out;
    for (auto& row : directory(index)) {
      const auto name = jobs::property_or<std::string>(row, indexes::kBlobProperty);
      const auto read = run_beside(blobs_.read(lists.container, name, 0, std::nullopt));
      EXPECT_TRUE(read && *read) << name;
      if (!read || !*read) continue;
      EXPECT_EQ(jobs::property_or<std::int64_t>(row, indexes::kBytesProperty), std::ssize((*read)->bytes)) << name;
      row.properties.push_back({"Keys", (*read)->bytes});
      add_piece(row, row.partition_key.substr(indexes::lists_of(index.id).size() + 1), out);
    }
    return out;
  }
  static void add_piece(const Entity& row, const std::string& partition, Rows& out) {
    const auto piece = indexes::read_piece(row);
    ASSERT_TRUE(piece.has_value());
    EXPECT_EQ(jobs::property_or<std::int32_t>(row, "Count"), std::ssize(piece->entries));
    auto& keys = out[{partition, "keys of " + piece->group}];
    for (const auto& entry : piece->entries) {
      const auto key = entry.partition_key + "/" + entry.row_key;
      EXPECT_EQ(std::ranges::find(keys, key), keys.end()) << "twice: " << key;
      keys.push_back(key);
    }
    std::ranges::sort(keys);
  }

  static const indexes::ListsKind* in_blobs(const Index& index) {
    const auto* lists = std::get_if<indexes::ListsKind>(&index.definition.kind);
    return lists != nullptr && lists->where == indexes::ListsKind::Where::kBlobs ? lists : nullptr;
  }
  std::vector<Entity> directory(const Index& index) {
    auto rows = rows_in(std::string(indexes::kIndexTable));
    std::erase_if(rows, [&](const Entity& row) { return !row.origin || row.origin->follower != index.id; });
    return rows;
  }
  std::set<std::string> blobs_in(const std::string& container, const std::string& prefix = "") {
    const auto names = run_beside(blobs_.list(container, prefix, ""));
    if (!names) return {};
    return {names->names.begin(), names->names.end()};
  }
  /// Checks that the only blobs are those of the index, when nothing waits.
  void expect_no_other_blobs(const Index& index) {
    const auto* lists = in_blobs(index);
    if (lists == nullptr) return;
    std::set<std::string> named;
    for (const auto& row : directory(index)) {
      named.insert(jobs::property_or<std::string>(row, indexes::kBlobProperty));
    }
    EXPECT_EQ(blobs_in(lists->container, lists->prefix), named);
    for (const auto& row : rows_in(std::string(indexes::kIndexTable))) {
      EXPECT_NE(row.partition_key, "blobs " + index.id) << "a note is left";
    }
  }
  /// Returns the rows that the index must have by a full scan.
  Rows wanted(const Index& index) {
    Rows out;
    const auto& definition = index.definition;
    const auto filter = *table_store::Filter::parse(definition.filter);
    std::map<std::string, std::vector<indexes::ListEntry>> groups;
    for (const auto& original : originals()) {
      if (!filter.matches(original)) continue;
      const auto key = original.partition_key + "/" + original.row_key;
      if (const auto* copies = std::get_if<indexes::CopiesKind>(&definition.kind)) {
        const auto templates = *jobs::parse_key_templates(copies->partition_key, copies->row_key);
        const auto place = jobs::apply_key_templates(templates, original);
        if (!place) continue;
        auto properties = original.properties;
        std::erase_if(properties, [&](const Property& property) {
          return copies->properties &&
                 std::ranges::find(*copies->properties, property.name) == copies->properties->end();
        });
        out[{place->partition_key, place->row_key}] = texts(properties);
        continue;
      }
      const auto* lists = std::get_if<indexes::ListsKind>(&definition.kind);
      const auto& by = lists != nullptr ? lists->by : std::get<indexes::SummaryKind>(definition.kind).by;
      const auto group = table_store::group_of(by, original.partition_key, original.row_key, original.properties);
      if (!group) continue;
      const bool inside = lists != nullptr && lists->where == indexes::ListsKind::Where::kPartition;
      out[{inside ? original.partition_key : *group, "keys of " + *group}].push_back(key);
      if (lists != nullptr) continue;
      auto& entry = groups[*group].emplace_back();
      if (const auto* size = jobs::property<std::int64_t>(original, "Size")) entry.value = *size;
    }
    for (auto& [place, keys] : out) std::ranges::sort(keys);
    for (const auto& [group, entries] : groups) {
      auto properties = indexes::summary_properties(group, indexes::totals_of(entries));
      std::erase_if(properties, [](const Property& property) { return property.name == "Parts"; });
      out[{group, "summary"}] = texts(properties);
    }
    return out;
  }

  void expect_true(const Index& index) {
    wait_until_ready(index);
    EXPECT_EQ(actual(index), wanted(index)) << index.name;
    expect_no_other_blobs(index);
  }

  void write_at_random(std::uint64_t writes) {
    static const std::vector<std::string> kColours{"red", "green", "blue", "", "a,b", "red_0", "red_00", "red_New"};
    for (std::uint64_t i = 0; i < writes; ++i) {
      const auto partition = "p" + std::to_string(random_->below(3));
      const auto row = "r" + std::to_string(random_->below(30));
      const auto& colour = kColours[random_->below(kColours.size())];
      auto mutation = entity(row, colour, static_cast<std::int64_t>(random_->below(6)) - 1);
      const auto kind = random_->below(6);
      if (kind == 0) mutation.kind = MutationKind::kErase;
      if (kind == 1) mutation.kind = MutationKind::kInsertOrMerge;
      if (kind == 0) mutation.properties.clear();
      write(std::move(mutation), partition);
    }
  }
};

}  // namespace tidemark::workers
