#include "indexes/store/followed_rows.h"

#include "common/base/text.h"
#include "indexes/rows/list_piece.h"

namespace tidemark::indexes {

table_store::ListedPlace place_of_progress(const std::string& index_id) {
  return {std::string(kIndexTable), kProgressPartition, index_id};
}

std::optional<table_store::EntityLists> lists_for_queries(const Index& index) {
  if (!index.definition.answers_queries()) return std::nullopt;
  const auto* kind = std::get_if<ListsKind>(&index.definition.kind);
  table_store::EntityLists lists;
  lists.index = index.name;
  lists.table = kind->destination;
  lists.by = kind->by;
  lists.filter = index.definition.filter;
  lists.in_partition = kind->where == ListsKind::Where::kPartition;
  lists.row_prefix = lists.in_partition ? rows_in_partition(index.name) : group_across({}).row_prefix;
  lists.group = kListForm.group;
  lists.keys = kListForm.keys;
  lists.progress = place_of_progress(index.id);
  lists.state = "State";
  lists.complete = kReady;
  return lists;
}

std::optional<table_store::OwnRows> rows_among_entities(const Definition& definition) {
  const bool rows = !std::holds_alternative<DenormalisedKind>(definition.kind);
  if (!rows || !iequals_ascii(definition.destination(), definition.source)) return std::nullopt;
  if (std::holds_alternative<ListsKind>(definition.kind)) {
    return table_store::OwnRows{.properties = {std::string(kListForm.group), "Count", std::string(kListForm.keys)}};
  }
  auto properties = definition.row_properties();
  if (!properties) return table_store::OwnRows{.anything = true, .properties = {}};
  return table_store::OwnRows{.properties = std::move(*properties)};
}

}  // namespace tidemark::indexes
