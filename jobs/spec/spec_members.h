// The members of a job's JSON, told once for all uses: the same calls read and check a submission, write a job, or
// describe the members for openapi.json and the command line (description.h). Reading collects every problem, so that a
// refusal lists them all. Pure, one thread.
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
#include "jobs/spec/description.h"
#include "jobs/spec/names.h"
#include "jobs/spec/selection.h"
#include "jobs/spec/shown.h"
#include "table_store/model/limits.h"

namespace tidemark::jobs {

/// Parses the setting job_accounts: "one,another". kConfigInvalid.
Result<std::vector<std::string>> parse_account_list(std::string_view setting);

inline constexpr const char* kTablePattern = "^[A-Za-z][A-Za-z0-9]{2,62}$";
inline constexpr About kTableToRead{.meaning = "table to read"};
inline constexpr About kTableToWrite{.meaning = "table to write; created if absent"};
inline constexpr About kTheseProperties{.meaning = "these properties; all if absent", .flag = "--property-list"};

/// Each call names a member. When reading, it takes the member's value if it exists, and notes a problem if its form is
/// wrong; it returns true if it took a value. When writing, it writes the value unless it is empty. When describing, it
/// notes the member; the value before is its default.
class SpecMembers {
 public:
  explicit SpecMembers(const nlohmann::json& from) : from_(&from) {}
  explicit SpecMembers(nlohmann::ordered_json& to) : to_(&to) {}
  explicit SpecMembers(std::vector<Member>& described, Use use = Use::kRequest)
      : described_(&described), describes_answer_(use == Use::kAnswer) {}

  [[nodiscard]] bool writes() const { return to_ != nullptr; }
  [[nodiscard]] bool describes() const { return described_ != nullptr; }
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  /// Used only when reading.
  [[nodiscard]] bool has(const char* name) const { return from_ != nullptr && from_->contains(name); }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  bool text(const char* name, std::string& value, bool required = false, const About& about = {});
  bool text(const char* name, std::string& value, const About& about) { return text(name, value, false, about); }
  template <std::integral T>
  bool number(const char* name, T& value, std::int64_t min, std::int64_t max, const About& about = {},
              bool required = false) {
    if (describes()) {
      const bool has_default = !required && !describes_answer_;
      const auto preset = has_default ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
      describe(name, number_schema(min, max, preset), about, !has_default && !about.not_always);
    }
    if (writes()) put(name, value);
    const auto given = integer(name, min, max, required);
    if (given) value = static_cast<T>(*given);
    return given.has_value();
  }
  template <std::integral T>
  bool number(const char* name, std::optional<T>& value, std::int64_t min, std::int64_t max, const About& about = {}) {
    if (describes()) describe(name, number_schema(min, max), about);
    if (describes() || (writes() && !value)) return false;
    T given = value.value_or(T{});
    const bool read = number(name, given, min, max);
    if (read) value = given;
    return read;
  }
  bool flag(const char* name, bool& value, const About& about = {});
  bool flag(const char* name, std::optional<bool>& value, const About& about = {}) {
    bool given = false;
    const bool read = !writes() && flag(name, given, about);
    if (read) value = given;
    return read;
  }
  /// A time that a property of an entity can hold.
  bool time(const char* name, std::optional<Time>& value, const About& about = {});
  /// The name of one of the values.
  template <class Value, std::size_t N>
  bool choice(const char* name, const Names<Value, N>& names, Value& value, About about = {}, bool required = false) {
    const auto all = texts_in(names);
    about.one_of = all;
    std::string given(name_in(names, value));
    if (!text(name, given, required, about)) return false;
    if (const auto known = value_in(names, given)) {
      value = *known;
      return true;
    }
    problem(std::string(name) + " must be one of " + joined(all));
    return false;
  }
  /// The names must be distinct, and 1 to `most`.
  void property_names(const char* name, std::vector<std::string>& names, std::size_t most = table_store::kMaxProperties,
                      const About& about = {}, bool required = false);
  void property_names(const char* name, std::vector<std::string>& names, const About& about) {
    property_names(name, names, table_store::kMaxProperties, about);
  }
  void table(const char* name, std::string& value, About about = {}, bool required = true);
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

  /// Reads, writes or describes an object that has members of its own, which members() of T names. `form`: "a url".
  template <class T>
  void object(const char* name, std::optional<T>& value, const char* form, const About& about = {}) {
    if (describes()) describe(name, schema_of_shown<T>(), about);
    if (writes() && value) put(name, members_json(*value));
    const auto* given = any(name);
    if (given == nullptr) return;
    if (!given->is_object()) return problem(std::string(name) + " must be an object with " + form);
    nested(name, *given, value.emplace());
  }

  /// Writes or describes a member of an answer, which no request has. It is always there, unless its type is an
  /// optional.
  template <class T>
  void shows(const char* name, const T& value, const About& about = {}) {
    if (describes()) describe(name, schema_of_shown<T>(about), about, !kIsOptional<T>);
    if (!writes()) return;
    if constexpr (kIsOptional<T>) {
      if (value) put(name, shown(*value));
    } else {
      put(name, shown(value));
    }
  }
  /// Likewise, the name of one of the values.
  template <class Value, std::size_t N>
  void shows(const char* name, const Names<Value, N>& names, const std::optional<Value>& value, About about = {}) {
    const auto all = texts_in(names);
    about.one_of = all;
    shows(name, value ? std::optional(std::string(name_in(names, *value))) : std::nullopt, about);
  }
  template <class Value, std::size_t N>
  void shows(const char* name, const Names<Value, N>& names, const Value& value, About about = {}) {
    const auto all = texts_in(names);
    about.one_of = all;
    shows(name, std::string(name_in(names, value)), about);
  }
  /// Likewise, a text that is left out if it is empty.
  void shows_unless_empty(const char* name, const std::string& value, const About& about = {}) {
    shows(name, value.empty() ? std::nullopt : std::optional(value), about);
  }
  /// Likewise, JSON of this schema; null: it is left out.
  void shows_json(const char* name, nlohmann::ordered_json schema, nlohmann::ordered_json value,
                  const About& about = {}, bool always = false) {
    if (describes()) describe(name, std::move(schema), about, always);
    if (writes() && !value.is_null()) put(name, std::move(value));
  }

  /// Returns the member's value, of any type; null if it is absent.
  const nlohmann::json* any(const char* name);
  /// Returns the member's value if it is an object.
  const nlohmann::json* object(const char* name);
  void put(const char* name, nlohmann::ordered_json value) { (*to_)[name] = std::move(value); }
  /// Describes a member of a form that no other call has.
  void describe(const char* name, nlohmann::ordered_json schema, const About& about = {}, bool required = false,
                std::vector<Member> inner = {});
  /// Returns the members that calls have named so far. Used only when reading.
  [[nodiscard]] const std::vector<std::string>& known() const { return known_; }
  /// Notes a problem for every member that no call has named.
  void refuse_unknown();

 private:
  std::optional<std::int64_t> integer(const char* name, std::int64_t min, std::int64_t max, bool required);
  void key(const char* name, std::string& value);
  void filter(Selection& value);
  const nlohmann::json* from_ = nullptr;
  nlohmann::ordered_json* to_ = nullptr;
  std::vector<Member>* described_ = nullptr;
  bool describes_answer_ = false;
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

/// Returns the description of the members that `value.members()` reads or shows.
template <class T>
std::vector<Member> members_of(T value, Use use) {
  std::vector<Member> out;
  SpecMembers to(out, use);
  value.members(to);
  return out;
}
template <class T>
std::vector<Member> members_of(Use use = Use::kRequest) {
  return members_of<T>(T{}, use);
}
/// Returns the schema of an object that has these members and no others.
template <class T>
nlohmann::ordered_json schema_of(Use use) {
  return object_schema(members_of<T>(use));
}

/// Adds the schemas of requests or answers by their names.
template <class... Ts>
void add_requests(nlohmann::ordered_json& schemas) {
  ((schemas[Ts::kSchema] = schema_of<Ts>(Use::kRequest)), ...);
}
template <class... Ts>
void add_answers(nlohmann::ordered_json& schemas) {
  ((schemas[Ts::kSchema] = schema_of<Ts>(Use::kAnswer)), ...);
}

/// Makes an error with one field "problem" per finding; the message is `what` followed by all of them.
std::unexpected<Error> invalid(ErrorCode code, std::string_view what, const std::vector<std::string>& problems);
/// kJobInvalid.
std::unexpected<Error> invalid_job(const std::vector<std::string>& problems);
bool is_property_name(std::string_view name);
/// Tells whether the text has characters that a key cannot hold.
bool has_forbidden_key_character(std::string_view key);

}  // namespace tidemark::jobs
