#include "table_store/model/entity.h"

namespace tidemark::table_store {

const Value* Entity::find(std::string_view name) const {
  for (const auto& property : properties) {
    if (property.name == name) return &property.value;
  }
  return nullptr;
}

}  // namespace tidemark::table_store
