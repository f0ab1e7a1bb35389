#include "feeds/on_change/rule.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "feeds/definition/feed_json.h"
#include "jobs/kinds/transaction/templates.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/property_values.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::feeds {
namespace {

using nlohmann::json;
using table_store::Change;
using table_store::ChangeKind;
using table_store::Value;

constexpr std::uint32_t kMostOwnHops = 8;
constexpr std::string_view kFilledBesides[] = {"guards", "steps"};
constexpr std::string_view kFilters[] = {"filter", "where"};
constexpr std::string_view kNames[] = {"new", "old", "change"};
constexpr std::string_view kFacts[] = {"version", "kind", "table"};

constexpr jobs::About kAboutJob{.meaning = "instead of webhook and queue: the job that each change makes, a template",
                                .detail = "its texts may have {new.Property}, {old.Property} and {change.version}"};
constexpr jobs::About kAboutOrder{.meaning = "the jobs of an entity, or a partition, begin one after the other",
                                  .not_always = true};
constexpr jobs::About kAboutIfPoison{
    .meaning = "hold: a job that becomes poison holds up those behind it in their order",
    .detail = "until it has ended in another way, or is deleted",
    .not_always = true};
constexpr jobs::About kAboutHops{.meaning = "how often changes that its own jobs have caused make further jobs",
                                 .detail = "0: it passes them by",
                                 .not_always = true};
constexpr jobs::About kAboutCollapse{.meaning = "of changes of an entity that are read together, only the last counts"};
constexpr jobs::About kAboutPerSecond{.meaning = "jobs a second; beyond, it waits"};
constexpr jobs::About kAboutWaiting{.meaning = "it waits while the queue of its jobs has so many messages"};
constexpr jobs::About kAboutPerDay{.meaning = "jobs a day; beyond, it stops until somebody resumes it"};

struct Placeholder {
  std::size_t begin = 0, end = 0;  // with the braces
  jobs::Reference of;
};

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Finds the next placeholder of a rule. All other braces are no concern of it.
std::optional<Placeholder> next_placeholder(std::string_view text, std::size_t from) {
  for (auto begin = text.find('{', from); begin != std::string_view::npos; begin = text.find('{', begin + 1)) {
    const auto end = text.find_first_of("{}", begin + 1);
    if (end == std::string_view::npos || text[end] != '}') continue;
    const auto inside = text.substr(begin + 1, end - begin - 1);
    const auto dot = std::min(inside.find('.'), inside.size());
    if (!has(kNames, inside.substr(0, dot)) || dot == inside.size()) continue;
    return Placeholder{begin, end + 1, {std::string(inside.substr(0, dot)), std::string(inside.substr(dot + 1))}};
  }
  return std::nullopt;
}

/// The values of a change, or invented ones.
class Values {
 public:
  virtual ~Values() = default;
  [[nodiscard]] virtual std::optional<Value> find(const jobs::Reference& of) const = 0;
};

class ValuesOfChange : public Values {
 public:
  ValuesOfChange(const std::string& table, const Change& change) : table_(table), change_(change) {}

  [[nodiscard]] std::optional<Value> find(const jobs::Reference& of) const override {
    const auto& property = of.property;
    if (of.guard == "change") {
      if (property == "version") return Value(std::to_string(change_.version));
      if (property == "kind") return Value(std::string(kind_name(change_.kind)));
      if (property == "table") return Value(table_);
      return std::nullopt;
    }
    if (property == "PartitionKey") return Value(change_.partition_key);
    if (property == "RowKey") return Value(change_.row_key);
    const auto& properties = of.guard == "new" ? change_.after : change_.before;
    if (!properties) return std::nullopt;
    const auto found = std::ranges::find(*properties, property, &table_store::Property::name);
    return found == properties->end() ? std::nullopt : std::optional(found->value);
  }

 private:
  const std::string& table_;
  const Change& change_;
};

class InventedValues : public Values {
 public:
  explicit InventedValues(Value value) : value_(std::move(value)) {}
  [[nodiscard]] std::optional<Value> find(const jobs::Reference& of) const override {
    if (of.guard == "change" && !has(kFacts, of.property)) return std::nullopt;
    return value_;
  }

 private:
  Value value_;
};

json json_with_type(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<std::int32_t>(&value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && std::isfinite(*real)) return *real;
  return jobs::value_text(value);
}

std::string with_doubled_quotes(const std::string& text) {
  std::string out;
  for (const auto c : text) out.append(c == '\'' ? 2 : 1, c);
  return out;
}

/// Makes a job's JSON from a template.
class Filling {
 public:
  Filling(const Values& values, std::vector<std::string>& problems) : values_(values), problems_(problems) {}

  json job(const json& given) {
    auto out = given;
    json beside = json::object();
    const bool in_transaction = given.value("kind", json()) == "transaction";
    for (const auto& [name, member] : given.items()) {
      if (in_transaction && has(kFilledBesides, name)) {
        collect(member, beside);
      } else if (name == "then") {
        out[name] = member.is_object() ? job(member) : member;
      } else {
        out[name] = fill(member, has(kFilters, name));
      }
    }
    if (!beside.empty()) out["values"].update(beside);
    return out;
  }

 private:
  Value value_of(const jobs::Reference& of) {
    if (auto found = values_.find(of)) return std::move(*found);
    const auto known =
        of.guard == "change" ? " is none of version, kind and table" : ": the entity has no such property";
    problems_.push_back("{" + of.guard + "." + of.property + "}" + known);
    return std::string();
  }

  json fill(const json& given, bool in_filter) {
    if (given.is_string()) return fill_text(given.get_ref<const std::string&>(), in_filter);
    auto out = given;
    if (given.is_object()) {
      for (auto& [name, member] : out.items()) member = fill(member, has(kFilters, name));
    } else if (given.is_array()) {
      for (auto& each : out) each = fill(each, in_filter);
    }
    return out;
  }

  json fill_text(const std::string& text, bool in_filter) {
    std::string out;
    std::size_t from = 0;
    while (const auto next = next_placeholder(text, from)) {
      const auto value = value_of(next->of);
      if (next->begin == 0 && next->end == text.size() && !in_filter) return json_with_type(value);
      out += text.substr(from, next->begin - from);
      const auto inserted = jobs::value_text(value);
      out += in_filter ? with_doubled_quotes(inserted) : inserted;
      from = next->end;
    }
    return out + text.substr(from);
  }

  /// Collects the values that the templates of a transaction use.
  void collect(const json& given, json& beside) {
    if (given.is_string()) {
      const auto& text = given.get_ref<const std::string&>();
      for (std::size_t from = 0; const auto next = next_placeholder(text, from); from = next->end) {
        beside[next->of.guard][next->of.property] = json(jobs::json_of_value(value_of(next->of)));
      }
    } else if (given.is_structured()) {
      for (const auto& each : given) collect(each, beside);
    }
  }

  const Values& values_;
  std::vector<std::string>& problems_;
};

Result<jobs::JobSpec> fill(const Rule& rule, const Values& values) {
  std::vector<std::string> problems;
  const auto filled = Filling(values, problems).job(rule.job);
  if (!problems.empty()) return jobs::invalid_job(problems);
  return jobs::job_spec_from_json(filled);
}

bool is_match(const table_store::Filter& filter, const Change& change,
              const std::optional<std::vector<table_store::Property>>& properties) {
  static const std::vector<table_store::Property> kNone;
  return filter.matches(
      table_store::EntityParts{change.partition_key, change.row_key, change.version, properties ? *properties : kNone});
}

void check_template(jobs::SpecMembers& in, const json& job) {
  if (!job.is_object() || !job.contains("kind")) return in.problem("job must be an object with the kind of the job");
  for (const auto* name : {"idempotencyKey", "jobId", "group", "after", "cause"}) {
    if (job.contains(name)) in.problem(std::string("job: ") + name + " cannot be given, for each change makes one job");
  }
}

}  // namespace

void RuleLimits::members(jobs::SpecMembers& in) {
  in.number("perSecond", per_second, 1, 100'000, kAboutPerSecond);
  in.number("waiting", waiting, 1, 100'000'000, kAboutWaiting);
  in.number("perDay", per_day, 1, 10'000'000'000, kAboutPerDay);
}

void rule_members(jobs::SpecMembers& in, std::optional<Rule>& rule) {
  if (in.describes()) in.describe("job", {{"type", "object"}}, kAboutJob);
  if (in.writes() && !rule) return;
  const auto* job = in.any("job");
  auto read = rule.value_or(Rule{});
  if (in.writes()) in.put("job", nlohmann::ordered_json(read.job));
  in.choice("order", kOrders, read.order, kAboutOrder);
  in.choice("ifPoison", kIfPoison, read.if_poison, kAboutIfPoison);
  in.number("hops", read.hops, 0, kMostOwnHops, kAboutHops);
  in.flag("collapse", read.collapse, kAboutCollapse);
  in.object("limits", read.limits, "perSecond, waiting or perDay", {.meaning = "how many jobs it makes"});
  if (in.describes() || in.writes()) return;
  if (job != nullptr) {
    read.job = *job;
    check_template(in, *job);
    if (read.if_poison == IfPoison::kHold && read.order == Order::kNone) in.problem("ifPoison hold needs an order");
    rule = std::move(read);
    return;
  }
  for (const auto* name : {"order", "ifPoison", "hops", "collapse", "limits"}) {
    if (in.has(name)) in.problem(std::string(name) + " needs job");
  }
}

bool concerns(When when, const table_store::Filter& filter, const Change& change) {
  if (change.kind == ChangeKind::kDrop || change.kind == ChangeKind::kCreate) {
    return when == When::kMatches && filter.matches_all();
  }
  const bool was_there = change.kind != ChangeKind::kInsert;
  const bool is_there = change.kind != ChangeKind::kDelete;
  const auto before = [&] { return was_there && is_match(filter, change, change.before); };
  const auto after = [&] { return is_there && is_match(filter, change, change.after); };
  switch (when) {
    case When::kMatches:
      return is_there ? after() : before();
    case When::kEnters:
      return after() && !before();
    case When::kLeaves:
      return before() && !after();
  }
  return false;
}

Result<bool> makes_job(const Rule& rule, When when, std::string_view mark, const table_store::Filter& filter,
                       const Change& change) {
  const bool of_table = change.kind == ChangeKind::kDrop || change.kind == ChangeKind::kCreate;
  if (of_table || !concerns(when, filter, change)) return false;
  const auto marks = jobs::marks_in(change.cause);
  const auto own = static_cast<std::uint32_t>(std::ranges::count(marks, mark));
  if (own > 0 && rule.hops == 0) return false;
  if (own <= rule.hops && marks.size() < jobs::kMostHops) return true;
  return fail(ErrorCode::kInvalidInput,
              "loop: the change comes from this rule's own jobs, or from too many rules in a row: " + change.cause +
                  ". Resume after it, or change the rules.");
}

Result<jobs::JobSpec> job_for(const Rule& rule, const std::string& table, const Change& change) {
  return fill(rule, ValuesOfChange(table, change));
}

Result<std::optional<jobs::JobSpec>> sample_of(const Rule& rule, const std::string& table) {
  const Value invented[] = {table, std::int32_t{1}, true, std::string("2026-01-31T22:00:00Z")};
  std::map<std::string, std::size_t> problems;  // and how many of the values have them
  for (const auto& value : invented) {
    auto job = fill(rule, InventedValues(value));
    if (job && rule.if_poison == IfPoison::kHold && std::holds_alternative<jobs::OwnSpec>(job->work)) {
      return jobs::invalid_job({"ifPoison hold is for built-in kinds: jobs of kinds of your own have no order"});
    }
    if (job) return std::optional(std::move(*job));
    for (const auto& [name, text] : job.error().fields) ++problems[text];
  }
  std::vector<std::string> common;
  for (const auto& [text, count] : problems) {
    if (count == std::size(invented)) common.push_back("job: " + text);
  }
  if (common.empty()) return std::nullopt;
  return jobs::invalid_job(common);
}

std::string lane_of(Order order, const Change& change) {
  if (order == Order::kNone) return {};
  auto key = change.partition_key;
  if (order == Order::kEntity) key.append(1, '\0').append(change.row_key);
  return hex_encode(sha256(key)).substr(0, 16);
}

}  // namespace tidemark::feeds
