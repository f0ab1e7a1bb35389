#include "queue_service/internal/queue_dispatch.h"

#include "queue_service/storage/served_calls.h"

namespace tidemark::queue_service {
namespace {

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

rpc::Dispatch make_queue_dispatch(QueueService& service) { return rpc::make_dispatch<ServedCalls>(service); }

}  // namespace tidemark::queue_service
