// The query of a URL, decoded once for signatures, routes and operations. Pure. The caller bounds the length of the
// URL; there may be at most 100 parameters.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

/// The parameters in order; names keep their case. A view points into the raw query if nothing was escaped, otherwise
/// into this object, so it is valid as long as both live.
class QueryParameters {
 public:
  using Parameter = std::pair<std::string_view, std::string_view>;

  /// Nothing if a percent escape is broken or there are too many parameters. '+' is a space, except in `sig`: base64
  /// has no spaces, so a plus in a signature is one that the client forgot to escape.
  static std::optional<QueryParameters> parse(std::string_view raw);

  /// The first parameter with that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] auto begin() const { return parameters_.begin(); }
  [[nodiscard]] auto end() const { return parameters_.end(); }

 private:
  std::vector<Parameter> parameters_;
  std::unique_ptr<char[]> decoded_;  // as large as the raw query, once something is escaped
};

/// A URL or a part of one, with the signature in its query replaced by XXXXX.
std::string without_signature(std::string_view url);

}  // namespace tidemark
