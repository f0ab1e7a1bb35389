// Calls of one kind that are made at the same moment, in one message: a coroutine makes its call as if it were alone,
// and those that others make before the executor has nothing else to do go with it. The server carries them out side by
// side, so their writes share a commit, and each has an outcome of its own.
//
//   client:  rpc::Gathered get{client.get};    co_await get("table", "partition", "row")
//   server:  rpc::By<rpc::Several<calls::Get>, rpc::carry_out_each<calls::Get>>
#pragma once
#include <algorithm>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/post.hpp>

#include "common/base/side_by_side.h"
#include "common/rpc/call.h"

namespace tidemark::rpc {

inline constexpr std::size_t kMostTogether = 100;

namespace detail {

template <class Call>
inline constexpr auto kMethodOfSeveral = [] {
  std::array<char, Call::kMethod.size() + 8> name{};
  auto end = std::ranges::copy(Call::kMethod, name.begin()).out;
  std::ranges::copy(std::string_view(".several"), end);
  return name;
}();

}  // namespace detail

template <class Call>
struct Several {
  static constexpr std::string_view kMethod{detail::kMethodOfSeveral<Call>.data(),
                                            detail::kMethodOfSeveral<Call>.size()};
  using Reply = std::vector<Result<typename Call::Reply>>;
  std::vector<Call> calls;  // at most kMostTogether
};

/// Makes each of the calls by the service's function call().
template <class Call>
struct CarryOutEach {
  template <class Service>
  Task<Result<typename Several<Call>::Reply>> operator()(Service& service, Several<Call> several) const {
    const auto count = several.calls.size();
    if (count == 0 || count > kMostTogether) co_return fail(ErrorCode::kInvalidInput);
    typename Several<Call>::Reply replies(count, fail(ErrorCode::kInternalError));
    const Step make = [&](std::size_t number) -> Task<Result<void>> {
      replies[number] = co_await service.call(std::move(several.calls[number]));
      co_return Result<void>{};
    };
    CO_TRY(co_await side_by_side(service.clock(), count, make, count));
    co_return replies;
  }
};
template <class Call>
inline constexpr CarryOutEach<Call> carry_out_each;

/// Makes calls together; each is repeated alone if they are too large for one message, so it must be one whose
/// repetition has no effect. Must be used on one strand, and outlive the calls.
template <class Call, class Fields = wire::FieldValues<Call>>
class Gathered;
template <class Call, class... Fields>
class Gathered<Call, std::tuple<std::string, Fields...>> {
 public:
  using Reply = Result<typename Call::Reply>;

  explicit Gathered(const Method<Call>& method) : caller_(method.caller()) {}
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  ~Gathered() = default;

  /// See Method.
  Task<Reply> operator()(Fields... fields) {
    Call call{caller_.account, std::move(fields)...};
    const auto executor = co_await asio::this_coro::executor;
    auto initiate = [this, &call, &executor](auto handler) {
      waiting_.push_back({std::move(call), std::move(handler)});
      if (waiting_.size() == 1) spawn(executor, send(*this));
    };
    auto operation = asio::async_initiate<decltype(asio::use_awaitable), void(Reply)>(initiate, asio::use_awaitable);
    co_return co_await std::move(operation);
  }

 private:
  struct Waiting {
    Call call;
    asio::any_completion_handler<void(Reply)> done;
  };

  static Task<void> send(Gathered& self) {
    const auto executor = co_await asio::this_coro::executor;
    // Those that are ready to run make their calls first.
    co_await asio::post(executor, asio::use_awaitable);
    auto waiting = std::exchange(self.waiting_, {});
    for (std::size_t first = 0; first < waiting.size(); first += kMostTogether) {
      const auto last = std::min(waiting.size(), first + kMostTogether);
      spawn(executor, make(self.caller_, {std::move_iterator(waiting.begin() + static_cast<std::ptrdiff_t>(first)),
                                          std::move_iterator(waiting.begin() + static_cast<std::ptrdiff_t>(last))}));
    }
  }

  static Task<void> make(Caller caller, std::vector<Waiting> waiting) {
    const auto executor = co_await asio::this_coro::executor;
    auto replies = co_await outcomes(caller, waiting);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      asio::post(executor, [done = std::move(waiting[i].done), reply = std::move(replies[i])]() mutable {
        std::move(done)(std::move(reply));
      });
    }
  }

  static Task<std::vector<Reply>> outcomes(const Caller& caller, std::vector<Waiting>& waiting) {
    std::vector<Reply> replies;
    if (waiting.size() == 1) {
      replies.push_back(co_await call(caller, waiting.front().call));
      co_return replies;
    }
    Several<Call> several;
    for (auto& each : waiting) several.calls.push_back(std::move(each.call));
    auto made = co_await call(caller, several);
    if (made && made->size() != waiting.size()) made = fail(ErrorCode::kInternalError);
    if (made) co_return std::move(*made);
    const auto code = made.error().code;
    const bool too_large = code == ErrorCode::kRequestBodyTooLarge || code == ErrorCode::kInternalError;
    for (const auto& each : several.calls) {
      replies.push_back(too_large ? co_await call(caller, each) : fail(made.error()));
    }
    co_return replies;
  }

  const Caller& caller_;
  std::vector<Waiting> waiting_;
};
template <class Call>
Gathered(const Method<Call>&) -> Gathered<Call>;

}  // namespace tidemark::rpc
