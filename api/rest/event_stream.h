// Decides how long a stream of events goes on: an hour at most, after which the client may ask again; only until the
// api stops, or nobody listens any more; and only as long as the caller who opened it may read. Not thread safe.
#pragma once
#include <functional>
#include <memory>

#include "api/rest/api_routes.h"

namespace tidemark::api {

class EventStream {
 public:
  /// `slot` is held as long as the stream. The api must outlive it.
  EventStream(Api& api, const http::Request& request, Caller caller, std::shared_ptr<void> slot,
              Role needed = Role::kViewer);

  [[nodiscard]] bool goes_on();

 private:
  Api& api_;
  std::function<bool()> peer_gone_;
  Caller caller_;
  Role needed_;
  std::shared_ptr<void> slot_;
  Duration begun_, checked_;  // by the monotonic clock
};

}  // namespace tidemark::api
