// The part of /metrics about things that are kept in the stores: indexes, consumer groups, on-change declarations. A
// request for metrics waits for them only for a moment, so that the rest is reported while a store is away.
#pragma once
#include <memory>
#include <string>

#include "common/base/async.h"
#include "common/base/mutex.h"

namespace tidemark::api {

struct Api;

class StoredFigures : public std::enable_shared_from_this<StoredFigures> {
 public:
  /// Returns them in the text exposition format; empty if the stores do not answer at once.
  Task<std::string> read(Api& api);

 private:
  static Task<void> refresh(std::shared_ptr<StoredFigures> self, Api& api);

  Signal told_;
  Mutex mutex_;
  bool asking_ GUARDED_BY(mutex_) = false;
  std::string text_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::api
