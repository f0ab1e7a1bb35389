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
#include <functional>

#include "common/rpc/transport.h"
#include "common/rpc/wire.h"

namespace tidemark::rpc {
namespace detail {

inline std::unexpected<Error> malformed(ErrorCode code, std::string_view what, std::string_view method) {
  return fail(error_for_log(code, "malformed " + std::string(what) + " of " + std::string(method)));
}

template <class Call>
Task<Result<typename Call::Reply>> typed(Task<Result<std::string>> reply) {
  const auto bytes = CO_TRY(co_await std::move(reply));
  if constexpr (std::is_void_v<typename Call::Reply>) {
    co_return Result<void>();
  } else {
    auto value = wire::decode<typename Call::Reply>(bytes);
    if (!value) co_return malformed(ErrorCode::kInternalError, "reply", Call::kMethod);
    co_return std::move(*value);
  }
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

 private:
  const Caller& caller_;
};

/// Decodes calls, passes them to a service and encodes its replies.
template <class Service>
class Face {
 public:
  struct Handler {
    std::string_view method;
    Task<Result<std::string>> (*answer)(Service& service, std::string payload);
  };

  /// `serve` is a member function of the service that takes the fields of the call in their order, or a function of the
  /// service and the call; it returns a Result or a Task of one. `part` picks the reply out of its value.
  template <class Call, auto serve, auto part = std::identity{}>
  static constexpr Handler on() {
    return {Call::kMethod, &answer<Call, serve, part>};
  }

 private:
  template <class Call, auto serve, auto part>
  static Task<Result<std::string>> answer(Service& service, std::string payload) {
    auto call = wire::decode<Call>(std::exchange(payload, {}));
    if (!call) co_return detail::malformed(ErrorCode::kInvalidInput, "call", Call::kMethod);
    if constexpr (requires { run<serve>(service, *call).error(); }) {
      co_return reply<Call, part>(run<serve>(service, *call));
    } else {
      co_return reply<Call, part>(co_await run<serve>(service, *call));
    }
  }

  template <auto serve, class Call>
  static auto run(Service& service, Call& call) {
    if constexpr (std::is_member_function_pointer_v<decltype(serve)>) {
      return std::apply([&service](auto&... field) { return (service.*serve)(std::move(field)...); },
                        wire::fields_of(call));
    } else {
      return serve(service, std::move(call));
    }
  }

  template <class Call, auto part, class Value>
  static Result<std::string> reply(Result<Value> done) {
    if (!done) return fail(std::move(done.error()));
    if constexpr (std::is_void_v<typename Call::Reply>) {
      return std::string();
    } else {
      return wire::encode<typename Call::Reply>(std::invoke(part, std::move(*done)));
    }
  }
};

/// Service and handlers must outlive the dispatch. Calls without a handler go to `others`.
template <class Service, std::size_t count>
Dispatch make_dispatch(Service& service, const typename Face<Service>::Handler (&handlers)[count], Dispatch others) {
  // The function is not a coroutine itself: it returns one that owns its arguments.
  return [&service, &handlers, others = std::move(others)](const std::string& method, std::string payload) {
    for (const auto& handler : handlers) {
      if (handler.method == method) return handler.answer(service, std::move(payload));
    }
    return others(method, std::move(payload));
  };
}

namespace detail {
inline Task<Result<std::string>> refuse() { co_return fail(ErrorCode::kNotImplemented); }
}  // namespace detail

/// kNotImplemented if no handler has the method.
template <class Service, std::size_t count>
Dispatch make_dispatch(Service& service, const typename Face<Service>::Handler (&handlers)[count]) {
  return make_dispatch(service, handlers, [](const std::string&, std::string) { return detail::refuse(); });
}

}  // namespace tidemark::rpc
