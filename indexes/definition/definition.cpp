#include "indexes/definition/definition.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/kinds/archive/object_archive.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/changes.h"
#include "table_store/model/filter.h"
#include "table_store/model/filter_node.h"

namespace tidemark::indexes {
namespace {

using jobs::About;
using jobs::Names;
using jobs::SpecMembers;
using jobs::template_member;
using nlohmann::json;
using table_store::FilterNode;
using Where = ListsKind::Where;

constexpr std::string_view kWhat = "The index is not valid: ";
constexpr std::size_t kMaxDefinitionBytes = 30'000;  // it is a property of a row
constexpr std::int64_t kMostChanges = 1'000'000'000;
constexpr std::int64_t kMostBytes = 1LL << 40;
constexpr std::int64_t kMostPerSecond = 10'000'000;
constexpr Names<Where, 3> kPlaces{
    {{Where::kAcross, "across"}, {Where::kPartition, "partition"}, {Where::kBlobs, "blobs"}}};
constexpr Names<DenormalisedKind::Missing, 2> kMissing{
    {{DenormalisedKind::Missing::kRemove, "remove"}, {DenormalisedKind::Missing::kEmpty, "empty"}}};
constexpr Names<bool, 2> kBeyond{{{false, "stale"}, {true, "refuse"}}};

constexpr About kAboutSource{.meaning = "table whose entities are in the index"};
constexpr About kAboutFilter{.meaning = "OData filter; other entities have no rows in the index"};
constexpr About kAboutDestination{.meaning = "table of the rows; created if absent"};
constexpr About kAboutBy{.meaning = "properties whose values make a group"};
constexpr About kAboutWhere{.meaning =
                                "where the lists are: in a partition for each value, in the entity's own, in blobs"};
constexpr About kAboutContainer{
    .meaning = "for where: blobs, and needed there", .detail = "made if absent", .least = 3, .most = 63};
constexpr About kAboutPrefix{.meaning = "for where: blobs: the beginning of the blobs' names, which ends with /",
                             .most = 100};
constexpr About kAboutAnswers{
    .meaning = "queries of the table go by the lists if their filter has a value for each property in by",
    .detail = "not for where: blobs; the only member that can be changed later: put the definition again"};
constexpr About kAboutUnique{.meaning = "a group with more than one entity is a violation, which is reported"};
constexpr About kAboutOnViolation{.meaning = "endpoint that is told of each new violation; with unique only"};
constexpr About kAboutOf{.meaning = "property that is summed; if absent, entities are counted only"};
constexpr About kAboutTaken{
    .meaning =
        "values to keep: names that are the same in both entities, or an object with the name in the destination "
        "and the name in the source"};
constexpr About kAboutMissing{.meaning =
                                  "what an entity has that refers to a missing one: no values, or empty Strings"};
constexpr About kAboutMaxChanges{.meaning = "how many changes may wait for the index"};
constexpr About kAboutMaxBytes{.meaning = "how many bytes of changes may wait for the index"};
constexpr About kAboutBeyond{
    .meaning = "beyond those limits, the index becomes stale and is built again, or writes to the table get 503",
    .detail = "refuse is not for denormalised"};
constexpr About kAboutBuild{.meaning = "entities that are read while the index is built; 0: as fast as possible"};
constexpr About kAboutScrub{.meaning = "entities and rows that are compared once the index is ready"};

bool is_key(std::string_view property) { return property == "PartitionKey" || property == "RowKey"; }

std::vector<std::string> without_keys_and_repeats(std::vector<std::string> names) {
  std::erase_if(names, is_key);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::unexpected<Error> refused(const std::vector<std::string>& problems) {
  return jobs::invalid(ErrorCode::kIndexInvalid, kWhat, problems);
}

void add_names(const FilterNode& node, std::vector<std::string>& names) {
  const bool names_one = node.kind == FilterNode::Kind::kComparison || node.kind == FilterNode::Kind::kProperty;
  if (names_one && node.field == table_store::Field::kTimestamp) names.emplace_back("Timestamp");
  if (names_one && node.field == table_store::Field::kOwn) names.push_back(node.property);
  for (const auto& child : node.children) add_names(*child, names);
}

std::vector<std::string> names_in_filter(const std::string& text) {
  std::vector<std::string> names;
  const auto filter = table_store::Filter::parse(text);
  if (filter && filter->root() != nullptr) add_names(*filter->root(), names);
  return names;
}

void add_names_in_template(const std::string& text, std::vector<std::string>& names) {
  const auto parts = jobs::parse_key_template(text);
  if (!parts) return;
  for (const auto& part : *parts) {
    if (part.placeholder) names.push_back(part.text);
  }
}

void group_member(SpecMembers& in, std::vector<std::string>& by) {
  in.property_names("by", by, kMaxGroupProperties, kAboutBy, true);
  if (std::ranges::find(by, "Timestamp") != by.end()) {
    in.problem("by must not name Timestamp: it changes with every write");
  }
}

void read_members(SpecMembers& in, CopiesKind& kind, const std::string& source) {
  in.table("destination", kind.destination, kAboutDestination);
  template_member(in, "partitionKey", kind.partition_key, {.meaning = "template such as {Department}"}, true);
  template_member(in, "rowKey", kind.row_key, {.meaning = "template such as mail_{Email}"}, true);
  auto properties = kind.properties.value_or(std::vector<std::string>{});
  in.property_names("properties", properties, kMaxProjectedProperties, jobs::kTheseProperties);
  if (in.has("properties")) kind.properties = std::move(properties);
  const bool same_keys = kind.partition_key == "{PartitionKey}" && kind.row_key == "{RowKey}";
  if (!source.empty() && same_keys && iequals_ascii(source, kind.destination)) {
    in.problem("copies in the table of their originals need other keys, or they would be the originals");
  }
}

void other_table(SpecMembers& in, const std::string& source, const std::string& destination) {
  if (!source.empty() && iequals_ascii(source, destination)) {
    in.problem("destination must not be the source: the rows of these groups need a table without the entities");
  }
}

void container_members(SpecMembers& in, ListsKind& kind, bool blobs) {
  if (in.text("container", kind.container, blobs, kAboutContainer) && blobs &&
      !jobs::is_container_name(kind.container)) {
    in.problem("container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
  if (in.text("prefix", kind.prefix, kAboutPrefix) && blobs && !jobs::is_object_prefix(kind.prefix)) {
    in.problem("prefix must be segments of letters, digits, '-', '_' and inner dots, each ended by '/'");
  }
  if (!blobs && (in.has("container") || in.has("prefix"))) in.problem("container and prefix are for where: blobs");
}

void read_members(SpecMembers& in, ListsKind& kind, const std::string& source) {
  group_member(in, kind.by);
  in.choice("where", kPlaces, kind.where, kAboutWhere);
  const bool blobs = kind.where == Where::kBlobs;
  in.table("destination", kind.destination, kAboutDestination, false);
  if (!blobs && !in.writes() && !in.has("destination")) in.problem("destination is missing");
  container_members(in, kind, blobs);
  if (blobs && in.has("destination")) in.problem("destination is for where: across and partition");
  if (kind.where == Where::kAcross) other_table(in, source, kind.destination);
  in.flag("answersQueries", kind.answers_queries, kAboutAnswers);
  if (kind.answers_queries && blobs) in.problem("answersQueries is for where: across and partition");
  in.flag("unique", kind.unique, kAboutUnique);
  in.object("onViolation", kind.on_violation, "a url", kAboutOnViolation);
  if (kind.on_violation && !kind.unique) in.problem("onViolation is for lists with unique: true");
}

void read_members(SpecMembers& in, SummaryKind& kind, const std::string& source) {
  group_member(in, kind.by);
  if (in.text("of", kind.of, kAboutOf) &&
      (!jobs::is_property_name(kind.of) || is_key(kind.of) || kind.of == "Timestamp")) {
    in.problem("of must be the name of a property that holds numbers");
  }
  in.table("destination", kind.destination, kAboutDestination);
  other_table(in, source, kind.destination);
}

/// Accepts a list of names that are the same in both entities, or an object whose keys are the names in the referring
/// entity.
std::optional<std::vector<DenormalisedKind::Taken>> taken_in(const json& given) {
  std::vector<DenormalisedKind::Taken> out;
  for (const auto& [key, value] : given.items()) {
    if (!value.is_string()) return std::nullopt;
    const auto from = value.get<std::string>();
    out.push_back({given.is_object() ? key : from, from});
  }
  std::ranges::sort(out, {}, &DenormalisedKind::Taken::name);
  const bool repeats = std::ranges::adjacent_find(out, {}, &DenormalisedKind::Taken::name) != out.end();
  const bool good = std::ranges::all_of(out, [](const auto& taken) {
    return jobs::is_property_name(taken.name) && jobs::is_property_name(taken.from) && !is_key(taken.name) &&
           taken.name != "Timestamp" && taken.from != "Timestamp";
  });
  if (out.empty() || out.size() > kMaxProjectedProperties || repeats || !good) return std::nullopt;
  return out;
}

void describe_taken(SpecMembers& in) {
  const json text{{"type", "string"}};
  const json list{{"type", "array"}, {"items", text}, {"minItems", 1}, {"maxItems", kMaxProjectedProperties}};
  const json object{{"type", "object"},
                    {"additionalProperties", text},
                    {"minProperties", 1},
                    {"maxProperties", kMaxProjectedProperties}};
  in.describe("properties", {{"oneOf", json::array({list, object})}}, kAboutTaken, true);
}

void taken_member(SpecMembers& in, std::vector<DenormalisedKind::Taken>& properties) {
  if (in.describes()) return describe_taken(in);
  if (in.writes()) {
    auto out = nlohmann::ordered_json::object();
    for (const auto& taken : properties) out[taken.name] = taken.from;
    return in.put("properties", std::move(out));
  }
  const auto* given = in.any("properties");
  if (given == nullptr) return in.problem("properties is missing");
  auto taken = given->is_array() || given->is_object() ? taken_in(*given) : std::nullopt;
  if (taken) {
    properties = std::move(*taken);
  } else {
    in.problem("properties must be 1 to " + std::to_string(kMaxProjectedProperties) +
               " names, or an object with the names here and there, such as {\"ManagerName\":\"Name\"}");
  }
}

bool sets(const std::vector<DenormalisedKind::Taken>& properties, std::string_view name) {
  return std::ranges::find(properties, name, &DenormalisedKind::Taken::name) != properties.end();
}

void read_members(SpecMembers& in, DenormalisedKind& kind, const std::string& source) {
  in.table("destination", kind.destination, kAboutDestination);
  template_member(in, "partitionKey", kind.partition_key,
                  {.meaning = "key of the entity that is referred to, as a template such as {Country}"}, true);
  template_member(in, "rowKey", kind.row_key, {.meaning = "its other key, such as {DepartmentId}"}, true);
  taken_member(in, kind.properties);
  in.choice("missing", kMissing, kind.missing, kAboutMissing);
  std::vector<std::string> in_keys;
  add_names_in_template(kind.partition_key, in_keys);
  add_names_in_template(kind.row_key, in_keys);
  for (const auto& name : in_keys) {
    if (!sets(kind.properties, name)) continue;
    in.problem("properties must not set " + name + ", which says what the entity refers to: a circle would never end");
  }
  for (const auto& taken : kind.properties) {
    if (source.empty() || !iequals_ascii(source, kind.destination) || !sets(kind.properties, taken.from)) continue;
    if (taken.from == taken.name) continue;
    in.problem("properties must not set " + taken.from + " and take it as " + taken.name +
               " in one table: a circle may never end");
  }
}

void filter_member(SpecMembers& in, std::string& text) {
  if (!in.text("filter", text, kAboutFilter)) return;
  const auto parsed = table_store::Filter::parse(text);
  if (!parsed) return in.problem("filter: " + parsed.error().message);
  if (parsed->matches_all()) text.clear();
  const auto names = names_in_filter(text);
  if (std::ranges::find(names, "Timestamp") != names.end()) {
    in.problem("filter must not use Timestamp: it changes with every write");
  }
}

void common_members(SpecMembers& in, Definition& definition) {
  in.table("source", definition.source, kAboutSource);
  filter_member(in, definition.filter);
  in.number("maxChanges", definition.max_changes, 1, kMostChanges, kAboutMaxChanges);
  in.number("maxBytes", definition.max_bytes, 1, kMostBytes, kAboutMaxBytes);
  in.choice("beyond", kBeyond, definition.refuse_writes, kAboutBeyond);
  in.number("buildPerSecond", definition.build_per_second, 0, kMostPerSecond, kAboutBuild);
  in.number("scrubPerSecond", definition.scrub_per_second, 1, kMostPerSecond, kAboutScrub);
}

void kind_members(SpecMembers& in, Definition& definition) {
  std::visit([&](auto& kind) { read_members(in, kind, definition.source); }, definition.kind);
}

void check_denormalised(SpecMembers& in, const Definition& definition) {
  const auto* kind = std::get_if<DenormalisedKind>(&definition.kind);
  if (kind == nullptr) return;
  if (definition.refuse_writes) {
    in.problem("beyond: refuse is not for denormalised: its own writes would be refused as well");
  }
  for (const auto& name : names_in_filter(definition.filter)) {
    if (sets(kind->properties, name)) in.problem("filter must not use " + name + ", which the index sets");
  }
}

/// Returns false if there is no such kind.
bool choose_kind(std::string_view name, Definition& definition) {
  if (name == CopiesKind::kName) definition.kind = CopiesKind{};
  if (name == ListsKind::kName) definition.kind = ListsKind{};
  if (name == SummaryKind::kName) definition.kind = SummaryKind{};
  if (name == DenormalisedKind::kName) definition.kind = DenormalisedKind{};
  return name == definition.kind_name();
}

}  // namespace

nlohmann::ordered_json definition_schema() {
  nlohmann::ordered_json out{{"oneOf", json::array()}};
  const auto add = [&]<class Kind>(Kind kind) {
    Definition definition;
    definition.kind = std::move(kind);
    std::vector<jobs::Member> members{{"kind", jobs::text_schema({.one_of = {&Kind::kName, 1}}), true, {}, {}}};
    SpecMembers in(members);
    common_members(in, definition);
    kind_members(in, definition);
    out["oneOf"].push_back(jobs::object_schema(members));
  };
  add(CopiesKind{});
  add(ListsKind{});
  add(SummaryKind{});
  add(DenormalisedKind{});
  return out;
}

std::string_view Definition::kind_name() const {
  return std::visit([](const auto& each) { return std::remove_cvref_t<decltype(each)>::kName; }, kind);
}

std::string Definition::destination() const {
  return std::visit([](const auto& each) { return each.destination; }, kind);
}

bool DenormalisedKind::same_names() const {
  return std::ranges::any_of(properties, [](const auto& taken) { return taken.name == taken.from; });
}

const std::string& Definition::entities() const {
  const auto* denormalised = std::get_if<DenormalisedKind>(&kind);
  return denormalised != nullptr ? denormalised->destination : source;
}

std::string Definition::referred() const { return iequals_ascii(entities(), source) ? std::string() : source; }

bool Definition::follows(std::string_view table) const {
  return iequals_ascii(table, source) || iequals_ascii(table, entities());
}

bool Definition::answers_queries() const {
  const auto* lists = std::get_if<ListsKind>(&kind);
  return lists != nullptr && lists->answers_queries;
}

void Definition::answer_queries(bool answers) {
  if (auto* lists = std::get_if<ListsKind>(&kind)) lists->answers_queries = answers;
}

std::vector<std::string> Definition::key_properties() const {
  auto names = names_in_filter(filter);
  if (const auto* copies = std::get_if<CopiesKind>(&kind)) {
    add_names_in_template(copies->partition_key, names);
    add_names_in_template(copies->row_key, names);
  } else if (const auto* lists = std::get_if<ListsKind>(&kind)) {
    names.insert(names.end(), lists->by.begin(), lists->by.end());
  } else if (const auto* summary = std::get_if<SummaryKind>(&kind)) {
    names.insert(names.end(), summary->by.begin(), summary->by.end());
  } else if (const auto* denormalised = std::get_if<DenormalisedKind>(&kind)) {
    add_names_in_template(denormalised->partition_key, names);
    add_names_in_template(denormalised->row_key, names);
  }
  return without_keys_and_repeats(std::move(names));
}

std::vector<std::string> Definition::taken_properties() const {
  std::vector<std::string> names;
  const auto* denormalised = std::get_if<DenormalisedKind>(&kind);
  if (denormalised == nullptr) return names;
  // Values are taken from an entity only if it does not itself refer to another one, so the properties of its own
  // reference count, too.
  if (referred().empty() && denormalised->same_names()) names = key_properties();
  for (const auto& taken : denormalised->properties) names.push_back(taken.from);
  return without_keys_and_repeats(std::move(names));
}

std::optional<std::vector<std::string>> Definition::row_properties() const {
  auto names = key_properties();
  if (const auto* copies = std::get_if<CopiesKind>(&kind)) {
    if (!copies->properties) return std::nullopt;
    names.insert(names.end(), copies->properties->begin(), copies->properties->end());
  } else if (const auto* summary = std::get_if<SummaryKind>(&kind)) {
    if (!summary->of.empty()) names.push_back(summary->of);
  } else if (std::holds_alternative<DenormalisedKind>(kind)) {
    return std::nullopt;  // the rows may hold the whole entity
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Result<Definition> parse_definition(const json& body) {
  if (!body.is_object()) return refused({"it must be a JSON object"});
  SpecMembers in(body);
  Definition definition;
  std::string kind;
  const bool named = in.text("kind", kind, true);
  common_members(in, definition);
  if (!choose_kind(kind, definition)) {
    if (named) in.problem("kind must be one of copies, lists, summary, denormalised");
    return refused(in.problems());  // the right form of the other members is unknown
  }
  kind_members(in, definition);
  check_denormalised(in, definition);
  in.refuse_unknown();
  if (in.problems().empty() && definition.key_properties().size() > kMaxKeyProperties) {
    in.problem("keys and filter name more than " + std::to_string(kMaxKeyProperties) + " properties");
  }
  if (in.problems().empty() && to_json(definition).dump().size() > kMaxDefinitionBytes) {
    in.problem("it is longer than " + std::to_string(kMaxDefinitionBytes) + " bytes");
  }
  if (!in.problems().empty()) return refused(in.problems());
  return definition;
}

Result<Definition> parse_definition(std::string_view text) {
  if (text.size() > 2 * kMaxDefinitionBytes) {
    return refused({"it is longer than " + std::to_string(kMaxDefinitionBytes) + " bytes"});
  }
  const auto body = read_json(text);
  if (!body) return refused({body.error().message});
  return parse_definition(*body);
}

json to_json(const Definition& definition) {
  auto out = nlohmann::ordered_json::object();
  out["kind"] = definition.kind_name();
  auto copy = definition;
  SpecMembers members(out);
  common_members(members, copy);
  kind_members(members, copy);
  return out;
}

bool is_index_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && is_letter(name.front()) &&
         std::ranges::all_of(name, [](char c) { return jobs::is_alphanumeric(c) || c == '-'; });
}

}  // namespace tidemark::indexes
