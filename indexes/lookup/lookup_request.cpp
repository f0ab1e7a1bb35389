#include "indexes/lookup/lookup_request.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/text.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/spec_members.h"
#include "table_store/model/group_text.h"
#include "table_store/model/text_order.h"
#include "table_store/odata/etag.h"

namespace tidemark::indexes {
namespace {

using jobs::Names;
using table_store::join_values;
using table_store::key_text;
using table_store::string_text;
using table_store::type_in_text;
using table_store::Value;
using table_store::without_mark;

constexpr std::size_t kMaxCombinations = 64;
constexpr Names<ValueType, 8> kTypes{{{ValueType::kString, "String"},
                                      {ValueType::kWhole, "Int32"},
                                      {ValueType::kWhole, "Int64"},
                                      {ValueType::kDouble, "Double"},
                                      {ValueType::kBoolean, "Boolean"},
                                      {ValueType::kTime, "DateTime"},
                                      {ValueType::kGuid, "Guid"},
                                      {ValueType::kBinary, "Binary"}}};
constexpr ValueType kTried[] = {ValueType::kString,  ValueType::kWhole, ValueType::kDouble,
                                ValueType::kBoolean, ValueType::kTime,  ValueType::kGuid};

template <class T>
std::optional<Value> as_value(std::optional<T> parsed) {
  if (!parsed) return std::nullopt;
  return Value(std::move(*parsed));
}

std::optional<Value> read_value(ValueType type, const std::string& text) {
  switch (type) {
    case ValueType::kString:
      return Value(text);
    case ValueType::kWhole:
      return as_value(parse_number<std::int64_t>(text));
    case ValueType::kDouble:
      return as_value(parse_number<double>(text));
    case ValueType::kBoolean:
      if (text != "true" && text != "false") return std::nullopt;
      return Value(text == "true");
    case ValueType::kTime:
      return as_value(parse_iso8601(text));
    case ValueType::kGuid:
      return as_value(table_store::parse_guid(text));
    case ValueType::kBinary:
      if (auto bytes = base64_decode(text)) return Value(table_store::Binary{std::move(*bytes)});
      return std::nullopt;
  }
  return std::nullopt;
}

/// Returns the types that all of the texts may have.
std::vector<ValueType> types_for(const std::vector<std::string>& texts, const std::string& given) {
  std::vector<ValueType> out;
  const auto may_be = [&](ValueType type) {
    return std::ranges::all_of(texts, [type](const auto& text) { return read_value(type, text).has_value(); });
  };
  if (given.empty()) {
    std::ranges::copy_if(kTried, std::back_inserter(out), may_be);
  } else if (const auto type = jobs::value_in(kTypes, given); type && may_be(*type)) {
    out.push_back(*type);
  }
  return out;
}

std::string text_in_key(ValueType type, const std::string& text) { return key_text(*read_value(type, text)); }

/// Returns the end of a range. Strings compare without their marks.
std::string end_in_key(ValueType type, const std::string& text) {
  return type == ValueType::kString ? string_text(text) : text_in_key(type, text);
}

std::vector<jobs::TemplatePart> parts_of(const std::string& text) {
  auto parts = jobs::parse_key_template(text);
  return parts ? std::move(*parts) : std::vector<jobs::TemplatePart>{};
}

/// Reads a Timestamp or an ETag; 0 for anything else.
table_store::Version read_version(const std::string& text) {
  if (const auto time = parse_iso8601(text)) return time->time_since_epoch().count();
  const auto tag = table_store::parse_if_match(text);
  return tag ? tag->value_or(0) : 0;
}

/// Reads the parameters of a lookup one after the other, and collects all problems.
class Reader {
 public:
  explicit Reader(const Definition& definition)
      : lists_(std::get_if<ListsKind>(&definition.kind)), copies_(std::get_if<CopiesKind>(&definition.kind)) {
    if (lists_ != nullptr) by_ = lists_->by;
    if (const auto* summary = std::get_if<SummaryKind>(&definition.kind)) by_ = summary->by;
    if (std::holds_alternative<DenormalisedKind>(definition.kind)) in_table_ = definition.entities();
    if (copies_ == nullptr) return;
    for (const auto* text : {&copies_->partition_key, &copies_->row_key}) {
      for (const auto& part : parts_of(*text)) {
        if (part.placeholder) by_.push_back(part.text);
      }
    }
  }

  void read(const std::string& name, const std::string& value) {
    const bool repeats = name == "value" || name == "type";
    if (!repeats && std::ranges::find(seen_, name) != seen_.end()) return problem(name + " is given twice");
    seen_.push_back(name);
    if (!is_valid_utf8(value)) return problem(name + " is not UTF-8");
    if (read_group(name, value) || read_page(name, value) || read_freshness(name, value)) return;
    if (copies_ != nullptr && std::ranges::find(by_, name) != by_.end()) {
      out_.properties[name] = value;
    } else {
      problem("unknown parameter \"" + name + "\"; known here: " + known());
    }
  }

  Result<LookupRequest> finish() {
    if (!in_table_.empty()) {
      problem("a denormalised index finds nothing: its values are in the entities of " + in_table_ +
              ", so query those");
    }
    if (copies_ == nullptr && in_table_.empty()) check_groups();
    if (copies_ != nullptr) check_copies();
    if (problems_.empty()) return std::move(out_);
    return jobs::invalid(ErrorCode::kInvalidQueryParameterValue, "The lookup is not valid: ", problems_);
  }

 private:
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  [[nodiscard]] bool has_range() const { return out_.prefix || out_.from || out_.to; }
  [[nodiscard]] std::string known() const {
    const auto common = jobs::joined(kLookupParameters);
    if (copies_ != nullptr) return jobs::joined(by_) + ", " + common;
    return std::string(in_partition() ? "partition, " : "") + "value, type, from, to, " + common;
  }
  [[nodiscard]] bool in_partition() const { return lists_ != nullptr && lists_->where == ListsKind::Where::kPartition; }

  bool read_group(const std::string& name, const std::string& value) {
    if (name == "prefix") return out_.prefix = value, true;
    if (name == "partition" && in_partition()) return out_.partition = value, true;
    if (copies_ != nullptr) return false;
    if (name == "value") return out_.values.push_back(value), true;
    if (name == "type") return out_.types.push_back(value.starts_with("Edm.") ? value.substr(4) : value), true;
    if (name == "from") return out_.from = value, true;
    if (name == "to") return out_.to = value, true;
    return false;
  }

  bool read_page(const std::string& name, const std::string& value) {
    if (name == "continuation") return out_.continuation = value, true;
    if (name == "top") {
      const auto top = parse_number<std::uint32_t>(value, 1, kMostAtOnce);
      if (!top) problem("top must be a whole number from 1 to " + std::to_string(kMostAtOnce));
      out_.top = top.value_or(1);
      return true;
    }
    if (name != "select") return false;
    out_.keys_only = value == "keys";
    std::string_view list = value == "keys" || value == "entities" ? "" : std::string_view(value);
    while (!list.empty()) out_.projection.emplace_back(trimmed(take_item(list)));
    if (!std::ranges::all_of(out_.projection, jobs::is_property_name)) {
      problem("select must be entities, keys, or names of properties separated by commas");
    }
    return true;
  }

  bool read_freshness(const std::string& name, const std::string& value) {
    if (name == "minVersion") {
      out_.min_version = read_version(value);
      if (out_.min_version <= 0) problem("minVersion must be an entity's Timestamp or ETag");
      return true;
    }
    if (name == "maxLag") {
      constexpr double kMost = 1e9;
      const auto most = parse_number<double>(value);
      if (!most || !(*most >= 0 && *most <= kMost)) return problem("maxLag must be a number of seconds"), true;
      out_.max_lag = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*most));
      return true;
    }
    if (name != "wait") return false;
    constexpr auto kMost = std::chrono::milliseconds(kLongestWait).count();
    const auto wait = parse_number<std::int64_t>(value, 0, kMost);
    if (!wait) problem("wait must be a whole number of milliseconds from 0 to " + std::to_string(kMost));
    out_.wait = std::chrono::milliseconds(wait.value_or(0));
    return true;
  }

  void check_groups() {
    const auto& values = out_.values;
    if (in_partition() && !out_.partition) problem("partition is missing: this index has lists in each partition");
    if (values.size() > by_.size()) {
      return problem("there are more values than the index has properties (" + jobs::joined(by_) + ")");
    }
    if (has_range() && values.size() == by_.size()) {
      return problem("prefix, from and to are for the property after those with a value, and there is none");
    }
    if (out_.prefix && (out_.from || out_.to)) problem("give prefix, or from and to");
    if (!out_.types.empty() && out_.types.size() != values.size() + (out_.from || out_.to ? 1 : 0)) {
      return problem("give a type for each value and for from and to, or none at all");
    }
    for (const auto& type : out_.types) {
      if (!jobs::value_in(kTypes, type))
        problem("type must be one of String, Int32, Int64, Double, Boolean, DateTime, Guid, Binary");
    }
    if (!problems_.empty()) return;
    const auto ranges = ranges_of(out_, by_.size());
    if (ranges.empty()) problem("a value is not of its type, or from and to are not of one type");
    if (ranges.size() > kMaxCombinations) problem("the values may be of very many types: give type");
  }

  void check_copies() {
    std::string missing;
    for (const auto& name : by_) {
      const bool given = out_.properties.contains(name);
      if (given && !missing.empty()) problem(name + " is of no use without " + missing);
      if (!given && missing.empty()) missing = name;
    }
    for (const auto& part : parts_of(copies_->partition_key)) {
      if (part.placeholder && !out_.properties.contains(part.text)) problem(part.text + " is missing");
    }
    if (out_.prefix && missing.empty())
      problem("prefix is for the property after those with a value, and there is none");
  }

  const ListsKind* lists_;
  const CopiesKind* copies_;
  std::string in_table_;  // for the kind denormalised
  std::vector<std::string> by_;
  std::vector<std::string> seen_;
  std::vector<std::string> problems_;
  LookupRequest out_;
};

/// Appends the text that the template makes of the given properties; returns false at the first property that is
/// missing.
bool fill(const std::string& text, const LookupRequest& request, std::string& key) {
  for (const auto& part : parts_of(text)) {
    if (!part.placeholder) {
      key += part.text;
      continue;
    }
    const auto given = request.properties.find(part.text);
    const bool is_key = part.text == "PartitionKey" || part.text == "RowKey";
    const auto as_in_key = [is_key](const std::string& value) {
      return is_key ? value : table_store::escape_key_text(value);
    };
    if (given != request.properties.end()) {
      key += as_in_key(given->second);
      continue;
    }
    if (request.prefix) key += as_in_key(*request.prefix);
    return false;
  }
  return true;
}

}  // namespace

Result<LookupRequest> read_lookup(const Definition& definition,
                                  const std::vector<std::pair<std::string, std::string>>& parameters) {
  Reader reader(definition);
  for (const auto& [name, value] : parameters) reader.read(name, value);
  return reader.finish();
}

ValueType type_of(const Value& value) {
  constexpr ValueType kOfIndex[] = {ValueType::kString,  ValueType::kWhole, ValueType::kWhole, ValueType::kDouble,
                                    ValueType::kBoolean, ValueType::kTime,  ValueType::kGuid,  ValueType::kBinary};
  static_assert(std::size(kOfIndex) == std::variant_size_v<Value>);
  return kOfIndex[value.index()];
}

std::string GroupRange::beginning() const {
  std::vector<std::string> texts;
  for (const auto& value : equal) texts.push_back(value.text);
  if (whole) return join_values(texts);
  std::string out;
  for (const auto& text : texts) out += text + ",";
  return out;
}

namespace {

/// Returns a text behind the texts of all Strings up to `most`, and of no others except those that begin like it: a
/// text with a mark is behind texts that continue with a character before '%'.
std::string last_text(const std::string& most) {
  auto last = most + '\x01';
  for (std::size_t length = 1; length <= most.size(); ++length) {
    const auto text = most.substr(0, length);
    if (type_in_text(text) != ValueType::kString) last = std::max(last, text + "%\x01");
  }
  return last;
}

}  // namespace

GroupRange::Place GroupRange::place(char after_group, std::size_t properties) const {
  const auto head = beginning();
  if (whole) return {head, head};
  if (!most) return {head + std::max(least, prefix), head + prefix + std::string(kBehindAllKeys)};
  const char behind = equal.size() + 1 < properties ? ',' : after_group;
  if (behind == 0) return {head + least, head + last_text(*most)};
  // A shorter text comes before `most`, but in a key the text after it may be greater than the rest of `most`.
  const auto safe = std::ranges::find_if(
      *most, [behind](char c) { return static_cast<unsigned char>(c) <= static_cast<unsigned char>(behind); });
  return {head + least, head + std::string(most->begin(), safe) + static_cast<char>(behind + 1)};
}

bool GroupRange::admits_text(std::size_t place, const std::string& text) const {
  if (place < equal.size()) return equal[place].text == text;
  if (place > equal.size()) return true;
  const auto at_most = [](std::string_view a, std::string_view b) { return table_store::compare_ordinal(a, b) <= 0; };
  const auto bare = without_mark(text);
  return at_most(least, bare) && bare.starts_with(prefix) && (!most || at_most(bare, *most));
}

bool GroupRange::admits(const std::vector<ValueText>& values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto wanted = i < equal.size() ? std::optional(equal[i].type) : i == equal.size() ? type : std::nullopt;
    if ((wanted && *wanted != values[i].type) || !admits_text(i, values[i].text)) return false;
  }
  return true;
}

bool GroupRange::admits(const std::string& group, std::size_t properties) const {
  if (whole) return group == beginning();
  std::vector<std::string> texts;
  std::string_view rest = group;
  while (texts.size() < properties) texts.emplace_back(take_item(rest));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!admits_text(i, texts[i])) return false;
    if (i == equal.size() && type && type_in_text(texts[i]) != *type) return false;
  }
  return true;
}

std::vector<GroupRange> ranges_of(const LookupRequest& request, std::size_t properties) {
  const auto given_type = [&](std::size_t place) { return place < request.types.size() ? request.types[place] : ""; };
  std::vector<GroupRange> ranges(1);
  for (std::size_t i = 0; i < request.values.size(); ++i) {
    std::vector<GroupRange> longer;
    for (const auto type : types_for({request.values[i]}, given_type(i))) {
      for (auto range : ranges) {
        range.equal.push_back({type, text_in_key(type, request.values[i])});
        longer.push_back(std::move(range));
      }
    }
    ranges = std::move(longer);
  }
  for (auto& range : ranges) range.whole = request.values.size() == properties;
  if (request.prefix) {
    for (auto& range : ranges) {
      range.type = ValueType::kString;
      range.prefix = string_text(*request.prefix);
    }
  }
  if (!request.from && !request.to) return ranges;
  std::vector<std::string> ends;
  if (request.from) ends.push_back(*request.from);
  if (request.to) ends.push_back(*request.to);
  std::vector<GroupRange> out;
  for (const auto type : types_for(ends, given_type(request.values.size()))) {
    for (auto range : ranges) {
      range.type = type;
      if (request.from) range.least = end_in_key(type, *request.from);
      if (request.to) range.most = end_in_key(type, *request.to);
      out.push_back(std::move(range));
    }
  }
  return out;
}

std::optional<std::vector<ValueText>> values_of(const std::vector<std::string>& by, const table_store::Entity& entity) {
  std::vector<ValueText> out;
  for (const auto& name : by) {
    if (name == "PartitionKey" || name == "RowKey") {
      out.push_back({ValueType::kString, key_text(Value(name == "RowKey" ? entity.row_key : entity.partition_key))});
      continue;
    }
    const auto* value = entity.find(name);
    if (value == nullptr) return std::nullopt;
    out.push_back({type_of(*value), key_text(*value)});
  }
  return out;
}

CopyKeys copy_keys_of(const LookupRequest& request, const CopiesKind& kind) {
  CopyKeys keys;
  fill(kind.partition_key, request, keys.partition_key);
  keys.exact = fill(kind.row_key, request, keys.row_key);
  return keys;
}

}  // namespace tidemark::indexes
