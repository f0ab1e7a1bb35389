// Reads the members of a submitted job and collects every problem, so that a refusal lists them all. Pure, one thread.
#pragma once
#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"
#include "jobs/spec/names.h"
#include "jobs/spec/selection.h"

namespace tidemark::jobs {

/// If a getter finds nothing of the right form, it notes the problem and returns nothing.
class SpecReader {
 public:
  explicit SpecReader(const nlohmann::json& object) : object_(object) {}

  void problem(std::string text) { problems_.push_back(std::move(text)); }
  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  /// Of any form; null if it is not there.
  const nlohmann::json* any(const char* name) { return member(name); }
  std::optional<std::string> text(const char* name, bool required);
  std::optional<std::int64_t> integer(const char* name, std::int64_t min, std::int64_t max);
  std::optional<bool> boolean(const char* name);
  std::optional<Time> time(const char* name);
  /// One of the names; `fallback` if it is absent.
  template <class Value, std::size_t N>
  Value choice(const char* name, const Names<Value, N>& names, Value fallback) {
    const auto given = text(name, false);
    if (!given) return fallback;
    if (const auto value = value_in(names, *given)) return *value;
    std::vector<std::string_view> all;
    for (const auto& [value, known] : names) all.push_back(known);
    problem(std::string(name) + " must be one of " + joined(all));
    return fallback;
  }
  /// An object; null if there is none.
  const nlohmann::json* object(const char* name, bool required);
  /// Distinct, and not more than an entity has.
  std::vector<std::string> property_names(const char* name);
  /// The member if it is an object; anything else is left for another getter.
  const nlohmann::json* object(const char* name);
  std::string table(const char* name);
  std::string key(const char* name);
  /// partitionKey and rowKey, or filter. `alternative`: something else was given instead.
  Selection selection(bool alternative = false);
  void two_tables(const std::string& source, const std::string& destination);
  /// Notes every member that no getter asked for.
  void refuse_unknown();

 private:
  const nlohmann::json* member(const char* name);
  const nlohmann::json& object_;
  std::vector<std::string> known_;
  std::vector<std::string> problems_;
};

/// One field "problem" per finding; the message is `what` and all of them.
std::unexpected<Error> invalid(ErrorCode code, std::string_view what, const std::vector<std::string>& problems);
/// kJobInvalid.
std::unexpected<Error> invalid_job(const std::vector<std::string>& problems);
bool is_property_name(std::string_view name);
/// Whether a key cannot hold one of these characters.
bool has_forbidden_key_character(std::string_view key);

}  // namespace tidemark::jobs
