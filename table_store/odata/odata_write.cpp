// The output half of odata_json.h.
#include <array>
#include <charconv>
#include <cmath>

#include "common/base/encoding.h"
#include "table_store/odata/etag.h"
#include "table_store/odata/odata_json.h"
#include "table_store/odata/table_url.h"

namespace tidemark::table_store {
namespace {

constexpr char kHex[] = "0123456789abcdef";

constexpr std::array<bool, 256> kNeedsEscape = [] {
  std::array<bool, 256> out{};
  for (std::size_t c = 0; c < 0x20; ++c) out[c] = true;
  out['"'] = out['\\'] = true;
  return out;
}();

/// Returns the length of the leading part that needs no escaping, in whole blocks: most texts consist of that part.
/// Without a branch in the inner loop, the compiler vectorizes it.
std::size_t clean_prefix(std::string_view text) {
  constexpr std::size_t kBlock = 32;
  std::size_t at = 0;
  for (; at + kBlock <= text.size(); at += kBlock) {
    unsigned char dirty = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto c = static_cast<unsigned char>(text[at + i]);
      dirty = static_cast<unsigned char>(dirty | ((c < 0x20) | (c == '"') | (c == '\\')));
    }
    if (dirty != 0) break;
  }
  return at;
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kShort = "\"\\\n\r\t";
  constexpr std::string_view kLetters = "\"\\nrt";
  out += '\\';
  if (const auto at = kShort.find(c); at != std::string_view::npos) {
    out += kLetters[at];
    return;
  }
  const auto code = static_cast<unsigned char>(c);
  out += "u00";
  out += kHex[code >> 4];
  out += kHex[code & 15];
}

/// Appends a text that needs no escaping.
void append_plain(std::string& out, std::string_view text) {
  out += '"';
  out += text;
  out += '"';
}

/// Returns the annotation that minimal and full metadata need, or an empty view.
std::string_view type_name(const ValueView& value) {
  constexpr std::string_view kNames[] = {"", "", "Edm.Int64", "", "", "Edm.DateTime", "Edm.Guid", "Edm.Binary"};
  static_assert(std::size(kNames) == std::variant_size_v<ValueView>);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr && !std::isfinite(*real) ? "Edm.Double" : kNames[value.index()];
}

template <class Int>
void append_integer(std::string& out, Int value) {
  char text[24];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

struct ValueWriter {
  std::string& out;
  void operator()(std::string_view v) const { append_json_string(out, v); }
  void operator()(std::int32_t v) const { append_integer(out, v); }
  void operator()(std::int64_t v) const {
    out += '"';
    append_integer(out, v);
    out += '"';
  }
  void operator()(double v) const {
    if (std::isnan(v)) {
      out += "\"NaN\"";
    } else if (std::isinf(v)) {
      out += v > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    } else {
      append_json_double(out, v);
    }
  }
  void operator()(bool v) const { out += v ? "true" : "false"; }
  void operator()(const Time& v) const { append_plain(out, Iso8601Text(v).view()); }
  void operator()(const Guid& v) const { append_plain(out, guid_text(v)); }
  void operator()(BinaryView v) const { append_plain(out, base64_encode(v.bytes)); }
};

bool selected(const JsonScope& scope, std::string_view name) {
  if (scope.select == nullptr || scope.select->empty()) return true;
  for (const auto& wanted : *scope.select) {
    if (wanted == name) return true;
  }
  return false;
}

/// Starts a member; `first` says whether a comma is due.
void append_name(std::string& out, bool& first, std::string_view name) {
  if (!first) out += ',';
  first = false;
  append_json_string(out, name);
  out += ':';
}

/// Likewise for a name that needs no escaping.
void append_own_name(std::string& out, bool& first, std::string_view name) {
  if (!first) out += ',';
  first = false;
  append_plain(out, name);
  out += ':';
}

void append_annotation(std::string& out, bool& first, std::string_view name, std::string_view type) {
  if (!first) out += ',';
  first = false;
  append_json_string(out, name);
  out.insert(out.size() - 1, "@odata.type");
  out += ':';
  append_plain(out, type);
}

void append_full_metadata(std::string& out, bool& first, const JsonScope& scope, std::string_view type,
                          const std::string& link) {
  append_name(out, first, "odata.type");
  append_json_string(out, std::string(scope.account) + "." + std::string(type));
  append_name(out, first, "odata.id");
  append_json_string(out, std::string(scope.base) + "/" + link);
}

/// Appends all members but the properties.
void append_system_members(std::string& out, bool& first, const JsonScope& scope, const EntityView& entity) {
  bool full = scope.level == MetadataLevel::kFull;
  const Iso8601Text time(time_of(entity.version));
  std::string link;
  if (full) {
    append_entity_path(link, scope.table, entity.partition_key, entity.row_key);
    append_full_metadata(out, first, scope, scope.table, link);
  }
  if (scope.level != MetadataLevel::kNone) {
    append_own_name(out, first, "odata.etag");
    append_etag_as_json(out, time.view());
  }
  if (full) {
    append_name(out, first, "odata.editLink");
    append_json_string(out, link);
  }
  if (selected(scope, "PartitionKey")) {
    append_own_name(out, first, "PartitionKey");
    append_json_string(out, entity.partition_key);
  }
  if (selected(scope, "RowKey")) {
    append_own_name(out, first, "RowKey");
    append_json_string(out, entity.row_key);
  }
  if (selected(scope, "Timestamp")) {
    if (full) append_annotation(out, first, "Timestamp", "Edm.DateTime");
    append_own_name(out, first, "Timestamp");
    append_plain(out, time.view());
  }
}

void append_members(std::string& out, bool first, const JsonScope& scope, const EntityView& entity) {
  append_system_members(out, first, scope, entity);
  auto properties = entity.properties();
  while (properties.next()) {
    if (!selected(scope, properties.name())) continue;
    const auto value = properties.value();
    auto type = scope.level == MetadataLevel::kNone ? std::string_view{} : type_name(value);
    if (!type.empty()) append_annotation(out, first, properties.name(), type);
    append_name(out, first, properties.name());
    std::visit(ValueWriter{out}, value);
  }
  out += '}';
}

void append_metadata_url(std::string& out, const JsonScope& scope, std::string_view set, std::string_view suffix) {
  std::string url(scope.base);
  url.append("/$metadata#").append(set).append(suffix);
  out += "\"odata.metadata\":";
  append_json_string(out, url);
}

void append_table_members(std::string& out, bool first, const JsonScope& scope, std::string_view table) {
  if (scope.level == MetadataLevel::kFull) {
    std::string link = "Tables('" + std::string(table) + "')";
    append_full_metadata(out, first, scope, "Tables", link);
    append_name(out, first, "odata.editLink");
    append_json_string(out, link);
  }
  append_name(out, first, "TableName");
  append_json_string(out, table);
  out += '}';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t begin = 0;
  for (std::size_t i = clean_prefix(text); i < text.size(); ++i) {
    if (!kNeedsEscape[static_cast<unsigned char>(text[i])]) continue;
    out.append(text, begin, i - begin);
    append_escaped(out, text[i]);
    begin = i + 1;
  }
  out.append(text, begin, text.size() - begin);
  out += '"';
}

void append_json_double(std::string& out, double value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string_view digits(text, static_cast<std::size_t>(end - text));
  out += digits;
  // ".0" is how the type survives: without it a reader takes the number for an Int32.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_entity_answer(std::string& out, const JsonScope& scope, const EntityView& entity) {
  out.reserve(out.size() + 512 + entity.block.size());
  out += '{';
  bool metadata = scope.level != MetadataLevel::kNone;
  if (metadata) append_metadata_url(out, scope, scope.table, "/@Element");
  append_members(out, !metadata, scope, entity);
}

void append_list_element(std::string& out, const JsonScope& scope, const EntityView& entity) {
  out += '{';
  append_members(out, true, scope, entity);
}

void append_list_head(std::string& out, const JsonScope& scope) {
  out += '{';
  if (scope.level != MetadataLevel::kNone) {
    std::string suffix;
    if (scope.select != nullptr && !scope.select->empty()) {
      suffix = "&$select=";
      for (const auto& name : *scope.select) {
        if (suffix.back() != '=') suffix += ',';
        suffix += name;
      }
    }
    append_metadata_url(out, scope, scope.table, suffix);
    out += ',';
  }
  out += "\"value\":[";
}

void append_table_answer(std::string& out, const JsonScope& scope) {
  out += '{';
  bool metadata = scope.level != MetadataLevel::kNone;
  if (metadata) append_metadata_url(out, scope, "Tables", "/@Element");
  append_table_members(out, !metadata, scope, scope.table);
}

void append_table_list(std::string& out, const JsonScope& scope, const std::vector<std::string>& tables) {
  JsonScope head = scope;
  head.table = "Tables";
  head.select = nullptr;
  append_list_head(out, head);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    append_table_members(out, true, scope, tables[i]);
  }
  out += "]}";
}

}  // namespace tidemark::table_store
