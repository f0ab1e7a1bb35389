// Shrinks a history that is wrong to a small one that is wrong too, and that people can read. Each step only loosens
// the history, so it cannot make a right history wrong: it forgets answers, or writes that are not needed even if they
// may have been done at any time or never. A Loosening says how much of an operation may be forgotten:
//   constrains_by_its_answer_alone(operation)   it left nothing behind: all of it may be forgotten
//   loosened(operation)                         the write as if its answer had been lost
//   stays(operation)                            it is always kept
//   names(operation, write)                     the operation mentions the write, so a story shows that too
#pragma once
#include <algorithm>

#include "tests/histories/history.h"

namespace tidemark::histories {

/// Limits the cost of shrinking. A history that would cost more counts as right, so that the story keeps more
/// operations.
class ShrinkingEffort {
 public:
  static constexpr std::uint64_t kMostAtOnce = 30'000;
  /// `search` judges a history; its argument is the number of steps that it may take.
  template <class Search>
  bool finds_wrong(const Search& search) {
    if (left_ < kMostAtOnce) return false;
    const Judgement judgement = search(kMostAtOnce);
    left_ -= judgement.steps;
    return judgement.verdict == Verdict::kWrong;
  }

 private:
  std::uint64_t left_ = 1'000'000;
};

/// Returns a small subsequence for which `holds` is still true. It is true for all of them together.
template <class T, class Holds>
std::vector<T> fewest(std::vector<T> all, const Holds& holds) {
  for (auto chunk = all.size() / 2; chunk > 0; chunk /= 2) {
    for (std::size_t begin = 0; begin + chunk <= all.size();) {
      auto fewer = all;
      const auto at = fewer.begin() + static_cast<std::ptrdiff_t>(begin);
      fewer.erase(at, at + static_cast<std::ptrdiff_t>(chunk));
      if (holds(fewer)) {
        all = std::move(fewer);
      } else {
        begin += chunk;
      }
    }
  }
  return all;
}

/// Returns the history as it was known when it first was wrong, without the answers that came later.
template <class Loosening, class Operation, class Wrong>
std::vector<Operation> begun_before(std::vector<Operation> operations, const Wrong& wrong) {
  const auto known_at = [&](Moment moment) {
    std::vector<Operation> out;
    for (const auto& operation : operations) {
      if (operation.returned <= moment) {
        out.push_back(operation);
      } else if (operation.invoked < moment && !Loosening::constrains_by_its_answer_alone(operation)) {
        out.push_back(Loosening::loosened(operation));
      }
    }
    return out;
  };
  std::vector<Moment> ends;
  for (const auto& operation : operations) {
    if (operation.returned != kForever) ends.push_back(operation.returned);
  }
  std::ranges::sort(ends);
  const auto first = std::ranges::partition_point(ends, [&](Moment moment) { return !wrong(known_at(moment)); });
  return first == ends.end() ? operations : known_at(*first);
}

template <class Loosening, class Operation, class Wrong>
std::vector<Operation> fewest_operations(const std::vector<Operation>& operations, const Wrong& wrong) {
  using Indices = std::vector<std::size_t>;
  const auto with = [&](const Indices& kept, bool loosened) {
    std::vector<Operation> out;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const auto& operation = operations[i];
      if (Loosening::stays(operation) || std::ranges::binary_search(kept, i)) {
        out.push_back(operation);
      } else if (loosened && !Loosening::constrains_by_its_answer_alone(operation)) {
        out.push_back(Loosening::loosened(operation));
      }
    }
    return out;
  };
  Indices all;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!Loosening::stays(operations[i])) all.push_back(i);
  }
  auto kept = fewest(all, [&](const Indices& some) { return wrong(with(some, true)); });
  // Writes that the others name are shown, though it does not matter when they were done.
  const auto shown = with(kept, false);
  for (const auto i : all) {
    if (std::ranges::binary_search(kept, i) || Loosening::constrains_by_its_answer_alone(operations[i])) continue;
    const auto named = [&](const Operation& other) { return Loosening::names(other, operations[i]); };
    if (std::ranges::any_of(shown, named)) kept.insert(std::ranges::lower_bound(kept, i), i);
  }
  return with(kept, false);
}

}  // namespace tidemark::histories
