#include "table_store/model/mutation.h"

namespace tidemark::table_store {

std::uint64_t OperationLedger::counter(std::string_view name) const {
  for (const auto& [key, value] : counters) {
    if (key == name) return value;
  }
  return 0;
}

}  // namespace tidemark::table_store
