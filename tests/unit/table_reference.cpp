#include "table_reference.h"

#include <set>

namespace tidemark::table_store::reference {
namespace {

Expected failed(ErrorCode code, std::optional<std::size_t> index) { return {code, index, {}}; }

bool has_forbidden_character(const std::string& key) {
  return key.find_first_of("/\\#?\t") != std::string::npos || units_of(key).size() > 512;
}

/// The outcome of a failed condition: an error, or a word for lenient operations.
struct Judgement {
  std::optional<ErrorCode> error;
  std::optional<MutationOutcome> settled;
};

Judgement refuse(const Mutation& change, ErrorCode code, WriteOutcome word, Version version) {
  if (!change.lenient) return {code, {}};
  return {{}, MutationOutcome{word, version}};
}

Judgement judge(const Mutation& change, const Row* row) {
  using enum MutationKind;
  const bool needs_entity = change.kind == kReplace || change.kind == kMerge || change.kind == kErase;
  if (row == nullptr) {
    return needs_entity ? refuse(change, ErrorCode::kResourceNotFound, WriteOutcome::kMissing, 0) : Judgement{};
  }
  if (change.kind == kInsert) {
    return refuse(change, ErrorCode::kEntityAlreadyExists, WriteOutcome::kConflict, row->version);
  }
  if (change.if_version && *change.if_version != row->version) {
    return refuse(change, ErrorCode::kUpdateConditionNotSatisfied, WriteOutcome::kConflict, row->version);
  }
  if (!change.source_version) return {};
  if (change.kind == kInsertOrReplace && change.lenient && !row->source_version) {
    return {{}, MutationOutcome{WriteOutcome::kConflict, row->version}};
  }
  const auto effective = row->source_version ? *row->source_version : row->version;
  if (effective > *change.source_version)
    return {{}, MutationOutcome{WriteOutcome::kSuperseded, row->version, row->source_version}};
  if (change.kind == kInsertOrReplace && row->source_version == change.source_version) {
    return {{}, MutationOutcome{WriteOutcome::kUnchanged, row->version, row->source_version}};
  }
  return {};
}

void merge_into(std::vector<Property>& properties, const std::vector<Property>& changes) {
  for (const auto& change : changes) {
    bool known = false;
    for (auto& property : properties) {
      if (property.name != change.name) continue;
      property.value = change.value;
      known = true;
    }
    if (!known) properties.push_back(change);
  }
}

}  // namespace

std::u16string units_of(std::string_view utf8) {
  std::u16string out;
  for (std::size_t i = 0; i < utf8.size();) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    std::uint32_t point = length == 1 ? byte : byte & (0x7FU >> length);
    for (std::size_t n = 1; n < length; ++n) point = (point << 6) | (static_cast<unsigned char>(utf8[i + n]) & 0x3FU);
    i += length;
    if (point < 0x10000) {
      out.push_back(static_cast<char16_t>(point));
    } else {
      out.push_back(static_cast<char16_t>(0xD800 + ((point - 0x10000) >> 10)));
      out.push_back(static_cast<char16_t>(0xDC00 + ((point - 0x10000) & 0x3FF)));
    }
  }
  return out;
}

const Value* Row::find(std::string_view name) const {
  for (const auto& property : properties) {
    if (property.name == name) return &property.value;
  }
  return nullptr;
}

Expected Store::create(const std::string& table) {
  if (!tables_.try_emplace(table).second) return failed(ErrorCode::kTableAlreadyExists, {});
  return {};
}

Expected Store::drop(const std::string& table) {
  if (tables_.erase(table) == 0) return failed(ErrorCode::kResourceNotFound, {});
  return {};
}

const Rows* Store::rows(const std::string& table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? nullptr : &found->second;
}

const Row* Store::find(const std::string& table, const std::string& pk, const std::string& rk) const {
  const auto* all = rows(table);
  if (all == nullptr) return nullptr;
  const auto found = all->find({units_of(pk), units_of(rk)});
  return found == all->end() ? nullptr : &found->second;
}

Expected Store::mutate(const std::string& table, const std::string& partition_key,
                       const std::vector<Mutation>& mutations, Version now) {
  if (mutations.empty()) return failed(ErrorCode::kInvalidInput, {});
  if (mutations.size() > 100) return failed(ErrorCode::kInvalidInput, 99);
  if (has_forbidden_character(partition_key)) return failed(ErrorCode::kOutOfRangeInput, 0);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    if (has_forbidden_character(mutations[i].row_key)) return failed(ErrorCode::kOutOfRangeInput, i);
    if (!seen.insert(mutations[i].row_key).second) return failed(ErrorCode::kInvalidDuplicateRow, i);
  }
  const auto found = tables_.find(table);
  if (found == tables_.end()) return failed(ErrorCode::kTableNotFound, 0);
  auto& last_version = last_versions_[shard_of_ ? shard_of_(table, partition_key) : 0];
  auto version = std::max(now, last_version + 1);
  if (version % 10 == 0) ++version;
  std::map<Key, std::optional<Row>> changes;
  Expected expected;
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    const auto& change = mutations[i];
    const Key key{units_of(partition_key), units_of(change.row_key)};
    const auto* row = find(table, partition_key, change.row_key);
    const auto judgement = judge(change, row);
    if (judgement.error) return failed(*judgement.error, i);
    if (judgement.settled) {
      expected.outcomes.push_back(*judgement.settled);
      continue;
    }
    auto& after = changes[key];
    const bool merges = change.kind == MutationKind::kMerge || change.kind == MutationKind::kInsertOrMerge;
    if (change.kind != MutationKind::kErase) {
      after = Row{partition_key, change.row_key, version, change.source_version, {}};
      if (merges && row != nullptr) after->properties = row->properties;
      merge_into(after->properties, change.properties);
    }
    expected.outcomes.push_back(
        {WriteOutcome::kApplied, after ? version : 0, after ? after->source_version : std::nullopt});
  }
  if (!changes.empty()) last_version = version;
  for (auto& [key, row] : changes) {
    if (row) {
      found->second.insert_or_assign(key, std::move(*row));
    } else {
      found->second.erase(key);
    }
  }
  return expected;
}

}  // namespace tidemark::table_store::reference
