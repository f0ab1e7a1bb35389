#include "blob_store/storage/blob_references.h"

#include <algorithm>

namespace tidemark::blob_store {
namespace {

constexpr std::uint64_t kMostSlices = 1 << 16;

}  // namespace

const OfId* find_id(const OfIds& of, std::uint64_t id) {
  const auto found = std::ranges::lower_bound(of, id, {}, &OfId::id);
  return found == of.end() || found->id != id ? nullptr : &*found;
}

void References::add(OfIds& to, std::uint64_t id, std::uint64_t value) {
  if (id == 0 || !slice.has(id)) return;
  to.push_back({id, value});
  if (size() > at_once) make_room();
}

void References::merge() {
  std::ranges::sort(owned, {}, &OfId::id);
  std::size_t merged = 0;
  for (const auto& one : owned) {
    if (merged > 0 && owned[merged - 1].id == one.id) {
      owned[merged - 1].value = std::max(owned[merged - 1].value, one.value);
      owned[merged - 1].owners += one.owners;
    } else {
      owned[merged++] = one;
    }
  }
  owned.resize(merged);
}

/// A slice with a single id cannot be divided, however many references the id has.
bool References::can_divide() const {
  return divides && slice.count < kMostSlices && (owned.size() > 1 || counted.size() > 1 || row_payloads.size() > 1);
}

void References::make_room() {
  merge();
  while (size() > at_once / 2 && can_divide()) {
    slice.count *= 2;
    for (auto* each : {&owned, &counted, &row_payloads}) {
      std::erase_if(*each, [this](const OfId& one) { return !slice.has(one.id); });
    }
  }
  at_once = std::max(at_once, 2 * size());  // there is no more room, and merging at each entry would take forever
}

}  // namespace tidemark::blob_store
