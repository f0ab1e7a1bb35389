// Which word somebody meant who misspelt one. Pure.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tidemark {

/// The one of `known` that is closest to `word`: one begins with the other, or few letters are missing, too many, other
/// ones or swapped with their neighbour. Nothing if none is close enough for a guess.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace tidemark
