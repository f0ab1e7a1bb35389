// Reads many entities of any partitions in few calls.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "jobs/spec/selection.h"
#include "table_store/client/table_client.h"

namespace tidemark::indexes {

/// Returns the present state of each entity; nothing for an entity that does not exist, or if the table does not exist.
Task<Result<std::vector<std::optional<table_store::Entity>>>> read_entities(table_store::TableClient& tables,
                                                                            std::string table,
                                                                            std::vector<jobs::EntityKey> keys,
                                                                            table_store::Selection selection = {});

}  // namespace tidemark::indexes
