#include "jobs/kinds/discard/blob_pointer.h"

#include "jobs/kinds/offload/blob_link.h"

namespace tidemark::jobs {

namespace {
constexpr std::size_t kMaxNameBytes = 1024UL * 3;  // of a blob: 1024 characters
}

std::optional<std::string> blob_pointed_at(const table_store::Entity& entity, const std::string& property,
                                           std::string_view container) {
  const auto* value = entity.find(property);
  const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  if (text == nullptr) return std::nullopt;
  if (auto link = parse_link(*text)) {
    return link->container == container ? std::optional(std::move(link->name)) : std::nullopt;
  }
  if (text->empty() || text->size() > kMaxNameBytes) return std::nullopt;
  return *text;
}

}  // namespace tidemark::jobs
