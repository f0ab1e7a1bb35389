#include "workers/kinds/callback.h"

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "jobs/spec/job_trace.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

constexpr std::size_t kShownBytes = 300;
// An endpoint that only ever asks to come back later is given up after this time and this many attempts: a clock that
// was set forward must not end the patience by itself.
constexpr Duration kPatience = std::chrono::hours(24);
constexpr std::uint32_t kLeastPutOffs = 20;
constexpr std::size_t kLeastSecretBytes = 6;  // shorter texts would be found everywhere

/// Names the status in words, because the fingerprint of an error leaves numbers out.
constexpr std::pair<unsigned, std::string_view> kWords[] = {
    {400, "bad request"},        {401, "unauthorized"},
    {403, "forbidden"},          {404, "not found"},
    {405, "method not allowed"}, {408, "request timeout"},
    {409, "conflict"},           {410, "gone"},
    {413, "too large"},          {415, "unsupported media type"},
    {422, "unprocessable"},      {429, "too many requests"},
    {500, "internal error"},     {502, "bad gateway"},
    {503, "unavailable"},        {504, "gateway timeout"},
};

std::string_view words_for(unsigned status) {
  for (const auto& [known, words] : kWords) {
    if (known == status) return words;
  }
  return status / 100 == 3 ? "a redirect, which is not followed" : status / 100 == 5 ? "its failure" : "refused";
}

void blot_out(std::string& text, const std::string& secret) {
  if (secret.size() < kLeastSecretBytes) return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
    text.replace(at, secret.size(), "***");
}

/// The beginning of an answer in readable form: printable, short, and without the secrets that were sent as proof.
std::string shown(const std::string& body, const std::vector<std::string>& secrets) {
  // Cut the text only after the secrets are gone, so that no half of one is left.
  auto text = body;
  for (const auto& secret : secrets) blot_out(text, secret);
  if (text.size() > kShownBytes) text.resize(kShownBytes);
  for (auto& c : text) {
    if (c < 0x20 || c >= 0x7F) c = c == '\n' || c == '\r' || c == '\t' ? ' ' : '?';
    if (c == '"') c = '\'';
  }
  return text;
}

/// The headers of the request, and the secret ones among them, which must not be shown when an answer repeats them.
struct SignedHeaders {
  std::vector<std::pair<std::string, std::string>> all;
  std::vector<std::string> secrets;
};

SignedHeaders headers_for(const SignedCall& call, Time now, const std::vector<std::string>& keys) {
  const auto& spec = call.spec;
  SignedHeaders out;
  bool typed = false;
  bool has_trace = false;  // the job's submitter chose a trace header
  for (const auto& [name, value] : spec.headers) {
    typed = typed || iequals_ascii(name, "content-type");
    has_trace = has_trace || iequals_ascii(name, "traceparent");
    out.all.emplace_back(name, value);
    out.secrets.push_back(value);
  }
  if (spec.body && !typed) {
    out.all.emplace_back("content-type", spec.body_is_json ? "application/json" : "text/plain; charset=utf-8");
  }
  const auto timestamp = webhook_timestamp(now);
  auto signature = webhook_signature(keys, call.id, timestamp, spec.body.value_or(""));
  out.secrets.push_back(signature);
  out.all.emplace_back("webhook-id", call.id);
  out.all.emplace_back("webhook-timestamp", timestamp);
  out.all.emplace_back("webhook-signature", std::move(signature));
  out.all.emplace_back("idempotency-key", call.id);
  out.all.emplace_back("tidemark-attempt", std::to_string(call.attempt));
  out.all.emplace_back("tidemark-epoch", std::to_string(call.epoch));
  if (!call.cause.empty()) out.all.emplace_back("tidemark-cause", call.cause);
  if (call.trace && !has_trace) out.all.emplace_back("traceparent", traceparent_of(call.trace));
  if (!call.trace.state.empty() && !has_trace) out.all.emplace_back("tracestate", call.trace.state);
  return out;
}

/// The time when the job could first be sent, or was sent back from poison.
Time waits_since(const jobs::JobRecord& record) {
  auto since = std::max(record.submitted_at, record.not_before.value_or(record.submitted_at));
  for (const auto& entry : record.history) {
    if (entry.outcome == jobs::kSentBack) since = std::max(since, entry.started_at);
  }
  return since;
}

Result<void> with_patience(const JobContext& context, Result<void> judged) {
  if (!judged.failed_with(ErrorCode::kServerBusy)) return judged;
  const bool patient =
      context.stalls() < kLeastPutOffs || context.clock.now() - waits_since(context.record()) < kPatience;
  if (patient) return judged;
  return fail(ErrorCode::kCallbackRefused,
              "For a day, the endpoint has asked to be called later: " + judged.error().message);
}

}  // namespace

Result<void> judge_reply(const OutboundReply& reply, const std::string& origin,
                         const std::vector<std::string>& secrets) {
  if (reply.status / 100 == 2) return {};
  auto told = origin + " answered " + std::to_string(reply.status) + " (" + std::string(words_for(reply.status)) + ")";
  const auto body = shown(reply.body, secrets);
  if (!body.empty()) told += ": \"" + body + "\"";
  const bool waits = reply.status == 408 || reply.status == 503;
  if (reply.status == 429 || (waits && reply.retry_after)) {
    auto error = make_error(ErrorCode::kServerBusy, std::move(told));
    if (reply.retry_after) {
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*reply.retry_after).count();
      error.fields.emplace_back("retryAfterMs", std::to_string(ms));
    }
    return fail(std::move(error));
  }
  if (waits || reply.status / 100 == 5) return fail(ErrorCode::kCallbackFailed, std::move(told));
  return fail(ErrorCode::kCallbackRefused, std::move(told));
}

Task<Result<SignedReply>> send_signed(const CallbackServices* services, Clock& clock, SignedCall call) {
  auto url = jobs::parse_callback_url(call.spec.url);
  if (!url) co_return fail(ErrorCode::kCallbackRefused, "url " + url.error().message + ".");
  if (services == nullptr) {
    co_return fail(ErrorCode::kCallbackRefused, "This worker sends no callbacks: its callback_hosts is empty.");
  }
  CO_TRY(services->policy.admit(*url));
  const auto* keys = services->secrets.find(call.spec.secret);
  if (keys == nullptr) {
    co_return fail(ErrorCode::kCallbackRefused,
                   "This worker has no secret named '" + call.spec.secret + "' to sign with.");
  }
  auto headers = headers_for(call, clock.now(), *keys);
  SignedReply out;
  out.origin = url->origin();
  out.secrets = std::move(headers.secrets);
  OutboundRequest request;
  request.method = call.spec.method;
  request.url = std::move(*url);
  request.headers = std::move(headers.all);
  request.body = call.spec.body.value_or("");
  request.timeout = std::chrono::milliseconds(call.spec.timeout_ms);
  out.reply = CO_TRY(co_await fail_points::kCallbackSend.around(services->http->send(std::move(request))));
  co_return out;
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::CallbackSpec spec) {
  CO_TRY(context.check());
  const auto started = context.clock.now();
  const SignedCall call{.spec = std::move(spec),
                        .id = context.job_id(),
                        .attempt = context.record().attempts,
                        .epoch = context.epoch(),
                        .cause = jobs::chain_of(context.spec()),
                        .trace = jobs::delivery_trace(context.spec().trace, context.job_id(), context.epoch())};
  const auto sent = CO_TRY(co_await send_signed(context.callbacks, context.clock, call));
  CO_TRY(with_patience(context, judge_reply(sent.reply, sent.origin, sent.secrets)));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(context.clock.now() - started).count();
  const nlohmann::json result = {
      {"status", sent.reply.status}, {"durationMs", took}, {"answer", shown(sent.reply.body, sent.secrets)}};
  JobOutcome outcome;
  outcome.done = 1;
  outcome.result = result.dump();
  co_return outcome;
}

}  // namespace tidemark::workers
