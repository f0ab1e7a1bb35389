// Decides which copies match a lookup. The place of a copy does not always tell: where the key is {A}_{B}, x and y_z
// have the same place as x_y and z. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/lookup/lookup_request.h"
#include "jobs/spec/key_template.h"

namespace tidemark::indexes {

class CopyMatch {
 public:
  CopyMatch(const LookupRequest& request, jobs::KeyTemplates templates);

  /// The keys of the entity that a copy shows.
  struct EntityOf {
    std::string_view partition_key, row_key;
  };
  /// The requested properties whose values the place does not tell, sorted.
  [[nodiscard]] const std::vector<std::string>& open() const { return open_; }
  /// Tells whether the entity of this copy, whose place is within the range of copy_keys_of(), matches the request,
  /// apart from the open properties.
  [[nodiscard]] bool admits_place(EntityOf of, std::string_view row_key) const;
  /// Tells the same for the open properties, which the entity has.
  [[nodiscard]] bool admits_open(const table_store::Entity& entity) const;
  /// Tells whether an entity matches in its present state.
  [[nodiscard]] bool admits(const table_store::Entity& entity, const jobs::EntityKey& place) const;

 private:
  /// The key text of a requested value, or the beginning of that text.
  struct Asked {
    std::string text;
    bool whole = true;
    [[nodiscard]] bool admits(std::string_view value) const { return whole ? value == text : value.starts_with(text); }
  };
  [[nodiscard]] const Asked* find(const std::string& name) const;
  void ask(const std::string& name, const std::string& value, bool whole);
  /// Returns the parts of the template that neither the entity's keys nor the partition's template tell.
  [[nodiscard]] std::vector<std::size_t> unknown_in(const std::vector<jobs::TemplatePart>& parts) const;
  [[nodiscard]] std::string_view text_of(const jobs::TemplatePart& part, EntityOf of) const;

  jobs::KeyTemplates templates_;
  std::map<std::string, Asked> asked_;
  std::vector<std::string> told_;  // properties that the partition tells
  std::vector<std::string> open_;
  std::optional<std::size_t> told_by_row_;  // the part of the row's template that is known from the other parts
};

}  // namespace tidemark::indexes
