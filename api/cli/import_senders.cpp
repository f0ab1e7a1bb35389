#include "api/cli/import_senders.h"

#include <algorithm>
#include <charconv>

#include "api/cli/answers.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t kSenders = 8;
constexpr std::size_t kMostWaiting = 4;  // groups, for each sender

/// Says which entity is at fault: the service names it by its place in the transaction, "CODE: 3:why".
Error told_of(Error error, const std::vector<WrittenEntity>& group, std::size_t sent) {
  const auto colon = error.message.find(": ");
  const auto place = colon == std::string::npos ? std::string() : error.message.substr(colon + 2);
  std::size_t index = group.size();
  std::from_chars(place.data(), place.data() + place.size(), index);
  if (index < group.size()) {
    const auto& entity = group[index];
    error.message += " (PartitionKey " + nlohmann::json(entity.partition_key).dump() + ", RowKey " +
                     nlohmann::json(entity.row_key).dump() + ")";
  }
  error.message += " " + counted(sent, "entity") + (sent == 1 ? " was" : " were") +
                   " imported before; importing again does no harm.";
  return error;
}

}  // namespace

Result<std::unique_ptr<ImportSenders>> ImportSenders::create(const GlobalOptions& options, std::string table) {
  std::unique_ptr<ImportSenders> made(new ImportSenders(std::move(table)));
  for (std::size_t i = 0; i < kSenders; ++i) {
    made->senders_.push_back(std::make_unique<Sender>(TRY(TableHttp::create(options))));
  }
  for (auto& sender : made->senders_) {
    sender->thread = std::thread([senders = made.get(), &its = *sender] { senders->run(its); });
  }
  return made;
}

ImportSenders::~ImportSenders() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (auto& sender : senders_) sender->waiting.clear();
  }
  changed_.notify_all();
  for (auto& sender : senders_) {
    if (sender->thread.joinable()) sender->thread.join();
  }
}

Result<void> ImportSenders::outcome() const { return failed_ ? Result<void>(fail(*failed_)) : Result<void>(); }

Result<void> ImportSenders::send(const std::string& partition, std::vector<WrittenEntity> group) {
  auto& sender = *senders_[std::hash<std::string>()(partition) % senders_.size()];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || sender.waiting.size() < kMostWaiting; });
  if (failed_) return outcome();
  sender.waiting.push_back(std::move(group));
  changed_.notify_all();
  return {};
}

Result<void> ImportSenders::finish() {
  std::unique_lock lock(mutex_);
  const auto idle = [](const auto& sender) { return !sender->busy && sender->waiting.empty(); };
  changed_.wait(lock, [&] { return std::ranges::all_of(senders_, idle); });
  return outcome();
}

std::size_t ImportSenders::sent() {
  const std::lock_guard lock(mutex_);
  return sent_;
}

void ImportSenders::run(Sender& sender) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !sender.waiting.empty(); });
    if (sender.waiting.empty()) return;
    const auto group = std::move(sender.waiting.front());
    sender.waiting.pop_front();
    sender.busy = true;
    lock.unlock();
    auto done = sender.tables.upsert(table_, group);
    lock.lock();
    sender.busy = false;
    if (done) sent_ += group.size();
    if (!done && !failed_) failed_ = told_of(std::move(done.error()), group, sent_);
    if (failed_) sender.waiting.clear();
    changed_.notify_all();
  }
}

}  // namespace tidemark::cli
