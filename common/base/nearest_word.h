// Guesses which known word a misspelt one stands for. Pure.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tidemark {

/// Returns the known word that is closest to `word`: one begins with the other, or a few letters are missing,
/// superfluous, wrong or swapped with their neighbour. Nothing if no word is close enough for a guess.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace tidemark
