#include "tests/simulation/endpoint.h"

#include <nlohmann/json.hpp>

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using workers::OutboundReply;

constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

std::string header(const workers::OutboundRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return {};
}

std::string reply_text(unsigned status, Duration retry_after) {
  return json{{"status", status}, {"retryAfterMs", retry_after / 1ms}}.dump();
}

}  // namespace

Task<void> EndpointHost::dawdle() {
  if (!dice_.chance(faults_.slow)) co_return;
  co_await sleep_for(life_.clock(), dice_.between(0ms, dice_.chance(2000) ? 20s : 1s));
}

Task<Result<std::string>> EndpointHost::answer(Request request) {
  const auto got = json::parse(request.payload);
  const auto id = got.value("id", std::string());
  oracle_.arrived(id, got.value("body", std::string()));
  co_await dawdle();
  if (life_.dead()) co_return fail(ErrorCode::kUnavailable);
  unsigned status = 200;
  Duration retry_after{};
  if (got["url"] == kGoneUrl) {
    status = 410;
  } else if (dice_.chance(faults_.fail)) {
    status = dice_.chance(5000) ? 500 : 503;
  } else if (dice_.chance(faults_.throttle)) {
    status = dice_.chance(5000) ? 429 : 503;
    retry_after = dice_.between(1ms, 3s);
  }
  oracle_.answered(id, status);
  co_await dawdle();
  co_return reply_text(status, retry_after);
}

EndpointLink::EndpointLink(Network& network, Life& life, int endpoint) : link_(network, life, endpoint, false) {
  auto policy = jobs::CallbackPolicy::create("endpoint", "", "");
  auto secrets = workers::SigningSecrets::parse(kSecret);
  if (!policy || !secrets) std::abort();
  services_.policy = std::move(*policy);
  services_.secrets = std::move(*secrets);
  services_.http = this;
}

Task<Result<OutboundReply>> EndpointLink::send(workers::OutboundRequest request) {
  auto letter = json{{"id", header(request, "webhook-id")}, {"url", request.url.text}, {"body", request.body}}.dump();
  std::string method = "http." + request.method;
  auto answer = co_await link_.call(std::move(method), std::move(letter), request.timeout);
  if (!answer) co_return fail(ErrorCode::kCallbackFailed, "No answer of the endpoint.");
  const auto read = json::parse(*answer);
  OutboundReply reply;
  reply.status = read["status"];
  const std::chrono::milliseconds retry_after(read["retryAfterMs"]);
  if (retry_after > 0ms) reply.retry_after = retry_after;
  co_return reply;
}

}  // namespace tidemark::simulation
