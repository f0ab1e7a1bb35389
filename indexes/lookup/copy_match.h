// Which copies have what a lookup asks for. The place of a copy does not always say: where the key is {A}_{B}, x and
// y_z have the place of x_y and z. Pure.
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
  /// The properties asked for of which the place leaves open what they are, sorted.
  [[nodiscard]] const std::vector<std::string>& open() const { return open_; }
  /// Whether the entity of this copy, whose place is within what copy_keys_of() says, has what is asked for, but for
  /// the open properties.
  [[nodiscard]] bool admits_place(EntityOf of, std::string_view row_key) const;
  /// The same of the open properties, which the entity has.
  [[nodiscard]] bool admits_open(const table_store::Entity& entity) const;
  /// Of an entity as it is now.
  [[nodiscard]] bool admits(const table_store::Entity& entity, const jobs::EntityKey& place) const;

 private:
  /// Of a property: what stands in keys for its value, or what that begins with.
  struct Asked {
    std::string text;
    bool whole = true;
    [[nodiscard]] bool admits(std::string_view value) const { return whole ? value == text : value.starts_with(text); }
  };
  [[nodiscard]] const Asked* find(const std::string& name) const;
  void ask(const std::string& name, const std::string& value, bool whole);
  /// Which parts of the template the entity's keys and the partition's template do not tell.
  [[nodiscard]] std::vector<std::size_t> unknown_in(const std::vector<jobs::TemplatePart>& parts) const;
  [[nodiscard]] std::string_view text_of(const jobs::TemplatePart& part, EntityOf of) const;

  jobs::KeyTemplates templates_;
  std::map<std::string, Asked> asked_;
  std::vector<std::string> told_;  // by the partition: properties
  std::vector<std::string> open_;
  std::optional<std::size_t> told_by_row_;  // the part of the row's template that is told by the rest of it
};

}  // namespace tidemark::indexes
