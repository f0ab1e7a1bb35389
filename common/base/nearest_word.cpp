#include "common/base/nearest_word.h"

#include <algorithm>

namespace tidemark {
namespace {

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kLettersForEachMistake = 3;
constexpr std::size_t kMostGuesses = 3;

/// The least number of letters to add, remove, replace or swap with their neighbour.
std::size_t mistakes_between(std::string_view one, std::string_view other) {
  std::vector<std::vector<std::size_t>> least(one.size() + 1, std::vector<std::size_t>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const std::size_t differs = one[i - 1] == other[j - 1] ? 0 : 1;
      least[i][j] = std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
      }
    }
  }
  return least[one.size()][other.size()];
}

bool begins_with_the_other(std::string_view one, std::string_view other) {
  return one.size() > 1 && other.size() > 1 && (one.starts_with(other) || other.starts_with(one));
}

}  // namespace

std::vector<std::string> nearest_words(std::string_view word, std::span<const std::string> known) {
  std::vector<std::string> nearest;
  if (word.size() > kLongestWord) return nearest;
  auto fewest = std::max<std::size_t>(1, word.size() / kLettersForEachMistake);
  for (const auto& candidate : known) {
    const auto mistakes = begins_with_the_other(word, candidate) ? 1 : mistakes_between(word, candidate);
    if (mistakes > fewest || std::ranges::find(nearest, candidate) != nearest.end()) continue;
    if (mistakes < fewest) nearest.clear();
    fewest = mistakes;
    if (nearest.size() < kMostGuesses) nearest.push_back(candidate);
  }
  return nearest;
}

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known) {
  auto nearest = nearest_words(word, known);
  return nearest.empty() ? std::nullopt : std::optional(std::move(nearest.front()));
}

std::string guess_of(std::string_view word, std::span<const std::string> known) {
  std::string guess;
  for (const auto& each : nearest_words(word, known)) {
    guess += guess.empty() ? " Did you mean \"" : " or \"";
    guess += each + '"';
  }
  return guess.empty() ? guess : guess + "?";
}

}  // namespace tidemark
