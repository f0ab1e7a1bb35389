#include "table_store/rest/query_routes.h"

#include "common/base/numbers.h"
#include "common/base/text.h"
#include "table_store/odata/listed_keys.h"
#include "table_store/rest/continuation.h"

namespace tidemark::table_store {
namespace {

constexpr std::uint32_t kMaxTop = 1000;
constexpr std::size_t kMaxSelected = 1024;
constexpr std::string_view kListEnd = "]}";

Result<std::optional<Continuation>> read_continuation(const Call& call) {
  auto partition = call.parameter("NextPartitionKey");
  if (!partition || partition->empty()) return std::optional<Continuation>{};
  auto partition_key = TRY(decode_token(*partition));
  auto row_key = TRY(decode_token(call.parameter("NextRowKey").value_or("")));
  return std::optional<Continuation>{Continuation{std::move(partition_key), std::move(row_key)}};
}

Result<Query> read_query(const Call& call) {
  Query query;
  query.table = call.url.table;
  query.filter = TRY(Filter::parse(call.parameter("$filter").value_or("")));
  query.top = TRY(parse_top(call.parameter("$top")));
  query.from = TRY(read_continuation(call));
  query.bounds = call.bounds();
  query.keys_in = &listed_keys;
  return query;
}

}  // namespace

Result<std::vector<std::string>> parse_select(std::optional<std::string_view> text) {
  std::vector<std::string> names;
  if (!text) return names;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto name = trimmed_spaces(take_item(rest));
    if (name == "*") return std::vector<std::string>{};
    if (name.empty()) continue;
    if (names.size() == kMaxSelected) return fail(ErrorCode::kInvalidInput, "$select has too many names.");
    names.emplace_back(name);
  }
  return names;
}

Result<std::uint32_t> parse_top(std::optional<std::string_view> text) {
  if (!text || trimmed_spaces(*text).empty()) return kMaxTop;
  const auto top = parse_number<std::uint32_t>(trimmed_spaces(*text), 0, kMaxTop);
  if (!top) return fail(ErrorCode::kInvalidInput, "$top must be between 0 and 1000.");
  return *top;
}

Answer query_entities(Call& call) {
  CO_TRY(call.allow({auth::ResourceType::kObject, "r"}));
  auto query = CO_TRY(read_query(call));
  auto select = CO_TRY(parse_select(call.parameter("$select")));
  query.abandoned = call.http.peer_gone;
  const bool none = query.top == 0;
  if (none) query.top = 1;  // the query is checked all the same
  const auto* limits = call.front.limits();
  const bool limited = limits != nullptr && limits->counts_items();
  const bool sampled = call.front.meter() != nullptr && call.front.meter()->samples();
  if (limited || sampled) {
    query.meter = [&call, sampled](std::string_view partition_key, std::uint64_t read) -> Result<void> {
      if (sampled && !call.sampled) call.sample(call.url.table, partition_key);
      if (read == 0) return call.take_items({call.url.table, partition_key}, 0);
      call.charge_items({call.url.table, partition_key}, read);
      return {};
    };
  }
  auto scope = call.scope();
  scope.select = &select;
  http::Response response;
  append_list_head(response.body, scope);
  bool first = true;
  std::optional<Continuation> overflow;
  std::function<bool(const EntityView&)> each = [&](const EntityView& entity) {
    if (none) return false;
    const auto length = response.body.size();
    if (!first) response.body += ',';
    append_list_element(response.body, scope, entity);
    if (!first && response.body.size() > kMaxPage - kListEnd.size()) {
      response.body.resize(length);
      overflow = Continuation{std::string(entity.partition_key), std::string(entity.row_key)};
      return false;
    }
    first = false;
    return true;
  };
  auto result = CO_TRY(co_await call.service.query(call.account(), std::move(query), std::move(each)));
  if (overflow) result.next = std::move(overflow);
  response.body += kListEnd;
  response.set("Content-Type", std::string(json_content_type(call.level)));
  if (!result.index.empty()) response.set("x-tidemark-index", result.index);
  if (result.next && !none) {
    response.set("x-ms-continuation-NextPartitionKey", encode_token(result.next->partition_key));
    response.set("x-ms-continuation-NextRowKey", encode_token(result.next->row_key));
  }
  co_return response;
}

}  // namespace tidemark::table_store
