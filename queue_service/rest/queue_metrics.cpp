#include "queue_service/rest/queue_metrics.h"

#include "common/process/metrics.h"

namespace tidemark::queue_service::rest {
namespace {

constexpr std::uint32_t kQueuesPerPage = 256;
// One scrape reads no more; a stack with more queues has metrics of the first.
constexpr std::size_t kMaxQueuesRead = 20000;

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
// Series of one name stand together.
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

/// Sums, but for the age, of which the greatest counts.
void add(QueueFigures& sum, const QueueFigures& one) {
  for (const auto& series : kSeries) sum.*series.count += one.*series.count;
  sum.oldest = std::max(sum.oldest, one.oldest);
}

/// The first queues, and the others as one without an account. What cannot be read is missing.
std::vector<FiguresPage::Item> read_all(QueueService& service, std::size_t most) {
  std::vector<FiguresPage::Item> items;
  FiguresPage::Item others{"", "(other)", {}};
  std::size_t read = 0;
  std::string from;
  do {
    auto page = service.all_figures("", from, kQueuesPerPage);
    if (!page) break;
    for (auto& item : page->queues) {
      if (++read <= most) {
        items.push_back(std::move(item));
      } else {
        add(others.figures, item.figures);
      }
    }
    from = page->next;
  } while (!from.empty() && read < kMaxQueuesRead);
  if (read > most) items.push_back(std::move(others));
  return items;
}

}  // namespace

std::vector<prometheus::MetricFamily> queue_figures(QueueService& service, std::size_t most) {
  const auto items = read_all(service, most);
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
  families.push_back(process::figure("tidemark_queue_waiters", "Long polls under way.", kGauge,
                                     static_cast<double>(service.waiters())));
  return families;
}

}  // namespace tidemark::queue_service::rest
