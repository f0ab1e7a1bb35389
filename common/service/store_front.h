// The way of a request through a store, the same in all three: it is admitted or refused, answered and finished.
#pragma once
#include "common/service/front.h"

namespace tidemark::service {

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
    StoreCall call = begin(request);
    auto answered = admit(call);
    if (!answered) answered = answer_at_once(call);
    if (!answered) answered = co_await answer(call);
    co_return finish(call, std::move(*answered));
  }

 protected:
  virtual StoreCall begin(http::Request& request) = 0;
  /// Answers without a coroutine's frame, if nothing has to be waited for.
  virtual std::optional<Result<http::Response>> answer_at_once(StoreCall&) { return std::nullopt; }
  /// Answers an admitted request, after answer_at_once().
  virtual Answer answer(StoreCall& call) = 0;
};

}  // namespace tidemark::service
