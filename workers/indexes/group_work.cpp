#include "workers/indexes/group_work.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tidemark::workers {
namespace {

bool same_key(const ListEntry& a, const ListEntry& b) {
  return a.partition_key == b.partition_key && a.row_key == b.row_key;
}

/// Keeps one wish for each key: the last that puts the key into the group, or else the last. Wishes for the same key
/// stand side by side.
std::vector<Wanted> without_repeats(std::vector<Wanted> wanted) {
  std::vector<Wanted> out;
  out.reserve(wanted.size());
  for (auto& each : wanted) {
    if (out.empty() || !same_key(out.back().entry, each.entry)) {
      out.push_back(std::move(each));
    } else if (each.present || !out.back().present) {
      out.back() = std::move(each);
    }
  }
  return out;
}

}  // namespace

std::size_t Works::want(GroupPlace place, const std::string& group, ListEntry entry, bool present) {
  const auto [found, is_new] = places_.try_emplace({place.partition_key, place.row_prefix}, works_.size());
  if (is_new) works_.push_back({.place = std::move(place), .group = group});
  const auto bytes = 2 * sizeof(Wanted) + entry.partition_key.size() + entry.row_key.size();
  works_[found->second].wanted.push_back({std::move(entry), present});
  return bytes;
}

std::vector<GroupWork> Works::take() {
  for (auto& work : works_) {
    std::ranges::stable_sort(work.wanted, {}, [](const Wanted& wanted) {
      const auto& entry = wanted.entry;
      return std::tuple(entry.hash(), std::string_view(entry.partition_key), std::string_view(entry.row_key));
    });
    work.wanted = without_repeats(std::move(work.wanted));
    work.removes = !std::ranges::all_of(work.wanted, &Wanted::present);
  }
  places_.clear();
  return std::exchange(works_, {});
}

/// Goes through the piece once, because entries and wishes are both in the order of their hashes.
Wrong apply(ListPiece& piece, const std::vector<Wanted>& wanted, std::size_t first, std::size_t last) {
  Wrong changed;
  std::vector<ListEntry> out;
  out.reserve(piece.entries.size() + (last - first));
  auto next = piece.entries.begin();  // the first entry that is not in `out`
  const auto end = piece.entries.end();
  const auto keep_before = [&](auto to) {
    out.insert(out.end(), std::make_move_iterator(next), std::make_move_iterator(to));
    next = to;
  };
  for (std::size_t i = first; i < last; ++i) {
    const auto& [entry, present] = wanted[i];
    keep_before(std::ranges::lower_bound(next, end, entry.hash(), {}, &ListEntry::hash));
    auto at = next;
    while (at != end && at->hash() == entry.hash() && !same_key(*at, entry)) ++at;
    const bool there = at != end && at->hash() == entry.hash();
    if (there == present && (!there || indexes::same(at->value, entry.value))) continue;
    changed.push_back({entry.partition_key, entry.row_key});
    if (there && present) {
      at->value = entry.value;
    } else if (present) {
      out.push_back(entry);
    } else {
      std::swap(*at, *next);
      ++next;
    }
  }
  keep_before(end);
  piece.entries = std::move(out);
  return changed;
}

}  // namespace tidemark::workers
