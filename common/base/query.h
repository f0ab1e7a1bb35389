// The query of a URL, decoded once for everyone who asks: signatures, routes, operations. Pure; no errors besides
// "malformed". Bounded by the caller's limit on the URL and by 100 parameters.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

/// Parameters in order; names keep their case. Views into the raw query where nothing was escaped, else into this
/// object: valid as long as both.
class QueryParameters {
 public:
  using Parameter = std::pair<std::string_view, std::string_view>;

  /// Nothing for a broken percent escape or an absurd number of parameters. '+' is a space, except in `sig`: base64
  /// has no spaces, so a plus in a signature is a plus that somebody forgot to escape.
  static std::optional<QueryParameters> parse(std::string_view raw);

  /// The first of that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] auto begin() const { return parameters_.begin(); }
  [[nodiscard]] auto end() const { return parameters_.end(); }

 private:
  std::vector<Parameter> parameters_;
  std::unique_ptr<char[]> decoded_;  // as large as the raw query, once something is escaped
};

}  // namespace tidemark
