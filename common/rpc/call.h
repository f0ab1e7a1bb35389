// Typed calls over a Transport, for both sides. A call is a plain struct that names its method and its reply:
//
//   struct Get {
//     static constexpr std::string_view kMethod = "table.get";
//     using Reply = std::optional<Entity>;
//     std::string account, table, partition_key, row_key;
//   };
//
// The client says  call(link, Get{...}, deadline),  or has a Method<Get>; the server lists a handler for each call:
//
//   using Face = rpc::Face<TableService>;
//   constexpr Face::Handler kHandlers[] = {Face::on<Get, &TableService::get>(), ...};
#pragma once
#include <array>
#include <functional>
#include <type_traits>

#include "common/rpc/transport.h"
#include "common/rpc/wire.h"

namespace tidemark::rpc {
namespace detail {

inline std::unexpected<Error> malformed(ErrorCode code, std::string_view what, std::string_view method) {
  return fail(error_for_log(code, "malformed " + std::string(what) + " of " + std::string(method)));
}

}  // namespace detail

/// Decodes the reply to a call. kInternalError if it is malformed.
template <class Call>
Result<typename Call::Reply> reply_of(std::string_view bytes) {
  if constexpr (std::is_void_v<typename Call::Reply>) {
    return {};
  } else {
    auto value = wire::decode<typename Call::Reply>(bytes);
    if (!value) return detail::malformed(ErrorCode::kInternalError, "reply", Call::kMethod);
    return std::move(*value);
  }
}

namespace detail {

template <class Call>
Task<Result<typename Call::Reply>> typed(Task<Result<std::string>> reply) {
  const auto bytes = CO_TRY(co_await std::move(reply));
  co_return reply_of<Call>(bytes);
}

}  // namespace detail

/// Makes a call. Errors are those of the service and the transport; kInternalError if the reply is malformed.
template <class Call>
Task<Result<typename Call::Reply>> call(Transport& link, const Call& what, Duration deadline) {
  return detail::typed<Call>(link.call(std::string(Call::kMethod), wire::encode(what), deadline));
}

/// How a client makes its calls: over this transport, as this account.
struct Caller {
  Transport& transport;
  std::string account;
  Duration deadline;
};

template <class Call>
Task<Result<typename Call::Reply>> call(const Caller& caller, const Call& what) {
  return call(caller.transport, what, caller.deadline);
}

/// A call as a function of a client. The call's first field is the account, and the others are the arguments:
///
///   rpc::Method<calls::Get> get{caller_};    client.get("table", "partition", "row")
template <class Call, class Fields = wire::FieldValues<Call>>
class Method;
template <class Call, class... Fields>
class Method<Call, std::tuple<std::string, Fields...>> {
 public:
  explicit Method(const Caller& caller) : caller_(caller) {}
  Task<Result<typename Call::Reply>> operator()(Fields... fields) const {
    return call(caller_, Call{caller_.account, std::move(fields)...});
  }
  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  const Caller& caller_;
};

namespace detail {

/// Passes the call to a member function of the service, which takes the fields of the call in their order, or to a
/// function of the service and the call. It returns a Result or a Task of one.
template <auto function, class Service, class Call>
auto run(Service& service, Call& call) {
  if constexpr (std::is_member_function_pointer_v<decltype(function)>) {
    return std::apply([&service](auto&... field) { return (service.*function)(std::move(field)...); },
                      wire::fields_of(call));
  } else {
    return function(service, std::move(call));
  }
}

/// Picks the reply out of the value that the service returned.
template <class Call, auto part, class Value>
Result<typename Call::Reply> picked(Result<Value> done) {
  if (!done) return fail(std::move(done.error()));
  if constexpr (std::is_void_v<typename Call::Reply>) {
    return {};
  } else {
    return std::invoke(part, std::move(*done));
  }
}

template <class Call>
Result<std::string> encoded(Result<typename Call::Reply> reply) {
  if (!reply) return fail(std::move(reply.error()));
  if constexpr (std::is_void_v<typename Call::Reply>) {
    return std::string();
  } else {
    return wire::encode<typename Call::Reply>(*reply);
  }
}

}  // namespace detail

/// Says that `function` of a service carries out the call (detail::run); `part` picks the reply out of its value. A
/// coroutine takes its arguments by value, since the call does not outlive it.
template <class Call, auto function, auto part = std::identity{}>
struct By {
  using Carried = Call;
  using Reply = Task<Result<typename Call::Reply>>;
  template <class Service>
  static constexpr bool kReplies =
      std::same_as<decltype(part), const std::identity> &&
      std::same_as<decltype(detail::run<function>(std::declval<Service&>(), std::declval<Call&>())), Reply>;

  template <class Service>
    requires kReplies<Service>
  static Reply carry_out(Service& service, Call&& call) {
    return detail::run<function>(service, call);
  }
  template <class Service>
    requires(!kReplies<Service>)
  static Reply carry_out(Service& service, Call call) {
    if constexpr (requires { detail::run<function>(service, call).error(); }) {
      co_return detail::picked<Call, part>(detail::run<function>(service, call));
    } else {
      co_return detail::picked<Call, part>(co_await detail::run<function>(service, call));
    }
  }
};

/// The calls that a service carries out, each with its function.
template <class... Bys>
struct Served : Bys... {
  template <class Call, class Service>
  static Task<Result<typename Call::Reply>> carry_out(Service& service, Call&& call) {
    return decltype(by<Call>(std::declval<Served>()))::carry_out(service, std::forward<Call>(call));
  }

 private:
  template <class Call, auto function, auto part>
  static By<Call, function, part> by(const By<Call, function, part>&);
};

/// Decodes calls, passes them to a service and encodes its replies.
template <class Service>
class Face {
 public:
  struct Handler {
    std::string_view method;
    Task<Result<std::string>> (*answer)(Service& service, std::string payload);
  };

  /// See By.
  template <class Call, auto function, auto part = std::identity{}>
  static constexpr Handler on() {
    return {Call::kMethod, &answer<Call, function, part>};
  }

 private:
  template <class Call, auto function, auto part>
  static Task<Result<std::string>> answer(Service& service, std::string payload) {
    auto call = wire::decode<Call>(std::exchange(payload, {}));
    if (!call) co_return detail::malformed(ErrorCode::kInvalidInput, "call", Call::kMethod);
    if constexpr (requires { detail::run<function>(service, *call).error(); }) {
      co_return detail::encoded<Call>(detail::picked<Call, part>(detail::run<function>(service, *call)));
    } else {
      co_return detail::encoded<Call>(detail::picked<Call, part>(co_await detail::run<function>(service, *call)));
    }
  }
};

/// Service and handlers must outlive the dispatch. Calls without a handler go to `others`.
template <class Service, class Handlers>
Dispatch make_dispatch(Service& service, const Handlers& handlers, Dispatch others) {
  // The function is not a coroutine itself: it returns one that owns its arguments.
  return [&service, &handlers, others = std::move(others)](const std::string& method, std::string payload) {
    for (const typename Face<Service>::Handler& handler : handlers) {
      if (handler.method == method) return handler.answer(service, std::move(payload));
    }
    return others(method, std::move(payload));
  };
}

namespace detail {
inline Task<Result<std::string>> refuse() { co_return fail(ErrorCode::kNotImplemented); }
}  // namespace detail

/// kNotImplemented if no handler has the method.
template <class Service, class Handlers>
Dispatch make_dispatch(Service& service, const Handlers& handlers) {
  return make_dispatch(service, handlers, [](const std::string&, std::string) { return detail::refuse(); });
}

namespace detail {

/// Makes a call of another process by the service's function call().
template <class Call, class Service>
Task<Result<typename Call::Reply>> accept(Service& service, Call call) {
  return service.call(std::move(call));
}

template <class Service, class... Bys>
constexpr auto handlers_of(std::type_identity<Served<Bys...>>) {
  using Handler = typename Face<Service>::Handler;
  return std::array<Handler, sizeof...(Bys)>{
      Face<Service>::template on<typename Bys::Carried, &accept<typename Bys::Carried, Service>>()...};
}

template <class AllServed, class Service>
inline constexpr auto kHandlersOf = handlers_of<Service>(std::type_identity<AllServed>());

}  // namespace detail

/// Answers the calls of other processes by the service's function call(), a template. The service must outlive the
/// dispatch.
template <class AllServed, class Service>
Dispatch make_dispatch(Service& service) {
  return make_dispatch(service, detail::kHandlersOf<AllServed, Service>);
}

}  // namespace tidemark::rpc
