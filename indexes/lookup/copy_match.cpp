#include "indexes/lookup/copy_match.h"

#include <algorithm>

namespace tidemark::indexes {
namespace {

using jobs::TemplatePart;

bool names_key(std::string_view name) { return name == "PartitionKey" || name == "RowKey"; }

}  // namespace

CopyMatch::CopyMatch(const LookupRequest& request, jobs::KeyTemplates templates) : templates_(std::move(templates)) {
  for (const auto& [name, value] : request.properties) ask(name, value, true);
  if (request.prefix) {
    const auto next = std::ranges::find_if(
        templates_.row, [this](const TemplatePart& part) { return part.placeholder && find(part.text) == nullptr; });
    if (next != templates_.row.end()) ask(next->text, *request.prefix, false);
  }
  for (const auto* parts : {&templates_.partition, &templates_.row}) {
    const auto unknown = unknown_in(*parts);
    if (unknown.size() == 1 && parts == &templates_.partition) told_.push_back((*parts)[unknown.front()].text);
    if (unknown.size() == 1 && parts == &templates_.row) told_by_row_ = unknown.front();
    if (unknown.size() <= 1) continue;
    for (const auto place : unknown) {
      if (find((*parts)[place].text) != nullptr) open_.push_back((*parts)[place].text);
    }
  }
  std::ranges::sort(open_);
  const auto repeats = std::ranges::unique(open_);
  open_.erase(repeats.begin(), repeats.end());
}

const CopyMatch::Asked* CopyMatch::find(const std::string& name) const {
  const auto found = asked_.find(name);
  return found == asked_.end() ? nullptr : &found->second;
}

void CopyMatch::ask(const std::string& name, const std::string& value, bool whole) {
  asked_[name] = {names_key(name) ? value : table_store::escape_key_text(value), whole};
}

std::vector<std::size_t> CopyMatch::unknown_in(const std::vector<TemplatePart>& parts) const {
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [placeholder, text] = parts[i];
    if (placeholder && !names_key(text) && std::ranges::find(told_, text) == told_.end()) unknown.push_back(i);
  }
  return unknown;
}

/// For a property that the partition tells, the entity has the requested value.
std::string_view CopyMatch::text_of(const TemplatePart& part, EntityOf of) const {
  if (!part.placeholder) return part.text;
  if (part.text == "PartitionKey") return of.partition_key;
  if (part.text == "RowKey") return of.row_key;
  const auto* asked = find(part.text);
  return asked == nullptr ? std::string_view() : asked->text;
}

bool CopyMatch::admits_place(EntityOf of, std::string_view row_key) const {
  const auto* partition_key = find("PartitionKey");
  if (partition_key != nullptr && !partition_key->admits(of.partition_key)) return false;
  const auto* own_key = find("RowKey");
  if (own_key != nullptr && !own_key->admits(of.row_key)) return false;
  if (!told_by_row_) return true;
  const auto* asked = find(templates_.row[*told_by_row_].text);
  if (asked == nullptr) return true;
  for (std::size_t i = 0; i < *told_by_row_; ++i) {
    const auto text = text_of(templates_.row[i], of);
    if (!row_key.starts_with(text)) return false;
    row_key.remove_prefix(text.size());
  }
  for (auto i = templates_.row.size() - 1; i > *told_by_row_; --i) {
    const auto text = text_of(templates_.row[i], of);
    if (!row_key.ends_with(text)) return false;
    row_key.remove_suffix(text.size());
  }
  return asked->admits(row_key);
}

bool CopyMatch::admits_open(const table_store::Entity& entity) const {
  return std::ranges::all_of(open_, [&](const std::string& name) {
    const auto* value = entity.find(name);
    return value != nullptr && find(name)->admits(table_store::escape_key_text(jobs::value_text(*value)));
  });
}

bool CopyMatch::admits(const table_store::Entity& entity, const jobs::EntityKey& place) const {
  return admits_place({entity.partition_key, entity.row_key}, place.row_key) && admits_open(entity);
}

}  // namespace tidemark::indexes
