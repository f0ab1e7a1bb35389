// The members of a job's JSON, described once for both directions: the same calls read and check a submission, or write
// a job. Reading collects every problem, so that a refusal lists them all. Pure, one thread.
#pragma once
#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"
#include "jobs/spec/names.h"
#include "jobs/spec/selection.h"
#include "table_store/model/limits.h"

namespace tidemark::jobs {

/// Parses the setting job_accounts: "one,another". kConfigInvalid.
Result<std::vector<std::string>> parse_account_list(std::string_view setting);

/// Each call names a member. When reading, it takes the member's value if it exists, and notes a problem if its form is
/// wrong; it returns true if it took a value. When writing, it writes the value unless it is empty.
class SpecMembers {
 public:
  explicit SpecMembers(const nlohmann::json& from) : from_(&from) {}
  explicit SpecMembers(nlohmann::ordered_json& to) : to_(&to) {}

  [[nodiscard]] bool writes() const { return to_ != nullptr; }
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  /// Used only when reading.
  [[nodiscard]] bool has(const char* name) const { return from_ != nullptr && from_->contains(name); }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  bool text(const char* name, std::string& value, bool required = false);
  template <std::integral T>
  bool number(const char* name, T& value, std::int64_t min, std::int64_t max) {
    if (writes()) put(name, value);
    const auto given = integer(name, min, max);
    if (given) value = static_cast<T>(*given);
    return given.has_value();
  }
  template <std::integral T>
  bool number(const char* name, std::optional<T>& value, std::int64_t min, std::int64_t max) {
    if (writes() && !value) return false;
    T given = value.value_or(T{});
    const bool read = number(name, given, min, max);
    if (read) value = given;
    return read;
  }
  bool flag(const char* name, bool& value);
  /// A time that a property of an entity can hold.
  bool time(const char* name, std::optional<Time>& value);
  /// The name of one of the values.
  template <class Value, std::size_t N>
  bool choice(const char* name, const Names<Value, N>& names, Value& value) {
    std::string given(name_in(names, value));
    if (!text(name, given)) return false;
    if (const auto known = value_in(names, given)) {
      value = *known;
      return true;
    }
    std::vector<std::string_view> all;
    for (const auto& [each, known] : names) all.push_back(known);
    problem(std::string(name) + " must be one of " + joined(all));
    return false;
  }
  /// The names must be distinct, and 1 to `most`.
  void property_names(const char* name, std::vector<std::string>& names,
                      std::size_t most = table_store::kMaxProperties);
  void table(const char* name, std::string& value);
  /// Reads partitionKey and rowKey, or filter. `alternative`: another selection was given instead.
  void selection(Selection& value, bool alternative = false);
  /// The same for kinds where partitionKey and rowKey have another meaning: {"entity":{"partitionKey":...}}, or filter.
  void entity_or_filter(Selection& value);
  /// Reads sourceAccount and destinationAccount.
  void accounts(Accounts& value);
  void two_tables(const std::string& source, const std::string& destination);
  /// Reads a member that has members of its own, which `value.members()` describes; `object` is the JSON to read.
  template <class T>
  void nested(const char* name, const nlohmann::json& object, T& value) {
    SpecMembers inner(object);
    value.members(inner);
    inner.refuse_unknown();
    for (const auto& each : inner.problems()) problem(std::string(name) + ": " + each);
  }

  /// Returns the member's value, of any type; null if it is absent.
  const nlohmann::json* any(const char* name);
  /// Returns the member's value if it is an object.
  const nlohmann::json* object(const char* name);
  void put(const char* name, nlohmann::ordered_json value) { (*to_)[name] = std::move(value); }
  /// Tells whether a call has named the member so far.
  [[nodiscard]] bool knows(std::string_view name) const { return std::ranges::find(known_, name) != known_.end(); }
  /// Notes a problem for every member that no call has named.
  void refuse_unknown();

 private:
  std::optional<std::int64_t> integer(const char* name, std::int64_t min, std::int64_t max);
  void key(const char* name, std::string& value);
  void filter(Selection& value);
  const nlohmann::json* from_ = nullptr;
  nlohmann::ordered_json* to_ = nullptr;
  std::vector<std::string> known_;
  std::vector<std::string> problems_;
};

/// Returns the JSON that `value.members()` writes.
template <class T>
nlohmann::ordered_json members_json(T value) {
  auto out = nlohmann::ordered_json::object();
  SpecMembers to(out);
  value.members(to);
  return out;
}

/// Makes an error with one field "problem" per finding; the message is `what` followed by all of them.
std::unexpected<Error> invalid(ErrorCode code, std::string_view what, const std::vector<std::string>& problems);
/// kJobInvalid.
std::unexpected<Error> invalid_job(const std::vector<std::string>& problems);
bool is_property_name(std::string_view name);
/// Tells whether the text has characters that a key cannot hold.
bool has_forbidden_key_character(std::string_view key);

}  // namespace tidemark::jobs
