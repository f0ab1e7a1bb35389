#include "common/shards/shard_router.h"

#include <algorithm>

#include "common/base/side_by_side.h"
#include "common/rpc/forwarded.h"

namespace tidemark::shards {
namespace {

using Place = ShardPlaces::Place;

constexpr std::string_view kLook = "owners.look";
/// The wait for a shard that is being handed over.
constexpr Duration kWaitForOwner = std::chrono::seconds(2);
constexpr Duration kWishWithin = std::chrono::seconds(5);
constexpr Duration kTellWithin = std::chrono::seconds(2);
constexpr Duration kLookAtFlights = std::chrono::milliseconds(250);
constexpr int kMostTries = 3;
/// The mark of an error that means: nothing was done, since the shard is not here.
constexpr const char* kNotHere = "shard-not-here";

Error not_served() {
  return make_error(ErrorCode::kServerBusy,
                    "The process that serves this part of the store is being replaced. Please retry your request.");
}

bool says_not_here(const Error& error) {
  return std::ranges::any_of(error.fields, [](const auto& field) { return field.first == kNotHere; });
}

/// Makes the error that the caller may see, which hides the other process.
Error told(Error error) {
  if (error.code != ErrorCode::kUnavailable) return error;
  return {ErrorCode::kServerBusy, not_served().message, std::move(error.detail), {}};
}

}  // namespace

ShardRouter::ShardRouter(ShardPlaces& places, Clock& clock, Executor executor, OpenLink open_link)
    : places_(places), clock_(clock), executor_(std::move(executor)), open_link_(std::move(open_link)) {}

Task<Result<Place>> ShardRouter::find(std::size_t shard) {
  const auto give_up = clock_.monotonic() + kWaitForOwner;
  for (bool first = true;; first = false) {
    const auto ticket = seen_.ticket();
    auto place = places_.place_of(shard);
    if (place.here || !place.address.empty()) co_return place;
    const auto left = give_up - clock_.monotonic();
    if (left <= Duration::zero()) co_return fail(not_served());
    if (first) places_.look();
    co_await seen_.wait(ticket, clock_, left);
  }
}

Task<Result<std::optional<std::string>>> ShardRouter::forward(CallPlace place, std::string method,
                                                              std::string payload) {
  method = rpc::forwarded_to(place.shard, method);
  for (int tries = 1;; ++tries) {
    const auto ticket = seen_.ticket();
    const auto found = CO_TRY(co_await find(place.shard));
    if (found.here) co_return std::optional<std::string>();
    const auto other = link(found.address);
    if (!other) co_return fail(not_served());
    ++forwarded_;
    auto reply = co_await call(other, place, found.address, method, payload);
    if (reply) co_return std::optional(std::move(*reply));
    if (!says_not_here(reply.error())) co_return fail(told(std::move(reply.error())));
    ++missed_;
    if (tries == kMostTries) co_return fail(not_served());
    places_.look();
    co_await seen_.wait(ticket, clock_, kWaitForOwner);
  }
}

namespace {

struct Flight {
  std::optional<Result<std::string>> reply = {};
  Signal landed = {};
};

Task<void> fly(std::shared_ptr<Flight> flight, std::shared_ptr<rpc::Transport> link, std::string method,
               std::string payload, Duration deadline) {
  flight->reply = co_await link->call(std::move(method), std::move(payload), deadline);
  flight->landed.notify_all();
}

}  // namespace

/// Stops waiting for a process that hangs once another one has its shard: its uncommitted work will never be committed.
/// Both coroutines run on the caller's executor, one at a time.
Task<Result<std::string>> ShardRouter::call(std::shared_ptr<rpc::Transport> link, CallPlace place, std::string address,
                                            std::string method, std::string payload) {
  const auto flight = std::make_shared<Flight>();
  spawn(co_await asio::this_coro::executor,
        fly(flight, std::move(link), std::move(method), std::move(payload), place.deadline));
  for (;;) {
    const auto ticket = flight->landed.ticket();
    if (flight->reply) co_return std::move(*flight->reply);
    const auto now = places_.place_of(place.shard);
    if (now.here || (!now.address.empty() && now.address != address)) co_return fail(not_served());
    co_await flight->landed.wait(ticket, clock_, kLookAtFlights);
  }
}

bool ShardRouter::lives(const std::string& process) const {
  return std::ranges::any_of(places_.processes(), [&](const auto& row) { return row.name == process; });
}

Task<void> ShardRouter::tell_others(std::string method, std::string payload) {
  for (const auto& address : places_.others()) {
    const auto other = link(address);
    if (!other) continue;
    const auto told = co_await other->call(std::string(rpc::kForwarded) + method, payload, kTellWithin);
    static_cast<void>(told.has_value());
  }
}

Task<std::vector<ShardRouter::Answer>> ShardRouter::ask_others(std::string method, std::string payload,
                                                               Duration within) {
  std::vector<Answer> answers;
  for (auto& address : places_.others()) answers.push_back({std::move(address), fail(not_served())});
  Step ask = [&](std::size_t number) -> Task<Result<void>> {
    auto& answer = answers[number];
    if (const auto other = link(answer.address)) {
      answer.reply = co_await other->call(std::string(rpc::kForwarded) + method, payload, within);
    }
    co_return Result<void>{};
  };
  if (!answers.empty()) std::ignore = co_await side_by_side(clock_, answers.size(), std::move(ask), answers.size());
  co_return answers;
}

Task<Result<void>> ShardRouter::wish(std::size_t shard, std::string process) {
  const auto give_up = clock_.monotonic() + kWishWithin;
  CO_TRY(places_.wish(shard, process));
  for (;;) {
    const auto ticket = seen_.ticket();
    if (places_.wished(shard) == process) co_return Result<void>{};
    const auto left = give_up - clock_.monotonic();
    if (left <= Duration::zero()) {
      co_return fail(ErrorCode::kServerBusy, "The database has not confirmed it in time: look whether it is so.");
    }
    co_await seen_.wait(ticket, clock_, left);
  }
}

/// Returns the link to an address, and closes links to processes that are gone.
std::shared_ptr<rpc::Transport> ShardRouter::link(const std::string& address) {
  const auto others = places_.others();
  const MutexLock lock(mutex_);
  std::erase_if(links_, [&](const auto& each) {
    return each.first != address && each.second.use_count() == 1 &&
           std::ranges::find(others, each.first) == others.end();
  });
  auto& link = links_[address];
  if (!link) link = open_link_(address);
  return link;
}

void ShardRouter::close() {
  std::map<std::string, std::shared_ptr<rpc::Transport>> links;
  {
    const MutexLock lock(mutex_);
    links.swap(links_);
  }
  for (const auto& [address, link] : links) {
    if (link) link->close();
  }
}

rpc::Dispatch ShardRouter::around(rpc::Dispatch own) {
  return [this, own = std::move(own)](const std::string& method, std::string payload) {
    return answer(own, method, std::move(payload));
  };
}

Task<Result<std::string>> ShardRouter::answer(rpc::Dispatch own, std::string method, std::string payload) {
  const auto [name, forwarded, shard] = rpc::read_forwarded(method);
  if (forwarded && name == kLook) {
    places_.look();
    co_return std::string();
  }
  if (shard && *shard >= places_.shards()) co_return fail(ErrorCode::kInvalidInput);
  if (shard && !here(*shard)) {
    auto error = not_served();
    error.fields.emplace_back(kNotHere, "");
    co_return fail(std::move(error));
  }
  co_return co_await own(std::string(name), std::move(payload));
}

void ShardRouter::moved() { spawn(executor_, tell_others(std::string(kLook), {})); }

}  // namespace tidemark::shards
