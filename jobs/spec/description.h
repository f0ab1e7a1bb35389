// The description of an object's members: names, forms and meanings. `members()` gives it (spec_members.h); the schemas
// of jobs in api/rest/openapi.json and the options of `tidemark job submit` are made from it. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::jobs {

/// The facts about a member that its type does not tell. The texts are static; each may be absent.
struct About {
  const char* meaning = nullptr;  // one sentence, without a capital letter or a full stop
  const char* detail = nullptr;   // what openapi.json adds to it
  const char* option = nullptr;   // what the help of the command line says instead
  const char* flag = nullptr;     // the option's name, if it is not made from the member's; "": there is no option
  const char* pattern = nullptr;
  std::size_t least = 0;                       // characters
  std::size_t most = 0;                        // characters; 0: without limit
  std::span<const std::string_view> one_of{};  // all values of a text
  bool not_always = false;                     // an answer may be without it, although it has a default
};

struct Member {
  std::string name;
  nlohmann::ordered_json schema;  // of OpenAPI 3.1
  bool required = false;
  About about;
  std::vector<Member> inner;  // of an object: its members that have options of their own
};

nlohmann::ordered_json text_schema(const About& about);
/// `max` INT64_MAX: without limit.
nlohmann::ordered_json number_schema(std::int64_t min, std::int64_t max, std::optional<std::int64_t> preset = {});
/// The use of an object: in a request, members may be left out that have a default; in an answer they are there.
enum class Use : std::uint8_t { kRequest, kAnswer };

/// Returns {"$ref":...} for a schema of openapi.json.
nlohmann::ordered_json reference(std::string_view schema);

/// Returns the members' schemas by name, with their meanings.
nlohmann::ordered_json properties_of(const std::vector<Member>& members);
/// Returns the names of the members that must be given.
nlohmann::ordered_json required_of(const std::vector<Member>& members);
/// Returns the schema of an object that has these members and no others.
nlohmann::ordered_json object_schema(const std::vector<Member>& members);

}  // namespace tidemark::jobs
