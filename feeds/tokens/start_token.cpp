#include "feeds/tokens/start_token.h"

#include "feeds/tokens/token.h"

namespace tidemark::feeds {

Task<Result<std::string>> token_for(table_store::TableClient& tables, std::string table, std::string after) {
  const auto status = CO_TRY(co_await tables.feed(table, {}));
  const auto start = CO_TRY(parse_start(table, after));
  if (start.start == table_store::FeedStart::kOldest) co_return token_of(table, status.oldest);
  if (start.start == table_store::FeedStart::kNow) co_return token_of(table, status.end);
  co_return after;
}

}  // namespace tidemark::feeds
