#include "indexes/lookup/search_parts.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "indexes/store/read_entities.h"
#include "table_store/model/property_block.h"

namespace tidemark::indexes {
namespace {

using nlohmann::json;

// Limits of the work and the memory of one lookup.
constexpr std::uint32_t kPiecesAtOnce = 32;
constexpr std::uint32_t kBlobPiecesAtOnce = 8;
constexpr std::size_t kEntitiesAtOnce = 100;
constexpr std::size_t kMostLookedAt = 5000;
constexpr std::size_t kMostBytes = 8UL << 20;

}  // namespace

std::string keys_between(std::string_view from, std::string_view before) {
  return " and RowKey ge " + literal(from) + " and RowKey lt " + literal(before);
}

std::string text_of(const EntryPlace& place) {
  const auto parts =
      json::array({place.range, place.group, place.entry.partition_key, place.entry.row_key, place.row_key});
  return base64_encode(parts.dump());
}

std::unexpected<Error> strange_continuation() {
  return fail(ErrorCode::kInvalidQueryParameterValue, "continuation is not one of this lookup.");
}

Result<std::optional<EntryPlace>> place_in(const std::string& text, std::size_t ranges) {
  if (text.empty()) return std::nullopt;
  const auto parts = json_or_discarded(base64_decode(text).value_or(""));
  if (!parts.is_array() || parts.size() != 5 || !parts[0].is_number_unsigned()) return strange_continuation();
  if (!std::all_of(parts.begin() + 1, parts.end(), [](const json& part) { return part.is_string(); }) ||
      parts[0].get<std::uint64_t>() >= ranges) {
    return strange_continuation();
  }
  EntryPlace place{parts[0].get<std::size_t>(), parts[1].get<std::string>(), {}, parts[4].get<std::string>()};
  place.entry = {parts[2].get<std::string>(), parts[3].get<std::string>()};
  return place;
}

bool is_ready(const std::optional<table_store::Entity>& progress) {
  return progress && jobs::property_or<std::string>(*progress, "State") == kReady;
}

Task<Result<std::vector<std::optional<table_store::Entity>>>> Source::read(std::vector<jobs::EntityKey> keys) const {
  auto read = CO_TRY(co_await read_entities(tables, table, std::move(keys), selection));
  for (auto& entity : read) {
    if (entity && !filter.matches(*entity)) entity.reset();
  }
  co_return read;
}

bool Page::full() const {
  return found_.entities.size() >= top_ || bytes_ >= kMostBytes || looked_at_ >= kMostLookedAt;
}

std::size_t Page::room() const { return std::min(kEntitiesAtOnce, left()); }

void Page::add(FoundEntity entity) {
  bytes_ += entity.block.size();
  ++looked_at_;
  found_.entities.push_back(std::move(entity));
}

void Page::add(table_store::Entity entity) {
  const auto block = keep(table_store::property_block(entity.properties));
  add(FoundEntity{std::move(entity.partition_key), std::move(entity.row_key), entity.version, block});
}

GroupRows::GroupRows(const Index& index, const LookupRequest& request)
    : name_(index.name), partition_(request.partition) {
  rows_.table = index.definition.destination();
  rows_.follower = index.id;
  rows_.top = kPiecesAtOnce;
  const auto* lists = std::get_if<ListsKind>(&index.definition.kind);
  if (lists == nullptr || lists->where != ListsKind::Where::kBlobs) return;
  rows_.table = std::string(kIndexTable);
  rows_.top = kBlobPiecesAtOnce;
  before_group_ = lists_of(index.id) + " ";
}

QueryRequest GroupRows::pieces_of(const std::string& group, std::uint64_t hash) const {
  return with(place_of(group).filter_from(hash));
}

QueryRequest GroupRows::pieces_in(const GroupRange& range, std::size_t properties) const {
  const auto keys = range.place(partition_ ? '_' : '\0', properties);
  const auto prefix = name_ + "_";
  if (!partition_) return with(partitions("ge", keys.first, keys.before) + of_pieces());
  return with("PartitionKey eq " + literal(*partition_) + keys_between(prefix + keys.first, prefix + keys.before));
}

QueryRequest GroupRows::pieces_behind(const std::string& group, const GroupRange& range, std::size_t properties) const {
  return with(partitions("gt", group, range.place('\0', properties).before) + of_pieces());
}

QueryRequest GroupRows::summaries(const std::string& after, const GroupRange& range, std::size_t properties) const {
  const auto keys = range.place('\0', properties);
  const auto groups = range.whole
                          ? "PartitionKey eq " + literal(keys.first)
                          : partitions(after.empty() ? "ge" : "gt", after.empty() ? keys.first : after, keys.before);
  return with(groups + " and RowKey eq " + literal(kSummaryRow));
}

QueryRequest GroupRows::with(std::string filter) const {
  auto request = rows_;
  request.filter = std::move(filter);
  return request;
}

std::string GroupRows::partitions(const char* relation, const std::string& first, const std::string& before) const {
  return "PartitionKey " + std::string(relation) + " " + literal(before_group_ + first) + " and PartitionKey lt " +
         literal(before_group_ + before);
}

std::string GroupRows::of_pieces() {
  const auto place = group_across("");
  return keys_between(place.row_prefix, place.end());
}

}  // namespace tidemark::indexes
