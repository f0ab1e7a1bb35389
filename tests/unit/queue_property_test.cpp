// Random operations on three queues, one of them for poison messages, against the plain model, with a clock that jumps
// and a process that restarts. After each step the messages it touched are compared, row by row; every so often
// everything is:
//   Q1  a message goes only by a step that ends it, or by expiry      Q2  it is in one queue, at one place
//   Q3  epochs only rise; leases and receipts of the past do nothing   Q4  what has ended never comes back
//   Q5  attempts fall only by a redrive, or by one that is not counted Q6  a queue's count is the number of its rows
// TIDEMARK_TEST_SEED and TIDEMARK_TEST_STEPS repeat a run or lengthen it.
#include <cstdlib>
#include <iostream>
#include <random>

#include "common/kv/key_codec.h"
#include "queue_service/storage/queue_rows.h"
#include "tests/unit/queue_plain_model.h"
#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::seconds;

constexpr const char* kAccount = "acc";
const std::string kQueues[] = {"jobs-a", "jobs-b", "poison"};
constexpr std::size_t kManyMessages = 150;
constexpr int kStepsBetweenFullComparisons = 250;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class QueueProperty : public testing::Test {
 protected:
  explicit QueueProperty(std::uint64_t seed = number_from_environment("TIDEMARK_TEST_SEED", std::random_device()()))
      : seed_(seed), generator_(seed), random_(make_seeded_random(seed)) {
    reopen();
  }

  // The world.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    asio::co_spawn(io_, std::move(task), [&](std::exception_ptr failure, T value) {
      if (!failure) result.emplace(std::move(value));
    });
    io_.restart();
    io_.poll();
    if (!result) throw std::logic_error("the operation did not finish");
    return std::move(*result);
  }
  /// As a process that died and came back: rows stay, hints and waiters go.
  void reopen() {
    service_.reset();
    engine_.reset();
    engine_ = kv::make_memory_engine(disk_);
    service_ = std::make_unique<QueueService>(*engine_, clock_, *random_);
  }
  std::uint64_t pick(std::uint64_t bound) { return generator_() % bound; }
  bool chance(std::uint64_t one_in) { return pick(one_in) == 0; }
  const std::string& any_queue() { return kQueues[pick(std::size(kQueues))]; }
  bool exists(const std::string& queue) const { return model_.queues.contains(queue); }
  Time now() const { return clock_.now(); }
  model::Message* any_message() {
    if (model_.messages.empty()) return nullptr;
    auto it = std::next(model_.messages.begin(), static_cast<std::ptrdiff_t>(pick(model_.messages.size())));
    touched_.push_back(it->first);
    return &it->second;
  }
  Duration some_delay() { return chance(2) ? Duration{} : Duration(seconds(1 + pick(40))); }
  std::string some_text() { return "text " + std::to_string(generator_()); }

  /// The outcome is what the model says: `error`, or success if there is none.
  template <class R>
  bool agrees(const R& result, std::optional<ErrorCode> error, const char* what) {
    if (error) {
      EXPECT_TRUE(result.failed_with(*error)) << what << ": " << (result ? "done" : result.error().message);
      return false;
    }
    EXPECT_TRUE(result.has_value()) << what << ": " << (result ? "" : result.error().message);
    if (result) ++successes_[what];
    return result.has_value();
  }

  // Operations.
  void create();
  void delete_queue();
  void clear();
  void put();
  void get();
  void receive();
  void peek();
  void update();
  void erase();
  void renew();
  void complete();
  void release();
  void move();
  void redrive();
  void remove();
  void use_relic();
  void set_clock();
  void take_one_step();

  void taken(model::Message& message, Duration visibility, std::string receipt);
  void compare(const Message& got, const model::Message& expected);
  /// By lease or by receipt: what the service answers for this message.
  std::optional<ErrorCode> gone(const model::Message& message, ErrorCode code) const {
    return message.expired(now()) ? std::optional(code) : std::nullopt;
  }

  // Checks.
  void check_touched();
  void check_row(const std::string& id);
  void check_everything();
  void check_rows();
  void check_listing(const std::string& queue);

  const std::uint64_t seed_;
  std::mt19937_64 generator_;
  asio::io_context io_;
  FakeClock clock_;
  std::unique_ptr<Random> random_;
  std::shared_ptr<kv::MemoryDisk> disk_ = kv::make_memory_disk();
  std::unique_ptr<kv::Engine> engine_;
  std::unique_ptr<QueueService> service_;
  model::Model model_;
  std::vector<std::string> touched_;  // by this step
  std::map<std::string, std::uint64_t> successes_;
};

void QueueProperty::create() {
  const auto& queue = any_queue();
  Metadata metadata;
  if (chance(3)) metadata.emplace_back("Owner", std::to_string(pick(2)));
  const std::map<std::string, std::string> wanted(metadata.begin(), metadata.end());
  const auto known = model_.queues.find(queue);
  const bool other = known != model_.queues.end() && known->second.metadata != wanted;
  const auto created = run(service_->create_queue(kAccount, queue, std::move(metadata)));
  if (!agrees(created, other ? std::optional(ErrorCode::kQueueAlreadyExists) : std::nullopt, "create")) return;
  EXPECT_EQ(*created == CreateOutcome::kCreated, known == model_.queues.end());
  model_.queues[queue].metadata = wanted;
}

void QueueProperty::delete_queue() {
  const auto& queue = any_queue();
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (!agrees(run(service_->delete_queue(kAccount, queue)), missing, "delete queue")) return;
  model_.end_all(queue);
  model_.queues.erase(queue);
}

void QueueProperty::clear() {
  const auto& queue = any_queue();
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (agrees(run(service_->clear(kAccount, queue)), missing, "clear")) model_.end_all(queue);
}

void QueueProperty::put() {
  const auto& queue = any_queue();
  PutRequest request;
  request.text = some_text();
  request.delay = some_delay();
  if (chance(3)) request.time_to_live = request.delay + seconds(1 + pick(200));
  model::Message message;
  message.queue = queue;
  message.text = request.text;
  message.inserted = now();
  message.expires = request.time_to_live ? now() + *request.time_to_live : kNeverExpires;
  const auto delay = request.delay;
  const auto placed = run(service_->put(kAccount, queue, std::move(request)));
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (!agrees(placed, missing, "put")) return;
  message.id = placed->id;
  message.receipt = placed->receipt;
  model_.place(message, now(), delay);
  EXPECT_EQ(placed->next_visible, message.visible_at);
  EXPECT_EQ(placed->expires, message.expires);
  touched_.push_back(message.id);
  EXPECT_TRUE(model_.messages.emplace(message.id, message).second) << "an id was given twice";
}

void QueueProperty::compare(const Message& got, const model::Message& expected) {
  EXPECT_EQ(got.id, expected.id);
  EXPECT_EQ(got.text, expected.text);
  EXPECT_EQ(got.annotation, expected.annotation);
  EXPECT_EQ(got.inserted, expected.inserted);
  EXPECT_EQ(got.expires, expected.expires);
  EXPECT_EQ(got.dequeue_count, expected.count);
  EXPECT_EQ(got.epoch, expected.epoch);
}

void QueueProperty::taken(model::Message& message, Duration visibility, std::string receipt) {
  model_.outdate(message, true);
  ++message.count;
  ++message.epoch;
  message.leased = true;
  message.receipt = std::move(receipt);
  model_.place(message, now(), visibility);
  touched_.push_back(message.id);
}

void QueueProperty::get() {
  const auto& queue = any_queue();
  const auto count = static_cast<std::uint32_t>(chance(4) ? 32 : 1 + pick(4));
  const Duration visibility = seconds(1 + pick(30));
  const auto got = run(service_->get(kAccount, queue, count, visibility));
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (!agrees(got, missing, "get")) return;
  const auto expected = model_.visible(queue, now(), count);
  ASSERT_EQ(got->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ((*got)[i].message.id, expected[i]->id) << "order";
    taken(*expected[i], visibility, (*got)[i].receipt);
    compare((*got)[i].message, *expected[i]);
    EXPECT_EQ((*got)[i].message.next_visible, expected[i]->visible_at);
  }
}

void QueueProperty::receive() {
  const auto& queue = any_queue();
  const Duration visibility = seconds(1 + pick(30));
  const auto got = run(service_->receive(kAccount, queue, visibility, Duration{}));
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (!agrees(got, missing, "receive")) return;
  const auto expected = model_.visible(queue, now(), 1);
  ASSERT_EQ(got->has_value(), !expected.empty());
  if (expected.empty()) return;
  ASSERT_EQ((*got)->id, expected[0]->id) << "order";
  taken(*expected[0], visibility, {});
  compare(**got, *expected[0]);
}

void QueueProperty::peek() {
  const auto& queue = any_queue();
  const auto count = static_cast<std::uint32_t>(1 + pick(32));
  const auto got = run(service_->peek(kAccount, queue, count));
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (!agrees(got, missing, "peek")) return;
  const auto expected = model_.visible(queue, now(), count);
  ASSERT_EQ(got->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) compare((*got)[i], *expected[i]);
}

void QueueProperty::update() {
  auto* message = any_message();
  if (message == nullptr || message->receipt.empty()) return;
  const auto visibility = some_delay();
  const auto text = chance(2) ? std::optional(some_text()) : std::nullopt;
  const auto placed = run(service_->update(kAccount, message->queue, message->id, message->receipt, visibility, text));
  if (!agrees(placed, gone(*message, ErrorCode::kMessageNotFound), "update")) return;
  model_.outdate(*message, false);
  if (text) message->text = *text;
  message->receipt = placed->receipt;
  model_.place(*message, now(), visibility);
  EXPECT_EQ(placed->next_visible, message->visible_at);
}

void QueueProperty::erase() {
  auto* message = any_message();
  if (message == nullptr || message->receipt.empty()) return;
  const auto done = run(service_->erase(kAccount, message->queue, message->id, message->receipt));
  if (agrees(done, gone(*message, ErrorCode::kMessageNotFound), "delete")) model_.end(message->id);
}

void QueueProperty::renew() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  const auto visibility = some_delay();
  const auto annotation = chance(2) ? std::optional(some_text()) : std::nullopt;
  const auto done =
      run(service_->renew({kAccount, message->queue, message->id, message->epoch}, visibility, annotation));
  if (!agrees(done, gone(*message, ErrorCode::kLeaseLost), "renew")) return;
  model_.outdate(*message, false);
  if (annotation) message->annotation = *annotation;
  message->receipt.clear();
  model_.place(*message, now(), visibility);
}

void QueueProperty::complete() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  const auto done = run(service_->complete({kAccount, message->queue, message->id, message->epoch}));
  if (agrees(done, gone(*message, ErrorCode::kLeaseLost), "complete")) model_.end(message->id);
}

void QueueProperty::release() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  const auto delay = some_delay();
  const auto annotation = some_text();
  const bool counts = !chance(3);
  const auto done =
      run(service_->release({kAccount, message->queue, message->id, message->epoch}, delay, annotation, counts));
  if (!agrees(done, gone(*message, ErrorCode::kLeaseLost), "release")) return;
  model_.outdate(*message, true);
  message->annotation = annotation;
  message->receipt.clear();
  message->leased = false;
  if (!counts && message->count > 0) --message->count;
  model_.place(*message, now(), delay);
}

void QueueProperty::move() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  const auto& to = any_queue();
  const auto annotation = some_text();
  const auto done = run(service_->move({kAccount, message->queue, message->id, message->epoch}, to, annotation));
  if (!agrees(done, gone(*message, ErrorCode::kLeaseLost), "move")) return;
  message->annotation = annotation;
  model_.move(*message, to, now());
}

void QueueProperty::redrive() {
  auto* message = any_message();
  if (message == nullptr) return;
  const auto& to = any_queue();
  const auto text = chance(3) ? std::optional(some_text()) : std::nullopt;
  const auto done = run(service_->redrive(kAccount, message->queue, message->id, to, text, ""));
  if (!agrees(done, gone(*message, ErrorCode::kMessageNotFound), "redrive")) return;
  message->annotation.clear();
  if (text) message->text = *text;
  message->count = 0;
  model_.move(*message, to, now());
}

void QueueProperty::remove() {
  auto* message = any_message();
  if (message == nullptr) return;
  const auto done = run(service_->remove(kAccount, message->queue, message->id));
  if (agrees(done, gone(*message, ErrorCode::kMessageNotFound), "remove")) model_.end(message->id);
}

/// Receipts and leases of the past, also of messages that are elsewhere by now or gone.
void QueueProperty::use_relic() {
  if (model_.relics.empty()) return;
  const auto relic = model_.relics[pick(model_.relics.size())];
  touched_.push_back(relic.id);
  const bool there = exists(relic.queue);
  if (!relic.receipt.empty()) {
    const auto expected = there ? ErrorCode::kMessageNotFound : ErrorCode::kQueueNotFound;
    agrees(run(service_->erase(kAccount, relic.queue, relic.id, relic.receipt)), expected, "delete by a dead receipt");
    agrees(run(service_->update(kAccount, relic.queue, relic.id, relic.receipt, seconds(1), "dead")), expected,
           "update by a dead receipt");
  }
  if (relic.epoch == 0) return;
  const auto expected = there ? ErrorCode::kLeaseLost : ErrorCode::kQueueNotFound;
  const LeaseKey lease{kAccount, relic.queue, relic.id, relic.epoch};
  agrees(run(service_->complete(lease)), expected, "complete by a lost lease");
  agrees(run(service_->renew(lease, seconds(1), std::nullopt)), expected, "renew by a lost lease");
  agrees(run(service_->release(lease, {}, "", true)), expected, "release by a lost lease");
  agrees(run(service_->move(lease, kQueues[2], "")), expected, "move by a lost lease");
}

void QueueProperty::set_clock() {
  const auto before = now();
  if (chance(8)) {
    clock_.jump(-Duration(seconds(pick(150))));
  } else if (chance(8)) {
    clock_.jump(seconds(pick(150)));
  } else {
    clock_.advance(Duration(static_cast<std::int64_t>(pick(30'000'000))));
  }
  // Whether an expired message lives again when the clock falls back depends on whether somebody met it meanwhile;
  // that is left open, so the service says which, once, and has to stay with it.
  for (auto it = model_.messages.begin(); it != model_.messages.end();) {
    const auto& message = it->second;
    bool met = false;
    if (message.expired(before) && !message.expired(now())) {
      const auto found = service_->find(kAccount, message.queue, message.id);
      ASSERT_TRUE(found);
      met = !found->has_value();
    }
    it = met ? model_.messages.erase(it) : std::next(it);
  }
}

void QueueProperty::take_one_step() {
  using Operation = void (QueueProperty::*)();
  struct Choice {
    unsigned weight;
    Operation operation;
  };
  static constexpr Choice kChoices[] = {
      {20, &QueueProperty::put},      {12, &QueueProperty::get},       {8, &QueueProperty::receive},
      {6, &QueueProperty::peek},      {8, &QueueProperty::update},     {6, &QueueProperty::erase},
      {6, &QueueProperty::renew},     {5, &QueueProperty::complete},   {6, &QueueProperty::release},
      {6, &QueueProperty::move},      {4, &QueueProperty::redrive},    {2, &QueueProperty::remove},
      {8, &QueueProperty::use_relic}, {12, &QueueProperty::set_clock}, {2, &QueueProperty::create},
  };
  touched_.clear();
  // Rare steps that take much away.
  if (chance(400)) return (this->*(chance(2) ? &QueueProperty::clear : &QueueProperty::delete_queue))();
  if (chance(1000)) return reopen();
  if (model_.messages.size() > kManyMessages) return remove();
  unsigned total = 0;
  for (const auto& choice : kChoices) total += choice.weight;
  auto at = pick(total);
  for (const auto& choice : kChoices) {
    if (at < choice.weight) return (this->*choice.operation)();
    at -= choice.weight;
  }
}

void QueueProperty::check_touched() {
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (const auto& id : touched_) check_row(id);
}

/// Q2, Q3, Q4, Q5 of one message.
void QueueProperty::check_row(const std::string& id) {
  const auto known = model_.messages.find(id);
  const auto snapshot = engine_->snapshot();
  for (const auto& queue : kQueues) {
    const auto record = read_queue(*snapshot, kAccount, queue);
    ASSERT_TRUE(record);
    ASSERT_EQ(record->has_value(), exists(queue)) << queue;
    if (!*record) continue;
    const auto found = read_message(*snapshot, (*record)->generation, id);
    ASSERT_TRUE(found);
    if (known == model_.messages.end() || known->second.queue != queue) {
      EXPECT_FALSE(*found) << id << " is in " << queue << " and should not be";
      continue;
    }
    const auto& expected = known->second;
    if (!*found) {
      EXPECT_TRUE(expected.expired(now())) << id << " is lost from " << queue;
      continue;
    }
    compare((*found)->record.message, expected);
    EXPECT_EQ((*found)->record.leased, expected.leased);
    EXPECT_EQ((*found)->record.immediate, expected.immediate);
    EXPECT_EQ((*found)->place.visible_at, expected.visible_at);
    if (!expected.receipt.empty()) {
      EXPECT_EQ(to_receipt((*found)->place), expected.receipt);
    }
  }
}

void QueueProperty::check_everything() {
  check_rows();
  for (const auto& [id, message] : model_.messages) check_row(id);
  for (const auto& queue : kQueues) {
    if (exists(queue)) check_listing(queue);
  }
}

/// Q1, Q2 and Q6 over the bare rows; forgets expired messages that the service has met and dropped.
void QueueProperty::check_rows() {
  std::map<std::uint64_t, std::uint64_t> rows, ids, counts;  // by generation
  std::map<std::string, int> places;                         // by message id
  const auto snapshot = engine_->snapshot();
  for (auto cursor = snapshot->scan({"m", "n"}); cursor->valid(); cursor->next()) {
    auto key = cursor->key().substr(1);
    const auto generation = kv::take_u64(key).value_or(0);
    if (key[0] == 'i') {
      ++ids[generation];
    } else if (key[0] == 'c') {
      const auto figures = decode_figures(cursor->value());
      ASSERT_TRUE(figures);
      counts[generation] = figures->messages;
    } else {
      const auto record = decode_message(cursor->value());
      ASSERT_TRUE(record);
      ++rows[generation];
      EXPECT_EQ(++places[record->message.id], 1) << "Q2: " << record->message.id;
      EXPECT_TRUE(model_.messages.contains(record->message.id)) << "Q4: " << record->message.id << " is back";
    }
  }
  EXPECT_EQ(counts.size(), model_.queues.size()) << "generations that were dropped are still there";
  for (const auto& [generation, count] : counts) {
    EXPECT_EQ(rows[generation], count) << "Q6";
    EXPECT_EQ(ids[generation], count) << "Q6";
  }
  for (auto it = model_.messages.begin(); it != model_.messages.end();) {
    const bool there = places.contains(it->first);
    EXPECT_TRUE(there || it->second.expired(now())) << "Q1: " << it->first << " is lost";
    it = there ? std::next(it) : model_.messages.erase(it);
  }
}

/// All messages in order, page by page, and the approximate count, which expired ones behind others may swell.
void QueueProperty::check_listing(const std::string& queue) {
  std::string continuation;
  std::vector<Message> listed;
  do {
    const auto page = service_->list(kAccount, queue, static_cast<std::uint32_t>(1 + pick(50)), continuation);
    ASSERT_TRUE(page);
    listed.insert(listed.end(), page->messages.begin(), page->messages.end());
    continuation = page->continuation;
  } while (!continuation.empty());
  const auto living = model_.living(queue, now());
  ASSERT_EQ(listed.size(), living.size());
  for (std::size_t i = 0; i < living.size(); ++i) compare(listed[i], *living[i]);
  const auto properties = run(service_->get_properties(kAccount, queue));
  ASSERT_TRUE(properties);
  EXPECT_GE(properties->messages, living.size());
  std::size_t possible = 0;
  for (const auto& [id, message] : model_.messages) possible += message.queue == queue ? 1 : 0;
  EXPECT_LE(properties->messages, possible);
}

TEST_F(QueueProperty, BehavesLikeThePlainModel) {
  const auto steps = number_from_environment("TIDEMARK_TEST_STEPS", 200'000);
  std::cout << "repeat with TIDEMARK_TEST_SEED=" << seed_ << " TIDEMARK_TEST_STEPS=" << steps << std::endl;
  for (std::uint64_t step = 0; step < steps; ++step) {
    take_one_step();
    check_touched();
    if (step % kStepsBetweenFullComparisons == 0 || step + 1 == steps) check_everything();
    ASSERT_FALSE(HasFailure()) << "seed " << seed_ << " step " << step;
  }
  if (steps < 10'000) return;
  // A walk in which an operation hardly ever succeeds proves nothing about it.
  for (const char* what : {"create", "delete queue", "clear", "put", "get", "receive", "peek", "update", "delete",
                           "renew", "complete", "release", "move", "redrive", "remove"}) {
    EXPECT_GE(successes_[what], steps / 2000) << what;
  }
}

}  // namespace
}  // namespace tidemark::queue_service
