// Finds the blob that an entity points to. The property holds the name of a blob, as clients write it, or a link of an
// offload job (jobs/kinds/offload/blob_link.h). Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "table_store/model/entity.h"

namespace tidemark::jobs {

/// Returns the blob's name in this container, as the store has it; nothing if the property names none there.
std::optional<std::string> blob_pointed_at(const table_store::Entity& entity, const std::string& property,
                                           std::string_view container);

}  // namespace tidemark::jobs
