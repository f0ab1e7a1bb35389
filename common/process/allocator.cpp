#include "common/process/allocator.h"

#include <cstdlib>

#if __has_include(<mimalloc.h>)
#include <mimalloc.h>
#pragma weak mi_option_set  // programs under sanitizers bring another allocator
#endif

namespace tidemark::process {

void keep_free_memory_for_a_moment() {
#if __has_include(<mimalloc.h>)
  constexpr long kDelayMs = 1000;
  if (mi_option_set == nullptr || std::getenv("MIMALLOC_DECOMMIT_DELAY") != nullptr) return;
  mi_option_set(mi_option_decommit_delay, kDelayMs);
#endif
}

}  // namespace tidemark::process
