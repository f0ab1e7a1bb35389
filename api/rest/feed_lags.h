// The lag of the readers of the changes of tables.
#pragma once
#include <string>
#include <vector>

#include "common/base/async.h"

namespace tidemark::api {

struct Api;

struct FeedLag {
  std::string table;  // in lower case, if only a consumer group of a feed that has ended names it
  std::string name;
  bool of_group = false;      // otherwise an on-change declaration
  bool stopped = false;       // a change could not be told, so it waits for a person
  std::string error = {};     // why it stopped
  bool ended = false;         // there is no feed
  bool gone = false;          // some changes that it has not seen, or all, are no longer kept
  std::uint64_t changes = 0;  // the number of changes that wait
  Duration age{};             // the age of the oldest of them
};

/// Returns the readers of the first 100 tables that have any.
Task<Result<std::vector<FeedLag>>> feed_lags(Api& api);

}  // namespace tidemark::api
