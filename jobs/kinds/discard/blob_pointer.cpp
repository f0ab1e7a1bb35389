#include "jobs/kinds/discard/blob_pointer.h"

#include "blob_store/model/names.h"
#include "jobs/kinds/offload/blob_link.h"

namespace tidemark::jobs {

std::optional<std::string> blob_pointed_at(const table_store::Entity& entity, const std::string& property,
                                           std::string_view container) {
  const auto* value = entity.find(property);
  const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  if (text == nullptr) return std::nullopt;
  auto link = parse_link(*text);
  if (link && link->container != container) return std::nullopt;
  auto name = link ? std::move(link->name) : blob_store::blob_name_of(*text);
  return blob_store::check_blob_name(name) ? std::optional(std::move(name)) : std::nullopt;
}

}  // namespace tidemark::jobs
