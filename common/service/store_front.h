// The way of a request through a store, the same in all three: it is admitted or refused, passed on if another process
// serves its data, answered and finished.
#pragma once
#include "common/service/forwarded_request.h"
#include "common/service/front.h"

namespace tidemark::service {

/// The shard whose owner answers a request; nothing: any process does.
using Place = std::optional<std::size_t>;
/// The shard of requests that concern a table, queue or container as a whole, or the account.
inline constexpr std::size_t kCatalogue = 0;

/// `StoreCall` derives from Call and holds the store's parse of a request; it lives until the request is answered.
template <typename StoreCall>
class StoreFront : public Front {
 public:
  using Front::Front;

  Task<http::Response> serve(http::Request& request) final {
    heed_terminator(request);
    return serve_part(request);
  }

  Task<http::Response> serve_part(http::Request& request) final {
    return forwarder() == nullptr ? serve_here(request) : serve_or_forward(request);
  }

  Task<http::Response> serve_here(http::Request& request) final {
    StoreCall call = begin(request);
    auto answered = admit(call);
    if (!answered) answered = answer_at_once(call);
    if (!answered) answered = co_await answer(call);
    co_return finish(call, std::move(*answered));
  }

 protected:
  virtual StoreCall begin(http::Request& request) = 0;
  /// Returns the place of an admitted request, where processes share the shards and the store does not pass on calls
  /// itself. A request that cannot be understood is answered anywhere.
  virtual Result<Place> place_of(StoreCall&) { return std::nullopt; }
  /// Answers without a coroutine's frame, if nothing has to be waited for.
  virtual std::optional<Result<http::Response>> answer_at_once(StoreCall&) { return std::nullopt; }
  /// Answers an admitted request, after place_of() or answer_at_once().
  virtual Answer answer(StoreCall& call) = 0;

 private:
  struct Answered {
    Result<http::Response> response;
    bool elsewhere = false;  // by another process, which has completed it
  };

  Task<http::Response> serve_or_forward(http::Request& request) {
    StoreCall call = begin(request);
    if (auto refused = admit(call)) co_return finish(call, std::move(*refused));
    auto answered = co_await answer_or_forward(call);
    if (answered.elsewhere) co_return relay(call, std::move(*answered.response));
    co_return finish(call, std::move(answered.response));
  }

  Task<Answered> answer_or_forward(StoreCall& call) {
    auto place = place_of(call);
    if (!place) co_return Answered{fail(std::move(place.error()))};
    if (*place) {
      auto elsewhere = co_await forwarder()->forward(**place, call.http);
      if (!elsewhere) co_return Answered{fail(std::move(elsewhere.error()))};
      if (*elsewhere) co_return Answered{std::move(**elsewhere), true};
    }
    co_return Answered{co_await answer(call)};
  }
};

}  // namespace tidemark::service
