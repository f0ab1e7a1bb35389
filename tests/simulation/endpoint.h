// The user's endpoint that receives callbacks, as a process of the simulation: slow, overloaded, failing, away, or gone
// for good; and the workers' link to it. Its answer is drawn anew for each request, until the faults stop.
#pragma once
#include "tests/simulation/callback_oracle.h"
#include "tests/simulation/network.h"
#include "workers/kinds/callback.h"

namespace tidemark::simulation {

inline constexpr const char* kEndpointUrl = "https://endpoint/told";
inline constexpr const char* kGoneUrl = "https://endpoint/gone";  // answers 410

/// How often each fault occurs, in ten thousand requests.
struct EndpointFaults {
  std::uint64_t fail = 0;      // 500, or 503
  std::uint64_t throttle = 0;  // 429, or 503 with Retry-After
  std::uint64_t slow = 0;      // before or after it took the request; at times slower than any caller waits
};

class EndpointHost final : public Callee {
 public:
  /// `faults` may change while it lives.
  EndpointHost(Life& life, const EndpointFaults& faults, CallbackOracle& oracle, std::uint64_t seed)
      : life_(life), faults_(faults), oracle_(oracle), dice_(seed) {}
  Task<Result<std::string>> answer(Request request) override;

 private:
  Task<void> dawdle();
  Life& life_;
  const EndpointFaults& faults_;
  CallbackOracle& oracle_;
  Dice dice_;
};

/// The HTTP client with which a worker sends callbacks to the endpoint.
class EndpointLink final : public workers::OutboundHttp {
 public:
  EndpointLink(Network& network, Life& life, int endpoint);
  Task<Result<workers::OutboundReply>> send(workers::OutboundRequest request) override;
  [[nodiscard]] const workers::CallbackServices& services() const { return services_; }

 private:
  SimTransport link_;
  workers::CallbackServices services_;
};

}  // namespace tidemark::simulation
