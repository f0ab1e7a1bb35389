#include "tests/simulation/network.h"

namespace tidemark::simulation {
namespace {
using namespace std::chrono_literals;
constexpr int kDeliveryTries = 5;
}  // namespace

Duration Network::delay(bool plain) {
  auto& dice = scheduler_.dice();
  if (!plain && dice.chance(faults_.very_slow)) return dice.between(1s, 25s);
  if (!plain && dice.chance(faults_.slow)) return dice.between(5ms, 1s);
  return dice.between(50us, faults_.usual);
}

std::string Network::describe(const Letter& letter) const {
  return scheduler_.host(letter.request.caller).name + "/" + std::to_string(letter.caller_life) + " -> " +
         scheduler_.host(letter.callee).name + " #" + std::to_string(letter.call) + " " + letter.request.method;
}

void Network::send(std::shared_ptr<const Letter> letter) {
  auto& dice = scheduler_.dice();
  const bool lost = !letter->plain && dice.chance(faults_.lose_request);
  const int copies = !letter->plain && dice.chance(faults_.duplicate) ? 2 : 1;
  scheduler_.trace().note(scheduler_.now(),
                          lost         ? "lose"
                          : copies > 1 ? "send twice"
                                       : "send",
                          letter->request.payload, [&] { return describe(*letter); });
  if (lost) return;
  for (int i = 0; i < copies; ++i) {
    ++in_flight_;
    // The second copy mostly comes late, when much has happened in between.
    const auto late = i > 0 ? dice.between(0ms, 1s) : Duration::zero();
    scheduler_.after(delay(letter->plain) + late, [this, letter] { deliver(letter, 0); });
  }
}

void Network::deliver(std::shared_ptr<const Letter> letter, int tries) {
  auto* life = scheduler_.host(letter->callee).life.get();
  if (life == nullptr) {
    // The letter waits for a connection, as in a socket's queue, or is lost with it.
    if (tries == kDeliveryTries || (!letter->plain && scheduler_.dice().chance(3000))) {
      --in_flight_;
      return;
    }
    scheduler_.after(scheduler_.dice().between(50ms, 1s), [this, letter, tries] { deliver(letter, tries + 1); });
    return;
  }
  --in_flight_;
  scheduler_.trace().note(scheduler_.now(), "deliver", letter->request.method, [&] { return describe(*letter); });
  auto task = serve(*this, static_cast<Callee&>(*life->program), letter, *life);
  spawn(life->executor(), std::move(task));
}

Task<void> Network::serve(Network& network, Callee& callee, std::shared_ptr<const Letter> letter, Life& life) {
  auto request = letter->request;
  auto result = co_await callee.answer(std::move(request));
  if (!life.dead()) network.reply(*letter, std::move(result));
}

void Network::reply(const Letter& letter, Result<std::string> result) {
  auto& dice = scheduler_.dice();
  const bool lost = !letter.plain && dice.chance(faults_.lose_reply);
  const auto code = result ? std::string("ok") : std::string(azure_name_of(result.error().code));
  scheduler_.trace().note(scheduler_.now(), lost ? "lose reply" : "reply", result ? *result : code,
                          [&] { return describe(letter) + " " + code; });
  if (lost) return;
  scheduler_.after(delay(letter.plain), [this, caller = letter.request.caller, life = letter.caller_life,
                                         call = letter.call, result = std::move(result)]() mutable {
    auto* there = scheduler_.find_life(caller, life);
    if (there != nullptr) there->end_call(call, std::move(result));
  });
}

void Network::connections_broke(int callee) {
  for (int i = 0; i < scheduler_.host_count(); ++i) {
    if (scheduler_.host(i).life == nullptr || scheduler_.dice().chance(5000)) continue;
    scheduler_.after(scheduler_.dice().between(0ms, 50ms),
                     [this, i, callee, number = scheduler_.host(i).life->number()] {
                       auto* life = scheduler_.find_life(i, number);
                       if (life != nullptr) life->end_calls_to(callee, make_error(ErrorCode::kUnavailable));
                     });
  }
}

Task<Result<std::string>> SimTransport::call(std::string method, std::string payload, Duration deadline) {
  if (life_.dead()) co_return fail(ErrorCode::kUnavailable);
  auto executor = co_await asio::this_coro::executor;
  auto letter = std::make_shared<Network::Letter>();
  letter->request = {std::move(method), std::move(payload), life_.host()};
  letter->callee = callee_;
  letter->caller_life = life_.number();
  letter->plain = plain_;
  auto initiate = [this, letter, executor, deadline](auto handler) {
    auto cell = std::make_shared<decltype(handler)>(std::move(handler));
    auto pending = std::make_shared<PendingCall>();
    pending->executor = executor;
    pending->callee = callee_;
    pending->resume = [cell](Result<std::string> result) { std::move (*cell)(std::move(result)); };
    letter->call = life_.add_call(pending);
    pending->deadline = life_.clock().call_after(deadline, executor, [life = &life_, id = letter->call] {
      life->end_call(id, fail(ErrorCode::kDeadlineExceeded));
    });
    network_.send(letter);
  };
  auto operation =
      asio::async_initiate<decltype(asio::use_awaitable), void(Result<std::string>)>(initiate, asio::use_awaitable);
  co_return co_await std::move(operation);
}

SpreadTransport::SpreadTransport(Network& network, Life& life, const std::vector<int>& callees, bool plain)
    : network_(network) {
  for (const auto callee : callees) links_.emplace_back(network, life, callee, plain);
}

Task<Result<std::string>> SpreadTransport::call(std::string method, std::string payload, Duration deadline) {
  const auto chosen = links_.size() == 1 ? 0 : network_.scheduler_.dice().below(links_.size());
  return links_[chosen].call(std::move(method), std::move(payload), deadline);
}

}  // namespace tidemark::simulation
