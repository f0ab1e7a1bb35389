// How far behind whoever reads the changes of a table is.
#pragma once
#include <string>
#include <vector>

#include "common/base/async.h"

namespace tidemark::api {

struct Api;

struct FeedLag {
  std::string table;  // in lower case, if only a consumer group of a feed that has ended names it
  std::string name;
  bool of_group = false;      // or of a declaration of what follows changes
  bool stopped = false;       // a change could not be told, and it waits for a person
  std::string error = {};     // why it stopped
  bool ended = false;         // there is no feed
  bool gone = false;          // some changes that it did not see are not kept any more, or none is
  std::uint64_t changes = 0;  // that wait
  Duration age{};             // of the oldest of them
};

/// Of the first 100 tables that have readers.
Task<Result<std::vector<FeedLag>>> feed_lags(Api& api);

}  // namespace tidemark::api
