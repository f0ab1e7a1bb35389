// The definition of an index of a table, which a person declares; from then on the index follows every write to the
// table. The kinds, each a pattern of the table design guide:
//   copies   each entity once more under other keys (intra- and inter-partition secondary index), whole or projected
//   lists    the keys of all entities with a value of a property (index entities)
//   summary  count, sum, minimum and maximum of a property for each group
//   denormalised  properties of an entity kept in the entities that refer to it (denormalization)
// Plain values, and their JSON form.
#pragma once
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "jobs/spec/on_end.h"

namespace tidemark::indexes {

inline constexpr std::size_t kMaxNameBytes = 63;
inline constexpr std::size_t kMaxGroupProperties = 4;
inline constexpr std::size_t kMaxProjectedProperties = 64;
inline constexpr std::size_t kMaxKeyProperties = 64;  // in keys and filter
/// The parameters of lookups in every index. Lookups in copies also have the properties of the keys, by their names.
inline constexpr std::string_view kLookupParameters[] = {"prefix",     "top",    "continuation", "select",
                                                         "minVersion", "maxLag", "wait"};

struct CopiesKind {
  static constexpr std::string_view kName = "copies";
  std::string destination;                             // a table, which may be the source
  std::string partition_key, row_key;                  // templates (jobs/spec/key_template.h)
  std::optional<std::vector<std::string>> properties;  // absent: all
  bool operator==(const CopiesKind&) const = default;
};

struct ListsKind {
  static constexpr std::string_view kName = "lists";
  enum class Where : std::uint8_t {
    kAcross,     // in the table `destination`, with a partition for each value
    kPartition,  // in the entity's own partition of the table `destination`, which may be the source
    kBlobs,      // in blobs of `container`, whose names begin with `prefix`
  };
  std::vector<std::string> by;  // 1..4 properties; PartitionKey and RowKey too
  Where where = Where::kAcross;
  std::string destination;
  std::string container, prefix;
  /// Queries of the table store use the lists, if their filter gives values for `by`
  /// (table_store/model/entity_lists.h). This is the only member that can be changed in an existing index.
  bool answers_queries = false;
  bool unique = false;  // a value of more than one entity is a violation, which is reported
  std::optional<jobs::CallbackEndpoint> on_violation;  // the endpoint to which each new violation is reported
  bool operator==(const ListsKind&) const = default;
};

struct SummaryKind {
  static constexpr std::string_view kName = "summary";
  std::vector<std::string> by;
  std::string of;  // the property that is summed; empty: the entities are counted only
  std::string destination;
  bool operator==(const SummaryKind&) const = default;
};

/// Values of an entity of the source, kept in the entities of `destination` that refer to it.
struct DenormalisedKind {
  static constexpr std::string_view kName = "denormalised";
  /// The values of an entity that refers to a missing one.
  enum class Missing : std::uint8_t { kRemove, kEmpty };
  struct Taken {
    std::string name;  // in the referring entity
    std::string from;  // in the entity that it refers to
    bool operator==(const Taken&) const = default;
  };
  std::string destination;             // a table, which may be the source
  std::string partition_key, row_key;  // templates: an entity of `destination` refers to the one with these keys
  std::vector<Taken> properties;       // by name
  Missing missing = Missing::kRemove;
  /// Tells whether a property has the same name in both entities. If so, within one table, only an entity that refers
  /// to none can be referred to, and it keeps its own values; no value is taken from an entity that refers to another
  /// one, so that no value goes round in a circle.
  [[nodiscard]] bool same_names() const;
  bool operator==(const DenormalisedKind&) const = default;
};

struct Definition {
  std::string source;
  /// OData; empty: every entity. It applies to the entities of entities(); the others have no rows in the index.
  std::string filter;
  std::variant<CopiesKind, ListsKind, SummaryKind, DenormalisedKind> kind;
  // The limits for the changes that wait for the index (table_store/model/changes.h).
  std::uint64_t max_changes = 1'000'000;
  std::uint64_t max_bytes = 1ULL << 30;
  bool refuse_writes = false;
  std::uint32_t build_per_second = 0;  // entities; 0: without a limit
  std::uint32_t scrub_per_second = 200;
  bool operator==(const Definition&) const = default;

  [[nodiscard]] std::string_view kind_name() const;
  /// The tables that the index writes; empty for blobs.
  [[nodiscard]] std::string destination() const;
  /// The table whose entities the index is about: the source; for the kind denormalised, the table of the referring
  /// entities.
  [[nodiscard]] const std::string& entities() const;
  /// Besides entities(), the table whose changes the index follows; empty: none.
  [[nodiscard]] std::string referred() const;
  [[nodiscard]] bool follows(std::string_view table) const;
  /// For lists only.
  [[nodiscard]] bool answers_queries() const;
  void answer_queries(bool answers);
  /// The properties on whose values the place of an entity's rows depends, including those of the filter.
  [[nodiscard]] std::vector<std::string> key_properties() const;
  /// For the kind denormalised: the properties of an entity on which the values of its referring entities depend.
  /// Without keys.
  [[nodiscard]] std::vector<std::string> taken_properties() const;
  /// The properties that an entity's rows hold, including the above; absent: all of its properties.
  [[nodiscard]] std::optional<std::vector<std::string>> row_properties() const;
};

/// kIndexInvalid, with every problem in its message.
Result<Definition> parse_definition(const nlohmann::json& body);
/// Reads a definition from its text, as it is stored.
Result<Definition> parse_definition(std::string_view text);
/// Returns the schema of the JSON form in openapi.json.
nlohmann::ordered_json definition_schema();
/// The JSON form with all members; parse_definition() reads it.
nlohmann::json to_json(const Definition& definition);
/// 1..63 letters, digits and hyphens, beginning with a letter.
bool is_index_name(std::string_view name);

}  // namespace tidemark::indexes
