#include "queue_service/internal/queue_dispatch.h"

#include "queue_service/storage/served_calls.h"

namespace tidemark::queue_service {
namespace {

/// Carries out a call of another process, which names only whole queues.
template <class Call>
Task<Result<typename Call::Reply>> accept(QueueService& service, Call call) {
  if constexpr (requires { call.place(); }) {
    if constexpr (std::same_as<decltype(call.place()), calls::WholeQueue>) CO_TRY(check_is_whole(call.queue));
  }
  co_return co_await service.call(std::move(call));
}

using Face = rpc::Face<QueueService>;

template <class... Bys>
constexpr std::array<Face::Handler, sizeof...(Bys)> handlers_of(std::type_identity<rpc::Served<Bys...>>) {
  return {Face::on<typename Bys::Carried, &accept<typename Bys::Carried>>()...};
}
constexpr auto kHandlers = handlers_of(std::type_identity<ServedCalls>());

Task<void> give_all_back(rpc::Dispatch dispatch, std::string request, std::string reply) {
  const auto call = wire::decode<calls::Receive>(request);
  const auto messages = wire::decode<calls::Receive::Reply>(reply);
  if (!call || !messages) co_return;
  for (const auto& message : *messages) {
    const auto& queue = message.part.empty() ? call->queue : message.part;
    const calls::GiveBack back{{call->account, queue, message.id, message.epoch}};
    auto done = co_await dispatch(std::string(calls::GiveBack::kMethod), wire::encode(back));
    static_cast<void>(done.has_value());  // if it failed, the lease expires
  }
}

}  // namespace

rpc::UndeliveredHook make_undelivered_hook(rpc::Dispatch dispatch) {
  return {std::string(calls::Receive::kMethod),
          [dispatch = std::move(dispatch)](std::string request, std::string reply) {
            return give_all_back(dispatch, std::move(request), std::move(reply));
          }};
}

rpc::Dispatch make_queue_dispatch(QueueService& service) { return rpc::make_dispatch(service, kHandlers); }

}  // namespace tidemark::queue_service
