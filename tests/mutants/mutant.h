// Tells whether a mutant is the one that this run tries; tests/mutants/run puts it in the place of MUTANT.
#pragma once
#include <cstdlib>
#include <cstring>

namespace tidemark {

inline bool is_mutant(const char* name) {
  static const char* const chosen = std::getenv("MUTANT_OF_TIDEMARK");
  return chosen != nullptr && std::strcmp(chosen, name) == 0;
}

}  // namespace tidemark
