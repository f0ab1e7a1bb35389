// The rule that has made a job, and the rules before it: a rule (feeds/on_change) whose jobs change a table may make
// another rule make a job, and so on. Each write of the job carries the chain (Fence::cause), and each change that it
// makes in a table with a feed notes it; so a rule can tell the changes that its own jobs have caused, however far
// back. Only rules make causes: a message has one, a submission never. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table_store/model/entity.h"

namespace tidemark::jobs {

class SpecMembers;

inline constexpr std::size_t kMostHops = 16;  // rules in a chain

struct Cause {
  std::string rule = {};             // TABLE/NAME, for people
  std::string change = {};           // the id of the change, unique among those of its feed
  std::uint32_t shard = 0;           // the log that has the change
  table_store::Version version = 0;  // of the change
  std::string chain = {};            // the marks of the rules, the first one first, separated by commas
  std::string lane = {};             // jobs of one lane begin one after the other; empty: none
  bool holds = false;                // as poison, the job holds up those behind it in its lane
  bool operator==(const Cause&) const = default;
};

/// Returns the mark of a rule in chains: the beginning of its name, and of what makes its id unique.
std::string mark_of_rule(std::string_view name, std::string_view id);
/// Returns the marks of a chain, the first rule first.
std::vector<std::string_view> marks_in(std::string_view chain);
std::string longer_chain(std::string_view chain, std::string_view mark);

/// Reads the member "cause" of a message.
std::optional<Cause> read_cause(SpecMembers& in);
nlohmann::ordered_json cause_json(const Cause& cause);

}  // namespace tidemark::jobs
