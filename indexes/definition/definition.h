// What a person declares: an index of a table, which from then on follows every write to the table. The kinds, each a
// pattern of the table design guide:
//   copies   each entity once more under other keys (intra- and inter-partition secondary index), whole or projected
//   lists    the keys of all entities with a value of a property (index entities)
//   summary  count, sum, minimum and maximum of a property for each group
//   denormalised  properties of an entity kept in those that refer to it (denormalization)
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
/// Of lookups in every index. Those in copies have the properties of the keys besides, by their names.
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
  /// Queries of the table store go by the lists, if their filter says what `by` is (table_store/model/entity_lists.h).
  /// Of an index that is there, this alone can be changed.
  bool answers_queries = false;
  bool unique = false;  // a value of more than one entity is a violation, which is reported
  std::optional<jobs::CallbackEndpoint> on_violation;  // who is told of each new one
  bool operator==(const ListsKind&) const = default;
};

struct SummaryKind {
  static constexpr std::string_view kName = "summary";
  std::vector<std::string> by;
  std::string of;  // the property that is summed; empty: the entities are counted only
  std::string destination;
  bool operator==(const SummaryKind&) const = default;
};

/// What an entity of `destination` says of an entity of the source, which it refers to.
struct DenormalisedKind {
  static constexpr std::string_view kName = "denormalised";
  /// What the values are of an entity that refers to one that is not there.
  enum class Missing : std::uint8_t { kRemove, kEmpty };
  struct Taken {
    std::string name;  // in the entity that refers
    std::string from;  // in the one that it refers to
    bool operator==(const Taken&) const = default;
  };
  std::string destination;             // a table, which may be the source
  std::string partition_key, row_key;  // templates: an entity of `destination` refers to the one with these keys
  std::vector<Taken> properties;       // by name
  Missing missing = Missing::kRemove;
  /// Whether a property has one name in both. Within one table, an entity that refers to none is then one to be
  /// referred to, and keeps its own; and what refers to another is not itself taken from, so that no value goes round.
  [[nodiscard]] bool same_names() const;
  bool operator==(const DenormalisedKind&) const = default;
};

struct Definition {
  std::string source;
  /// OData; empty: every entity. Others have no rows in the index. It is of the entities of entities().
  std::string filter;
  std::variant<CopiesKind, ListsKind, SummaryKind, DenormalisedKind> kind;
  // How much may wait for the index (table_store/model/changes.h).
  std::uint64_t max_changes = 1'000'000;
  std::uint64_t max_bytes = 1ULL << 30;
  bool refuse_writes = false;
  std::uint32_t build_per_second = 0;  // entities; 0: as fast as it goes
  std::uint32_t scrub_per_second = 200;
  bool operator==(const Definition&) const = default;

  [[nodiscard]] std::string_view kind_name() const;
  /// The tables that the index writes; empty for blobs.
  [[nodiscard]] std::string destination() const;
  /// The table whose entities the index is about: the source, or of denormalised the one whose entities refer to it.
  [[nodiscard]] const std::string& entities() const;
  /// Besides entities(), the table whose changes the index follows; empty: none.
  [[nodiscard]] std::string referred() const;
  [[nodiscard]] bool follows(std::string_view table) const;
  /// Of lists.
  [[nodiscard]] bool answers_queries() const;
  void answer_queries(bool answers);
  /// On whose values the place of an entity's rows depends, the filter's included.
  [[nodiscard]] std::vector<std::string> key_properties() const;
  /// Of denormalised: on what of an entity the values of those depend that refer to it. Without keys.
  [[nodiscard]] std::vector<std::string> taken_properties() const;
  /// What an entity's rows say, the above included; absent: all of its properties.
  [[nodiscard]] std::optional<std::vector<std::string>> row_properties() const;
};

/// kIndexInvalid, with every problem in its message.
Result<Definition> parse_definition(const nlohmann::json& body);
/// The same from its text, as it is stored.
Result<Definition> parse_definition(std::string_view text);
/// The JSON form with all members; parse_definition() reads it.
nlohmann::json to_json(const Definition& definition);
/// 1..63 letters, digits and hyphens, beginning with a letter.
bool is_index_name(std::string_view name);

}  // namespace tidemark::indexes
