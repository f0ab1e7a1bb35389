#include "tests/simulation/index_oracle.h"

#include "common/base/encoding.h"
#include "common/kv/key_codec.h"
#include "indexes/rows/group_totals.h"
#include "indexes/rows/list_piece.h"
#include "indexes/store/index_store.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "tests/simulation/lookup_oracle.h"
#include "tests/simulation/table_oracle.h"
#include "tests/support/stored_entities.h"

namespace tidemark::simulation {
namespace {

using table_store::Version;

constexpr const char* kSums = "sums";
constexpr const char* kByJob = "ByJob";
const std::map<std::string, std::string> kTableOf{{kListsIndex, "ByGroup"},
                                                  {kCopiesIndex, "ByNumber"},
                                                  {kSums, "Sums"},
                                                  {kDenormalisedIndex, kReferringTable},
                                                  {kWithinIndex, "Within"}};

std::string name_in(const std::string& id) {
  for (const auto& [name, table] : kTableOf) {
    if (id.starts_with(name + "-")) return name;
  }
  return {};
}

}  // namespace

const std::map<std::string, std::string>& simulated_indexes() {
  static const std::map<std::string, std::string> kIndexes{
      {kListsIndex, R"({"kind":"lists","source":"Source","by":["Group"],"destination":"ByGroup"})"},
      {kWithinIndex, R"({"kind":"lists","source":"Source","by":["Name"],"where":"partition","destination":"Within"})"},
      {kCopiesIndex, R"({"kind":"copies","source":"Source","destination":"ByNumber","partitionKey":"g{Group}",
                    "rowKey":"{Number}","filter":"Number ge 0"})"},
      {kSums, R"({"kind":"summary","source":"Source","by":["Group"],"of":"Number","destination":"Sums"})"},
      {kDenormalisedIndex, R"({"kind":"denormalised","source":"Source","destination":"Referring",
                               "partitionKey":"{Partition}","rowKey":"{Row}","properties":{"Told":"Number"}})"}};
  return kIndexes;
}

void IndexOracle::violated(std::string text) { scheduler_.trace().violation(scheduler_.now(), std::move(text)); }

void IndexOracle::committed(const std::vector<RowChange>& changes) {
  std::set<std::string> touched_groups;
  for (const auto& change : changes) {
    if (change.key.starts_with('t') && change.value) {
      auto table = table_store::kTableRecord.decode(*change.value);
      if (table) tables_[table->generation] = table->name;
    }
  }
  Version version = 0;
  for (const auto& change : changes) {
    if (change.key != table_store::kLastVersionKey || !change.value) continue;
    version = static_cast<Version>(table_store::kCounterRecord.decode(*change.value).value_or(0));
  }
  std::vector<std::pair<std::string, Row>> progress;
  for (const auto& change : changes) {
    if (!change.key.starts_with('e')) continue;
    auto parts = table_store::parse_entity_key(change.key);
    if (!parts) continue;  // TableOracle complains
    const Key key{std::move(parts->partition_key), std::move(parts->row_key)};
    std::optional<Row> now;
    if (change.value) {
      now.emplace();
      if (!table_store::decode_entity(*change.value, *now)) continue;
      now->partition_key = key.first;
      now->row_key = key.second;
    }
    const auto& table = tables_[generation_in(change.key)];
    if (table == kSourceTable) {
      lookups_.changed(key, now, version);
      source_[key] = {std::move(now), version};
      last_change_ = std::max(last_change_, version);
    } else if (table == kReferringTable) {
      referring_changed(key, std::move(now), version);
    } else if (table == indexes::kIndexTable) {
      if (now && key.first == "progress") progress.emplace_back(key.second, std::move(*now));
    } else {
      if (table == kTableOf.at(kSums)) touched_groups.insert(key.first);
      row_changed(table, key, std::move(now));
    }
  }
  check_summaries(touched_groups);
  for (const auto& [id, row] : progress) progress_changed(id, row);
}

void IndexOracle::row_changed(const std::string& table, const Key& key, std::optional<Row> now) {
  const bool pieces =
      table == kTableOf.at(kListsIndex) || table == kTableOf.at(kWithinIndex) || table == kTableOf.at(kSums);
  if (!pieces && table != kTableOf.at(kCopiesIndex) && table != kByJob) return;
  if (!now) {
    rows_[table].erase(key);
    return;
  }
  if (!now->origin) violated("I2: a row of an index without its mark: " + shown(key));
  if (pieces && key.second != indexes::kSummaryRow) {
    const auto piece = indexes::read_piece(*now);
    const auto* text = jobs::property<std::string>(*now, "Keys");
    if (!piece || text == nullptr || piece->entries.empty()) {
      violated("I4: piece " + shown(key) + " cannot be read");
    } else if (utf16_length(*text) > indexes::piece_units() && piece->entries.size() > 1) {
      violated("I4: piece " + shown(key) + " is too large");
    }
  }
  rows_[table][key] = std::move(*now);
}

/// Each write of the people changes Mark and none sets Told: it replaces the entity without it, or is merged. So a
/// commit changes either Mark, or only Told, which the index writes.
void IndexOracle::referring_changed(const Key& key, std::optional<Row> now, Version version) {
  auto& known = referring_[key];
  last_referring_change_ = std::max(last_referring_change_, version);
  const auto mark = [](const Row& row) { return jobs::property_or<std::int32_t>(row, "Mark", -1); };
  const auto others = [](const Row& row) {
    std::map<std::string, std::string> out;
    for (const auto& [name, value] : row.properties) {
      if (name != "Told") out[name] = jobs::value_text(value);
    }
    return out;
  };
  const auto told = [](const Row& row) { return jobs::property_or<std::int32_t>(row, "Told", -1); };
  if (now && known.row && mark(*now) != mark(*known.row) && told(*now) != -1 && told(*now) != told(*known.row)) {
    violated("I7: another " + shown(key) + " came back with what it was told");
  }
  if (now && known.row && mark(*now) == mark(*known.row) && others(*now) != others(*known.row)) {
    violated("I7: more than was told changed in " + shown(key));
  }
  if (now && !known.row && now->find("Told") != nullptr) violated("I5: " + shown(key) + " came back");
  known = {std::move(now), version};
}

std::vector<std::string> IndexOracle::wrong_in_told(Version position) const {
  std::vector<std::string> wrong;
  for (const auto& [key, referring] : referring_) {
    if (referring.changed > position || !referring.row) continue;
    const auto part = [&](const char* name) {
      return table_store::escape_key_text(jobs::property_or<std::string>(*referring.row, name));
    };
    const auto source = source_.find({part("Partition"), part("Row")});
    if (source != source_.end() && source->second.changed > position) continue;
    const bool there = source != source_.end() && source->second.row;
    const auto* wanted = there ? jobs::property<std::int32_t>(*source->second.row, "Number") : nullptr;
    const auto* told = jobs::property<std::int32_t>(*referring.row, "Told");
    if (wanted == nullptr ? told == nullptr : told != nullptr && *told == *wanted) continue;
    wrong.push_back("I7: " + shown(key) + " was told " + (told == nullptr ? "nothing" : std::to_string(*told)) +
                    ", but what it refers to says " + (wanted == nullptr ? "nothing" : std::to_string(*wanted)));
  }
  return wrong;
}

/// Tells whether the rows of this index are being erased page by page, in the order of their keys.
bool IndexOracle::is_being_dropped(const std::string& name) const {
  bool dropping = false;
  for (const auto& [id, known] : known_) {
    if (name_in(id) != name) continue;
    if (known.state != indexes::kDropping) return false;
    dropping = true;
  }
  return dropping;
}

void IndexOracle::check_summaries(const std::set<std::string>& groups) {
  if (is_being_dropped(kSums)) return;
  const auto& rows = rows_[kTableOf.at(kSums)];
  for (const auto& group : groups) {
    indexes::GroupTotals pieces;
    indexes::GroupTotals told;
    for (auto row = rows.lower_bound({group, ""}); row != rows.end() && row->first.first == group; ++row) {
      if (row->first.second == indexes::kSummaryRow) {
        told = indexes::read_summary(row->second).value_or(indexes::GroupTotals{});
      } else if (const auto piece = indexes::read_piece(row->second)) {
        pieces.add(indexes::totals_of(piece->entries));
      }
    }
    if (told.count != pieces.count || told.sum() != pieces.sum() || told.min != pieces.min || told.max != pieces.max) {
      violated("I6: the summary of " + group + " is not what its pieces say");
    }
  }
}

void IndexOracle::progress_changed(const std::string& id, const Row& row) {
  const auto name = name_in(id);
  if (name.empty()) return;
  const auto position = jobs::property_or<std::int64_t>(row, "Position");
  const auto state = jobs::property_or<std::string>(row, "State");
  auto& known = known_[id];
  // An owner that drops an index may find that another owner has removed its progress.
  if (position < known.position && state != indexes::kDropping) violated("I3: the position of " + name + " went back");
  if (jobs::property_or<std::int64_t>(row, "WrongEver") > 0) {
    violated("I1: a scrub found rows of " + name + " that were wrong");
  }
  const bool lost = state == indexes::kStale || (known.lost && state != indexes::kReady);
  known = {state, position, lost};
  if (state == indexes::kReady || (state == indexes::kVerifying && !lost)) check_up_to(name, position);
}

/// Returns the statement that the index has to hold about the entity; empty: none.
std::string IndexOracle::claim_of(const std::string& name, const Row& source) const {
  const auto* group = jobs::property<std::int32_t>(source, "Group");
  const auto* number = jobs::property<std::int32_t>(source, "Number");
  if (group == nullptr || number == nullptr) return {};
  if (name == kCopiesIndex) return "g" + std::to_string(*group) + "/" + std::to_string(*number);
  if (name == kWithinIndex) return source.partition_key + "/" + jobs::property_or<std::string>(source, "Name");
  auto claim = "group " + std::to_string(*group);
  if (name == kSums) claim += " with " + std::to_string(*number);
  return claim;
}

IndexOracle::Claims IndexOracle::claims_of(const std::string& name) const {
  Claims claims;
  const auto found = rows_.find(kTableOf.at(name));
  if (found == rows_.end()) return claims;
  for (const auto& [key, row] : found->second) {
    if (name == kCopiesIndex) {
      claims[{row.origin->partition_key, row.origin->row_key}].insert(key.first + "/" + key.second);
      continue;
    }
    if (key.second == indexes::kSummaryRow) continue;
    const auto piece = indexes::read_piece(row);
    if (!piece) continue;
    // Whole numbers are p and 19 digits (table_store/model/group_text.h); there are no negative ones.
    const auto group = name == kWithinIndex ? key.first + "/" + piece->group
                                            : "group " + std::to_string(std::stoll(piece->group.substr(1)));
    for (const auto& entry : piece->entries) {
      auto claim = group;
      if (const auto* number = std::get_if<std::int64_t>(&entry.value)) claim += " with " + std::to_string(*number);
      if (!claims[{entry.partition_key, entry.row_key}].insert(std::move(claim)).second) claims[{"twice", ""}] = {"x"};
    }
  }
  return claims;
}

void IndexOracle::check_up_to(const std::string& name, Version position) {
  for (auto& wrong : wrong_in(name, position)) violated(std::move(wrong));
}

std::vector<std::string> IndexOracle::wrong_in(const std::string& name, Version position) const {
  if (name == kDenormalisedIndex) return wrong_in_told(position);
  std::vector<std::string> wrong;
  const auto claims = claims_of(name);
  if (claims.contains({"twice", ""})) wrong.push_back("I4: " + name + " lists a key twice");
  for (const auto& [key, source] : source_) {
    if (source.changed > position) continue;
    const auto wanted = source.row ? claim_of(name, *source.row) : std::string();
    const auto found = claims.find(key);
    const auto had = found == claims.end() ? std::set<std::string>{} : found->second;
    if (had == (wanted.empty() ? std::set<std::string>{} : std::set<std::string>{wanted})) continue;
    std::string all;
    for (const auto& claim : had) all += " [" + claim + "]";
    wrong.push_back((!wanted.empty() && !had.contains(wanted) ? "I1: " : "I2: ") + name + " has" + all + " of " +
                    shown(key) + ", which is [" + wanted + "]");
  }
  return wrong;
}

Version IndexOracle::last_change_of(const std::string& name) const {
  return name == kDenormalisedIndex ? std::max(last_change_, last_referring_change_) : last_change_;
}

std::string IndexOracle::unsettled(const std::set<std::string>& names) const {
  for (const auto& name : names) {
    std::string seen;
    bool ready = false;
    for (const auto& [id, known] : known_) {
      if (name_in(id) != name) continue;
      seen += " " + known.state + " at " + std::to_string(known.position);
      // With several shards, a shard with few writes keeps the position low.
      const auto last = last_change_of(name);
      const bool up_to_date = known.position >= last || (divided_ && wrong_in(name, last).empty());
      ready = ready || (known.state == indexes::kReady && up_to_date);
    }
    if (!ready) return "index " + name + " is" + seen + ", the last change is " + std::to_string(last_change_of(name));
  }
  return {};
}

void IndexOracle::check_quiet(const std::set<std::string>& names) {
  for (const auto& name : names) check_up_to(name, last_change_of(name));
}

bool IndexOracle::gone(const std::set<std::string>& names) const {
  return std::ranges::all_of(names, [&](const auto& name) {
    const auto rows = rows_.find(kTableOf.at(name));
    return rows == rows_.end() || rows->second.empty();
  });
}

void IndexOracle::check_job() {
  std::map<Key, std::string> listed;
  for (const auto& [place, row] : rows_[kByJob]) {
    const auto piece = indexes::read_piece(row, indexes::kIndexJobForm);
    if (!piece) return violated("I7: the job's piece " + shown(place) + " cannot be read");
    for (const auto& entry : piece->entries) {
      const Key key{entry.partition_key, entry.row_key};
      if (!listed.emplace(key, piece->group).second) violated("I7: the job lists " + shown(key) + " twice");
    }
  }
  std::map<Key, std::string> truth;
  for (const auto& [key, source] : source_) {
    const auto* group = source.row ? jobs::property<std::int32_t>(*source.row, "Group") : nullptr;
    if (group != nullptr) truth.emplace(key, std::to_string(*group));
  }
  if (listed != truth) violated("I7: the job's table is not what a scan gives");
}

}  // namespace tidemark::simulation
