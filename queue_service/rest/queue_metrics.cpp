#include "queue_service/rest/queue_metrics.h"

#include <boost/asio/post.hpp>

#include "common/process/failures.h"
#include "common/process/metrics.h"

namespace tidemark::queue_service::rest {
namespace {

constexpr std::uint32_t kQueuesPerSlice = 8;
// No more queues are read; a larger stack has metrics of the first ones.
constexpr std::size_t kMaxQueuesRead = 20000;
constexpr Duration kFresh = std::chrono::seconds(5);
/// Reading takes at most a tenth of the time, however many queues there are.
constexpr int kRest = 9;

struct Series {
  const char* name;
  const char* help;
  prometheus::MetricType type;
  const char* state;  // a label, if there is one
  std::uint64_t QueueFigures::* count;
};

constexpr auto kGauge = prometheus::MetricType::Gauge;
constexpr auto kCounter = prometheus::MetricType::Counter;

constexpr const char* kMessages = "tidemark_queue_messages";
constexpr const char* kMessagesHelp = "Messages of a queue, by what they wait for.";
constexpr const char* kOldest = "tidemark_queue_oldest_message_age_seconds";
// Series of the same name are adjacent.
constexpr Series kSeries[] = {
    {kMessages, kMessagesHelp, kGauge, "ready", &QueueFigures::ready},
    {kMessages, kMessagesHelp, kGauge, "delayed", &QueueFigures::delayed},
    {kMessages, kMessagesHelp, kGauge, "in_flight", &QueueFigures::in_flight},
    {kMessages, kMessagesHelp, kGauge, "waiting", &QueueFigures::waiting},
    {"tidemark_queue_poison_messages", "Messages of a queue's poison queue.", kGauge, nullptr, &QueueFigures::poison},
    {"tidemark_queue_put_total", "Messages that came into a queue.", kCounter, nullptr, &QueueFigures::put},
    {"tidemark_queue_taken_total", "Deliveries of a queue.", kCounter, nullptr, &QueueFigures::taken},
    {"tidemark_queue_finished_total", "Messages that were deleted.", kCounter, nullptr, &QueueFigures::finished},
    {"tidemark_queue_moved_total", "Messages that left for another queue.", kCounter, nullptr, &QueueFigures::moved},
    {"tidemark_queue_expired_total", "Messages that nobody took in time.", kCounter, nullptr, &QueueFigures::expired},
};

/// Adds up all figures but the age, of which the larger one counts.
void add(QueueFigures& sum, const QueueFigures& one) {
  for (const auto& series : kSeries) sum.*series.count += one.*series.count;
  sum.oldest = std::max(sum.oldest, one.oldest);
}

std::vector<prometheus::MetricFamily> families_of(const std::vector<FiguresPage::Item>& items) {
  std::vector<prometheus::MetricFamily> families;
  using Labels = std::vector<prometheus::ClientMetric::Label>;
  for (const auto& series : kSeries) {
    if (families.empty() || families.back().name != series.name) {
      families.push_back({series.name, series.help, series.type, {}});
    }
    for (const auto& item : items) {
      Labels labels{{"account", item.account}, {"queue", item.queue}};
      if (series.state != nullptr) labels.push_back({"state", series.state});
      process::add_value(families.back(), static_cast<double>(item.figures.*series.count), std::move(labels));
    }
  }
  families.push_back({kOldest, "Time since the message that is next was put.", kGauge, {}});
  for (const auto& item : items) {
    const auto age = std::chrono::duration<double>(item.figures.oldest).count();
    process::add_value(families.back(), age, Labels{{"account", item.account}, {"queue", item.queue}});
  }
  return families;
}

}  // namespace

bool QueueMetrics::begin() {
  MutexLock lock(mutex_);
  if (reading_ || clock_.now() < fresh_until_) return false;
  reading_ = true;
  return true;
}

Task<void> QueueMetrics::refresh() {
  if (!begin()) co_return;
  const auto begun = clock_.now();
  auto families = families_of(co_await read_all());
  const auto ended = clock_.now();
  MutexLock lock(mutex_);
  families_ = std::move(families);
  fresh_until_ = ended + std::max(kFresh, kRest * (ended - begun));
  reading_ = false;
}

/// Returns the first queues, and the others as one without an account. Queues that cannot be read are left out.
Task<std::vector<FiguresPage::Item>> QueueMetrics::read_all() {
  const auto executor = co_await asio::this_coro::executor;
  std::vector<FiguresPage::Item> items;
  FiguresPage::Item others{"", "(other)", {}};
  std::size_t read = 0;
  std::string from;
  do {
    const auto page = service_.all_figures("", from, kQueuesPerSlice);
    if (!page) {
      process::log_failed_task("queue.metrics", page.error());
      break;
    }
    for (const auto& item : page->queues) {
      if (++read <= most_) {
        items.push_back(item);
      } else {
        add(others.figures, item.figures);
      }
    }
    from = page->next;
    co_await asio::post(executor, asio::use_awaitable);
  } while (!from.empty() && read < kMaxQueuesRead);
  if (read > most_) items.push_back(std::move(others));
  co_return items;
}

std::vector<prometheus::MetricFamily> QueueMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  {
    MutexLock lock(mutex_);
    families = families_;
  }
  families.push_back(process::figure("tidemark_queue_waiters", "Long polls under way.", kGauge,
                                     static_cast<double>(service_.waiters())));
  return families;
}

}  // namespace tidemark::queue_service::rest
