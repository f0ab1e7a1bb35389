#include "common/tracing/tracer.h"

#include <pthread.h>

#include <algorithm>

#include "common/base/log.h"

namespace tidemark::tracing {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxQueued = 8192;
constexpr std::size_t kMaxBatch = 512;
constexpr milliseconds kGather(1000);  // how long spans wait so that others are sent with them
constexpr milliseconds kSendLimit(5000);
constexpr milliseconds kLastSendLimit(2000);
constexpr int kTries = 4;
constexpr milliseconds kFirstPause(500);

}  // namespace

void declare(process::Settings& settings, TracingSettings& values) {
  settings.add("otlp_endpoint", values.otlp_endpoint,
               "collector of traces, as http://host:4318; spans of requests and jobs are sent to /v1/traces below it; "
               "empty: none are made");
  settings.add("trace_percent", values.trace_percent, 0, 100,
               "how many of the traces that begin here are recorded; a caller's traceparent says it for its own");
}

Result<std::unique_ptr<Tracer>> Tracer::create(const TracingSettings& settings, std::string service, Clock& clock,
                                               Random& random, process::Metrics& metrics) {
  std::unique_ptr<Collector> collector;
  if (!settings.otlp_endpoint.empty()) collector = TRY(Collector::at(settings.otlp_endpoint));
  std::unique_ptr<Tracer> tracer(new Tracer(std::move(collector), settings, std::move(service), clock, random));
  metrics.add(tracer->figures_);
  return tracer;
}

Tracer::Tracer(std::unique_ptr<Collector> collector, const TracingSettings& settings, std::string service, Clock& clock,
               Random& random)
    : collector_(std::move(collector)),
      percent_(static_cast<std::uint64_t>(settings.trace_percent)),
      service_(std::move(service)),
      clock_(clock),
      random_(random),
      figures_(std::make_shared<process::Figures>([this] { return figures(); })) {
  if (on()) thread_ = std::thread([this] { run(); });
}

Tracer::~Tracer() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  stopped_.release();
  thread_.join();
}

TraceContext Tracer::begin(const TraceContext& parent) const {
  if (parent) return parent.below(random_.next());
  return new_trace(random_.next(), random_.next(), random_.next(), random_.below(100) < percent_);
}

void Tracer::end(Span span) {
  if (!on() || !span.context.sampled) return;
  const MutexLock lock(mutex_);
  if (queue_.size() >= kMaxQueued || stopping_) {
    ++dropped_;
    return;
  }
  queue_.push_back(std::move(span));
  if (queue_.size() == 1) wake_.notify_one();
}

std::vector<Span> Tracer::next_batch() {
  std::vector<Span> batch;
  const MutexLock lock(mutex_);
  const auto count = std::min(queue_.size(), kMaxBatch);
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
  batch.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

void Tracer::pause(milliseconds time) {
  if (!stopping_ && stopped_.try_acquire_for(time)) stopped_.release();
}

void Tracer::run() {
  ::pthread_setname_np(::pthread_self(), "otlp");
  while (!stopping_) {
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) wake_.wait(mutex_);
    }
    pause(kGather);
    for (auto batch = next_batch(); !batch.empty(); batch = next_batch()) deliver(batch);
  }
}

void Tracer::deliver(const std::vector<Span>& batch) {
  const auto body = otlp_json(service_, batch);
  std::string why;
  auto sent = Sent::kTryAgain;
  for (int attempt = 0; attempt < kTries && sent == Sent::kTryAgain; ++attempt) {
    if (attempt > 0 && stopping_) break;
    if (attempt > 0) pause(kFirstPause * (1 << attempt));
    sent = collector_->send(body, stopping_ ? kLastSendLimit : kSendLimit, why);
  }
  if (sent == Sent::kYes) {
    exported_ += batch.size();
    return;
  }
  failed_ += batch.size();
  log_warning("spans were not taken by the collector count={} reason=\"{}\"", batch.size(), why);
  if (!stopping_) return;
  const MutexLock lock(mutex_);
  failed_ += queue_.size();
  queue_.clear();
}

std::vector<prometheus::MetricFamily> Tracer::figures() const {
  prometheus::MetricFamily spans{
      "tidemark_spans_total", "Spans by what became of them.", prometheus::MetricType::Counter, {}};
  process::add_value(spans, static_cast<double>(exported_.load()), {{"outcome", "exported"}});
  process::add_value(spans, static_cast<double>(dropped_.load()), {{"outcome", "dropped"}});
  process::add_value(spans, static_cast<double>(failed_.load()), {{"outcome", "failed"}});
  return {std::move(spans)};
}

}  // namespace tidemark::tracing
