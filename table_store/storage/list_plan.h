// Finds the lists that have every entity that can match a filter (model/entity_lists.h). Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/changes.h"
#include "table_store/model/filter.h"
#include "table_store/model/query.h"

namespace tidemark::table_store {

/// The rows of a group.
struct GroupRows {
  std::string group;
  RowSearch rows;
};

/// Returns nothing unless the filter fixes all properties in EntityLists::by and matches only listed entities.
/// The groups may have entities that do not match.
std::optional<std::vector<GroupRows>> groups_for(const Filter& filter, const EntityLists& lists);

/// Tells whether rows with these properties may match a filter for which these lists have groups.
bool may_be_meant(const OwnRows& rows, const EntityLists& lists);

}  // namespace tidemark::table_store
