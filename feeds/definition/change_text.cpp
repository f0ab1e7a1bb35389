#include "feeds/definition/change_text.h"

#include "common/base/time.h"
#include "feeds/definition/feed_json.h"
#include "table_store/odata/entity_text.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::feeds {
namespace {

using table_store::Change;
using table_store::Version;

void append_text(std::string& out, std::string_view member, std::string_view text) {
  out += member;
  table_store::append_json_string(out, text);
}

void append_values(std::string& out, std::string_view member, const Change& change, Version version,
                   const std::optional<std::vector<table_store::Property>>& properties) {
  if (!properties) return;
  out += member;
  table_store::Entity entity;
  entity.partition_key = change.partition_key;
  entity.row_key = change.row_key;
  entity.version = version;
  entity.properties = *properties;
  table_store::append_entity_text(out, entity);
}

}  // namespace

void append_change(std::string& out, const Change& change, std::string_view token) {
  append_text(out, R"({"kind":)", kind_name(change.kind));
  const bool of_table =
      change.kind == table_store::ChangeKind::kDrop || change.kind == table_store::ChangeKind::kCreate;
  if (!of_table) {
    append_text(out, R"(,"partitionKey":)", change.partition_key);
    append_text(out, R"(,"rowKey":)", change.row_key);
  }
  append_text(out, R"(,"version":)", to_iso8601(Time(Ticks(change.version))));
  append_text(out, R"(,"token":)", token);
  if (!change.cause.empty()) append_text(out, R"(,"cause":)", change.cause);
  append_values(out, R"(,"old":)", change, change.before_version, change.before);
  append_values(out, R"(,"new":)", change, change.version, change.after);
  out += '}';
}

}  // namespace tidemark::feeds
