// The pages of change feeds that the owners of one worker read. Owners at the same place of a table, such as many rules
// that wait for its next change, share one request and its page. Pages of a table that changes all the time are read at
// a pace, so that each has several changes. Runs on the owners' strand.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "common/base/async.h"
#include "table_store/client/table_client.h"

namespace tidemark::workers {

class SharedPages {
 public:
  using Page = std::shared_ptr<const table_store::FeedPage>;

  SharedPages(table_store::TableClient& tables, Clock& clock) : tables_(tables), clock_(clock) {}
  /// Reads the page at a place, whose token is `token`, with the values before and after each change. Waits for up to
  /// `wait` if there are no changes. The errors of TableClient::changes.
  Task<Result<Page>> read(std::string table, std::string token, std::uint32_t limit, Duration wait);

 private:
  struct Entry {
    std::optional<Result<Page>> outcome;  // nothing: the request is under way
    Duration read_at{};
    std::size_t owners = 1;
    Signal ready;
  };
  void forget_old();

  table_store::TableClient& tables_;
  Clock& clock_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;    // by table, token and limit
  std::map<std::string, std::weak_ptr<Entry>> small_pages_;  // by table: its last page, if that was not full
};

}  // namespace tidemark::workers
