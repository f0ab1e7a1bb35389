#include "tests/simulation/lookup_oracle.h"

#include <algorithm>

#include "jobs/store/rows.h"
#include "tests/simulation/table_oracle.h"

namespace tidemark::simulation {
namespace {

std::set<LookupOracle::Key> keys_of(const std::vector<LookupOracle::Hit>& hits) {
  std::set<LookupOracle::Key> keys;
  for (const auto& hit : hits) keys.insert(hit.key);
  return keys;
}

}  // namespace

void LookupOracle::violated(const Question& question, const std::string& invariant, const std::string& what) {
  scheduler_.trace().violation(now(), invariant + ": a lookup of group " + std::to_string(question.group) + " by " +
                                          question.index + " " + what);
}

void LookupOracle::changed(const Key& key, const std::optional<table_store::Entity>& row,
                           table_store::Version version) {
  State state{now(), version, std::nullopt, row ? row->version : 0};
  const auto* group = row ? jobs::property<std::int32_t>(*row, "Group") : nullptr;
  if (group != nullptr) state.group = *group;
  states_[key].push_back(state);
}

/// Tells whether the hit matched at any moment since the question.
bool LookupOracle::right(const Question& question, const Hit& hit) const {
  const auto found = states_.find(hit.key);
  if (found == states_.end() || !asks_for(question, hit.key)) return false;
  const auto& states = found->second;
  for (std::size_t i = states.size(); i-- > 0;) {
    const auto& state = states[i];
    const bool same = hit.version == 0 || hit.version == state.entity_version;
    if (same && state.group == question.group) return true;
    if (state.from < question.asked) return false;  // earlier states had ended when the question was asked
  }
  return false;
}

void LookupOracle::answered(const Question& question, const std::vector<Hit>& hits) {
  ++judged_;
  for (const auto& hit : hits) {
    if (!right(question, hit)) violated(question, "L1", "found " + shown(hit.key) + ", which does not match");
  }
  if (question.known == 0) return;
  const auto found = keys_of(hits);
  for (const auto& [key, states] : states_) {
    const auto& last = states.back();
    if (!asks_for(question, key)) continue;
    if (last.group != question.group || last.version > question.known || last.from > question.asked) continue;
    if (!found.contains(key)) violated(question, "L2", "missed " + shown(key) + ", which it had to know");
  }
}

void LookupOracle::answered_in_quiet(const Question& question, const std::vector<Hit>& hits) {
  answered(question, hits);
  const auto found = keys_of(hits);
  if (found.size() != hits.size()) violated(question, "L3", "found an entity twice");
  for (const auto& [key, states] : states_) {
    if (states.back().group == question.group && asks_for(question, key) && !found.contains(key)) {
      violated(question, "L3", "missed " + shown(key));
    }
  }
}

}  // namespace tidemark::simulation
