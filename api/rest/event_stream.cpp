#include "api/rest/event_stream.h"

namespace tidemark::api {
namespace {

constexpr Duration kLongestStream = std::chrono::hours(1);

}  // namespace

EventStream::EventStream(Api& api, const http::Request& request, Caller caller, std::shared_ptr<void> slot, Role needed)
    : api_(api),
      peer_gone_(request.peer_gone),
      caller_(std::move(caller)),
      needed_(needed),
      slot_(std::move(slot)),
      begun_(api.clock.monotonic()),
      checked_(begun_) {}

bool EventStream::goes_on() {
  const auto now = api_.clock.monotonic();
  if (api_.stopping->load() || now - begun_ >= kLongestStream || (peer_gone_ && peer_gone_())) return false;
  if (now - checked_ < kKeepAlive) return true;
  checked_ = now;
  return api_.entry.still_may(caller_, needed_);
}

}  // namespace tidemark::api
