#include "api/rest/parameters.h"

#include <algorithm>
#include <charconv>

#include "common/base/query.h"

namespace tidemark::api {
namespace {

constexpr std::uint32_t kMaxPage = 1000;
constexpr std::uint32_t kDefaultPage = 100;

std::unexpected<Error> refuse(std::string why) { return fail(ErrorCode::kInvalidQueryParameterValue, std::move(why)); }

}  // namespace

Result<Parameters> Parameters::read(const http::Request& request) {
  const auto given = QueryParameters::parse(request.query);
  if (!given) return refuse("The query string has a broken percent escape.");
  Parameters out;
  for (const auto& [name, value] : *given) {
    if (!out.values_.emplace(name, value).second) {
      return refuse("The query parameter " + std::string(name) + " is given twice.");
    }
  }
  return out;
}

std::string Parameters::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

Result<std::optional<std::int64_t>> Parameters::number(std::string_view name, std::int64_t min,
                                                       std::int64_t max) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  const auto& value = found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < min || number > max) {
    return fail(
        ErrorCode::kOutOfRangeQueryParameterValue,
        std::string(name) + " must be a number from " + std::to_string(min) + " to " + std::to_string(max) + ".");
  }
  return number;
}

Result<std::uint32_t> Parameters::limit() const {
  return static_cast<std::uint32_t>(TRY(number("limit", 1, kMaxPage)).value_or(kDefaultPage));
}

Result<bool> Parameters::flag(std::string_view name) const {
  const auto value = text(name);
  if (value.empty() || value == "false") return false;
  if (value == "true") return true;
  return refuse(std::string(name) + " must be true or false.");
}

Result<jobs::PoisonFilter> Parameters::poison_filter() const {
  jobs::PoisonFilter filter;
  filter.kind = text("kind");
  filter.source = text("source");
  filter.fingerprint = text("fingerprint");
  for (const auto& [name, into] : {std::pair<const char*, std::optional<Time>*>("movedAfter", &filter.moved_after),
                                   std::pair<const char*, std::optional<Time>*>("movedBefore", &filter.moved_before)}) {
    const auto value = text(name);
    if (value.empty()) continue;
    *into = parse_iso8601(value);
    if (!*into) return refuse(std::string(name) + " must be a time such as 2026-01-31T22:00:00Z.");
  }
  return filter;
}

}  // namespace tidemark::api
