#include "jobs/spec/cause.h"

#include "common/base/operation_ledger.h"
#include "common/base/text.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kNameInMark = 16;
constexpr std::size_t kDigitsInMark = 8;
static_assert(kMostHops * (kNameInMark + kDigitsInMark + 2) <= kMaxCauseBytes);
constexpr std::size_t kMostRuleBytes = 127;
constexpr std::size_t kMostChangeBytes = 200;
constexpr std::size_t kMostLaneBytes = 64;

}  // namespace

std::string mark_of_rule(std::string_view name, std::string_view id) {
  // The id is the name, '-' and a guid.
  const auto unique = id.substr(std::min(id.size(), name.size() + 1), kDigitsInMark);
  return std::string(name.substr(0, kNameInMark)) + "-" + std::string(unique);
}

std::vector<std::string_view> marks_in(std::string_view chain) {
  std::vector<std::string_view> out;
  while (!chain.empty()) {
    const auto end = std::min(chain.find(','), chain.size());
    out.push_back(chain.substr(0, end));
    chain.remove_prefix(std::min(end + 1, chain.size()));
  }
  return out;
}

std::string longer_chain(std::string_view chain, std::string_view mark) {
  std::string out(chain);
  if (!out.empty()) out += ',';
  return out.append(mark);
}

std::optional<Cause> read_cause(SpecMembers& in) {
  const auto* given = in.any("cause");
  if (given == nullptr) return std::nullopt;
  Cause cause;
  if (given->is_object()) {
    SpecMembers inner(*given);
    inner.text("rule", cause.rule);
    inner.text("change", cause.change);
    inner.number("shard", cause.shard, 0, UINT32_MAX);
    inner.number("version", cause.version, 0, INT64_MAX);
    inner.text("chain", cause.chain);
    inner.text("lane", cause.lane);
    inner.flag("holds", cause.holds);
  }
  const bool fits = cause.rule.size() <= kMostRuleBytes && cause.change.size() <= kMostChangeBytes &&
                    cause.chain.size() <= kMaxCauseBytes && cause.lane.size() <= kMostLaneBytes;
  if (cause.rule.empty() || cause.chain.empty() || !fits) in.problem("cause is not one that a rule has made");
  return cause;
}

nlohmann::ordered_json cause_json(const Cause& cause) {
  nlohmann::ordered_json out{{"rule", cause.rule}};
  if (!cause.change.empty()) out["change"] = cause.change;
  if (!cause.change.empty()) out["shard"] = cause.shard;
  if (!cause.change.empty()) out["version"] = cause.version;
  out["chain"] = cause.chain;
  if (!cause.lane.empty()) out["lane"] = cause.lane;
  if (cause.holds) out["holds"] = true;
  return out;
}

}  // namespace tidemark::jobs
