// Guesses which known word a misspelt one stands for. Pure.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Returns the known word that is closest to `word`: one begins with the other, or a few letters are missing,
/// superfluous, wrong or swapped with their neighbour. Nothing if no word is close enough for a guess.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);
/// Returns all words that are equally close, at most three, in the order in which they are known.
std::vector<std::string> nearest_words(std::string_view word, std::span<const std::string> known);
/// Returns " Did you mean "A" or "B"?", or nothing if no word is close enough.
std::string guess_of(std::string_view word, std::span<const std::string> known);

}  // namespace tidemark
