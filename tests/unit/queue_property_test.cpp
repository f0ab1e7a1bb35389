// Random operations on two queues and their poison queues, against the plain model, with a clock that jumps and a
// process that restarts. After each step the messages it touched are compared, row by row; every so often everything
// is:
//   Q1  a message goes only by a step that ends it, or by expiry      Q2  it is in one queue, at one place
//   Q3  epochs only rise; leases and receipts of the past do nothing   Q4  an ended message never comes back
//   Q5  attempts fall only by a redrive, or by one that is not counted Q6  a queue's count is the number of its rows
// tests/support/environment.h tells how to repeat a run or make it longer.
#include <cstdlib>
#include <iostream>
#include <random>

#include <gmock/gmock.h>

#include "common/kv/key_codec.h"
#include "queue_service/storage/queue_rows.h"
#include "tests/support/environment.h"
#include "tests/support/seeded_random.h"
#include "tests/unit/queue_plain_model.h"
#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::seconds;

constexpr const char* kAccount = "acc";
const std::string kQueues[] = {"jobs-a", "jobs-b", "jobs-a-poison", "jobs-b-poison"};
constexpr std::size_t kManyMessages = 150;
constexpr int kStepsBetweenFullComparisons = 250;

class QueueProperty : public testing::Test {
 protected:
  using Generation = std::pair<std::size_t, std::uint64_t>;  // with its shard

  explicit QueueProperty(std::uint64_t seed = test_seed())
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
  /// Restarts the service, as after a death of the process: rows stay, hints and waiters are lost.
  void reopen() {
    service_.reset();
    engines_.clear();
    shards::Shards shards{{}, placement_};
    for (const auto& disk : disks_) {
      engines_.push_back(kv::make_memory_engine(disk));
      shards.all.push_back({*engines_.back(), clock_});
    }
    service_ = std::make_unique<QueueService>(shards, clock_, *random_);
  }
  /// Begins anew with so many shards; the two queues are on different ones, if there are two.
  void divide(std::size_t shards) {
    shards::Placement::Key key{};
    do {
      ++key[0];
      placement_ = shards::Placement(shards, key);
    } while (shards > 1 && shard_of(kQueues[0]) == shard_of(kQueues[1]));
    disks_.clear();
    for (std::size_t i = 0; i < shards; ++i) disks_.push_back(kv::make_memory_disk());
    reopen();
  }
  std::size_t shard_of(const std::string& queue) const {
    return placement_.of({kAccount, without_poison_suffix(queue)});
  }
  /// Visits all rows of queues, one shard after the other.
  template <class Each>
  void each_row(Each each) const {
    for (std::size_t shard = 0; shard < engines_.size(); ++shard) {
      const auto snapshot = engines_[shard]->snapshot();
      for (auto cursor = snapshot->scan({"m", "n"}); cursor->valid(); cursor->next()) {
        auto key = cursor->key().substr(1);
        const Generation generation{shard, kv::take_u64(key).value_or(0)};
        each(generation, key, *cursor);
      }
    }
  }
  void behaves_like_the_plain_model(std::uint64_t steps);
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
  Metadata some_metadata() {
    Metadata metadata;
    if (chance(4)) metadata.emplace_back("Owner", std::to_string(pick(2)));
    if (chance(2)) metadata.emplace_back("tidemark_max_dequeue_count", std::to_string(pick(5)));
    if (chance(6)) metadata.emplace_back("tidemark_paused", chance(2) ? "true" : "false");
    return metadata;
  }
  PutRequest some_put() {
    PutRequest request;
    request.text = some_text();
    request.delay = some_delay();
    // The next message of a group when others expire depends on the operation that met them first: the model leaves
    // that open.
    if (chance(3)) {
      request.group = "group " + std::to_string(pick(4));
    } else if (chance(3)) {
      request.time_to_live = request.delay + seconds(1 + pick(200));
    }
    if (chance(5)) {
      request.idempotency_key = "key " + std::to_string(pick(10));
      request.text = chance(4) ? "other" : "same";
      request.retention = seconds(20 + pick(100));
    }
    return request;
  }
  std::string some_text() { return "text " + std::to_string(generator_()); }

  /// Checks that the outcome is the model's: `error`, or success if there is none.
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
  void set_metadata();
  void upkeep();
  void delete_queue();
  void clear();
  void put();
  void get();
  void peek();
  void update();
  void erase();
  void renew();
  void complete();
  void finish();
  void release();
  void move();
  void redrive();
  void remove();
  void use_relic();
  void set_clock();
  void take_one_step();

  std::optional<ErrorCode> refusal_of_put(const std::string& queue, const PutRequest& request);
  const model::Key* live_key(const std::string& queue, const PutRequest& request) const;
  void was_put(const std::string& queue, const PutRequest& request, const Placed& placed);
  std::vector<model::Message*> next_deliveries(const std::string& queue, std::size_t count,
                                               std::vector<model::Message*>& failed);
  void expect_deliveries(const std::string& queue, const TakeRequest& request, const std::vector<TakenMessage>& got);
  void fail_for_good(model::Message& message);
  void taken(model::Message& message, const TakeRequest& request, std::string receipt);
  void compare(const Message& got, const model::Message& expected);
  /// These return the service's refusal of a call on this message by receipt, by lease, and by id alone.
  std::optional<ErrorCode> refused_by_receipt(const model::Message& message) const {
    return message.expired(now()) ? std::optional(ErrorCode::kMessageNotFound) : std::nullopt;
  }
  std::optional<ErrorCode> refused_by_lease(const model::Message& message) const {
    return message.expired(now()) || !message.listed ? std::optional(ErrorCode::kLeaseLost) : std::nullopt;
  }
  std::optional<ErrorCode> refused_by_id(const model::Message& message) const {
    if (!model::is_poison(message.queue)) return ErrorCode::kInvalidInput;
    return refused_by_receipt(message);
  }

  // Checks.
  struct StoredMessage {
    Generation generation;
    FoundMessage found;
  };
  /// By id, as they are stored in the engine.
  using StoredMessages = std::map<std::string, std::vector<StoredMessage>>;
  StoredMessages stored() const;
  void check_touched();
  void check_row(const StoredMessages& rows, const std::string& id);
  void check_everything();
  void check_rows();
  void check_listing(const std::string& queue);

  const std::uint64_t seed_;
  std::mt19937_64 generator_;
  asio::io_context io_;
  FakeClock clock_;
  std::unique_ptr<Random> random_;
  shards::Placement placement_;
  std::vector<std::shared_ptr<kv::MemoryDisk>> disks_{kv::make_memory_disk()};
  std::vector<std::unique_ptr<kv::Engine>> engines_;
  std::unique_ptr<QueueService> service_;
  model::Model model_;
  std::vector<std::string> touched_;  // by this step
  std::map<std::string, std::uint64_t> successes_;
};

void QueueProperty::create() {
  const auto& queue = any_queue();
  auto metadata = some_metadata();
  const std::map<std::string, std::string> wanted(metadata.begin(), metadata.end());
  const auto known = model_.queues.find(queue);
  const bool other = known != model_.queues.end() && known->second.metadata != wanted;
  const auto created = run(service_->create_queue(kAccount, queue, std::move(metadata)));
  if (!agrees(created, other ? std::optional(ErrorCode::kQueueAlreadyExists) : std::nullopt, "create")) return;
  EXPECT_EQ(*created == CreateOutcome::kCreated, known == model_.queues.end());
  model_.queues[queue].metadata = wanted;
}

/// Also pauses queues and resumes them, and changes how often a message may be taken.
void QueueProperty::set_metadata() {
  const auto& queue = any_queue();
  auto metadata = some_metadata();
  const std::map<std::string, std::string> wanted(metadata.begin(), metadata.end());
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (!agrees(run(service_->set_metadata(kAccount, queue, std::move(metadata))), missing, "set metadata")) return;
  model_.queues.at(queue).metadata = wanted;
}

void QueueProperty::upkeep() {
  if (!agrees(run(service_->upkeep()), std::nullopt, "upkeep")) return;
  for (auto& [name, queue] : model_.queues) {
    std::erase_if(queue.keys, [&](const auto& item) { return item.second.until <= now(); });
  }
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
  const auto request = some_put();
  const auto placed = run(service_->put(kAccount, queue, request));
  const auto refused = refusal_of_put(queue, request);
  if (agrees(placed, refused, "put")) was_put(queue, request, *placed);
}

std::optional<ErrorCode> QueueProperty::refusal_of_put(const std::string& queue, const PutRequest& request) {
  if (!exists(queue)) return ErrorCode::kQueueNotFound;
  const auto* key = live_key(queue, request);
  const bool same = key == nullptr || (key->text == request.text && key->group == request.group);
  return same ? std::nullopt : std::optional(ErrorCode::kIdempotencyKeyReused);
}

/// Returns the record that a put with the same idempotency key left.
const model::Key* QueueProperty::live_key(const std::string& queue, const PutRequest& request) const {
  const auto& keys = model_.queues.at(queue).keys;
  const auto known = keys.find(request.idempotency_key);
  return known != keys.end() && known->second.until > now() ? &known->second : nullptr;
}

void QueueProperty::was_put(const std::string& queue, const PutRequest& request, const Placed& placed) {
  if (const auto* key = live_key(queue, request)) {
    EXPECT_EQ(placed.id, key->id) << "put twice under one key";
    EXPECT_EQ(placed.receipt, key->receipt);
    ++successes_["put again"];
    return;
  }
  model::Message message;
  message.id = placed.id;
  message.queue = queue;
  message.group = request.group;
  message.text = request.text;
  message.inserted = now();
  message.expires = request.time_to_live ? now() + *request.time_to_live : kNeverExpires;
  message.receipt = placed.receipt;
  model_.insert(message, now(), request.delay);
  if (message.waiting) ++successes_["wait"];
  EXPECT_EQ(placed.next_visible, message.visible_at);
  EXPECT_EQ(placed.expires, message.expires);
  touched_.push_back(message.id);
  EXPECT_TRUE(model_.messages.emplace(message.id, message).second) << "an id was given twice";
  if (request.idempotency_key.empty()) return;
  model_.queues.at(queue).keys[request.idempotency_key] = {placed.id, placed.receipt, request.text, request.group,
                                                           now() + request.retention};
}

void QueueProperty::compare(const Message& got, const model::Message& expected) {
  EXPECT_EQ(got.id, expected.id);
  EXPECT_EQ(got.group, expected.group);
  EXPECT_EQ(got.text, expected.text);
  EXPECT_EQ(got.original, expected.original);
  EXPECT_EQ(got.annotation, expected.annotation);
  EXPECT_EQ(got.inserted, expected.inserted);
  EXPECT_EQ(got.expires, expected.expires);
  EXPECT_EQ(got.dequeue_count, expected.count);
  EXPECT_EQ(got.epoch, expected.epoch);
}

void QueueProperty::taken(model::Message& message, const TakeRequest& request, std::string receipt) {
  model_.outdate(message, true);
  ++message.count;
  ++message.epoch;
  message.leased = true;
  message.listed = message.listed || request.lease;
  message.receipt = std::move(receipt);
  model_.place(message, now(), request.visibility);
  touched_.push_back(message.id);
}

/// Returns those of the first `count` visible messages that may be taken once more, and those that may not.
std::vector<model::Message*> QueueProperty::next_deliveries(const std::string& queue, std::size_t count,
                                                            std::vector<model::Message*>& failed) {
  const auto& state = model_.queues.at(queue);
  if (state.paused()) return {};
  std::vector<model::Message*> given;
  for (auto* message : model_.visible(queue, now(), count)) {
    const auto most = state.max_dequeue_count();
    const bool may = most == 0 || message->count < most || model::is_poison(queue);
    (may ? given : failed).push_back(message);
  }
  return given;
}

/// Moves the message to its poison queue, with a note of the reason.
void QueueProperty::fail_for_good(model::Message& message) {
  ++successes_["poison"];
  touched_.push_back(message.id);
  const auto from = message.queue;
  model_.move(message, from + "-poison", now());
  const auto found = service_->find(kAccount, message.queue, message.id);
  ASSERT_TRUE(found && *found) << message.id << " is not in the poison queue";
  EXPECT_THAT((*found)->annotation, testing::AllOf(testing::HasSubstr("max_dequeue_count"), testing::HasSubstr(from)));
  message.annotation = (*found)->annotation;
}

void QueueProperty::expect_deliveries(const std::string& queue, const TakeRequest& request,
                                      const std::vector<TakenMessage>& got) {
  for (;;) {
    std::vector<model::Message*> failed;
    const auto given = next_deliveries(queue, request.count, failed);
    for (std::size_t i = 0; i < given.size(); ++i) {
      ASSERT_LT(i, got.size()) << "too few";
      ASSERT_EQ(got[i].message.id, given[i]->id) << "order";
      taken(*given[i], request, got[i].receipt);
      compare(got[i].message, *given[i]);
      EXPECT_EQ(got[i].message.next_visible, given[i]->visible_at);
    }
    for (auto* message : failed) fail_for_good(*message);
    if (!given.empty() || failed.empty()) {
      ASSERT_EQ(got.size(), given.size());
      return;
    }
  }
}

void QueueProperty::get() {
  const auto& queue = any_queue();
  const auto count = static_cast<std::uint32_t>(chance(4) ? 32 : 1 + pick(4));
  const TakeRequest request{.count = count, .visibility = seconds(1 + pick(30)), .lease = !chance(3)};
  const auto got = run(service_->get(kAccount, queue, request, {}));
  const auto missing = exists(queue) ? std::nullopt : std::optional(ErrorCode::kQueueNotFound);
  if (agrees(got, missing, "get")) expect_deliveries(queue, request, *got);
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
  const auto placed =
      run(service_->update({kAccount, message->queue, message->id, 0, message->receipt}, visibility, text));
  if (!agrees(placed, refused_by_receipt(*message), "update")) return;
  model_.outdate(*message, false);
  if (text) message->change_text(*text);
  message->receipt = placed->receipt;
  model_.place(*message, now(), visibility);
  EXPECT_EQ(placed->next_visible, message->visible_at);
}

void QueueProperty::erase() {
  auto* message = any_message();
  if (message == nullptr || message->receipt.empty()) return;
  const auto done = run(service_->erase({kAccount, message->queue, message->id, 0, message->receipt}));
  if (agrees(done, refused_by_receipt(*message), "delete")) model_.end(message->id, now());
}

void QueueProperty::renew() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  const auto visibility = some_delay();
  const auto annotation = chance(2) ? std::optional(some_text()) : std::nullopt;
  const auto done =
      run(service_->renew({kAccount, message->queue, message->id, message->epoch}, visibility, annotation, 0));
  if (!agrees(done, refused_by_lease(*message), "renew")) return;
  model_.outdate(*message, false);
  if (annotation) message->annotation = *annotation;
  message->receipt.clear();
  model_.place(*message, now(), visibility);
}

void QueueProperty::complete() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  const auto done = run(service_->erase({kAccount, message->queue, message->id, message->epoch}));
  if (agrees(done, refused_by_lease(*message), "complete")) model_.end(message->id, now());
}

/// Makes a completion that puts follow-ups; all of it, or nothing if one of them cannot be put.
void QueueProperty::finish() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  std::vector<FollowUp> follow_ups(pick(3));
  std::optional<ErrorCode> refused = refused_by_lease(*message);
  for (auto& next : follow_ups) {
    next = {any_queue(), some_put()};
    next.message.idempotency_key.clear();
    if (!refused) refused = refusal_of_put(next.queue, next.message);
  }
  const auto done = run(service_->finish({kAccount, message->queue, message->id, message->epoch}, follow_ups));
  if (!agrees(done, refused, "finish")) return;
  model_.end(message->id, now());
  ASSERT_EQ(done->size(), follow_ups.size());
  for (std::size_t i = 0; i < follow_ups.size(); ++i) was_put(follow_ups[i].queue, follow_ups[i].message, (*done)[i]);
}

void QueueProperty::release() {
  auto* message = any_message();
  if (message == nullptr || !message->leased) return;
  const auto delay = some_delay();
  const auto annotation = some_text();
  const bool counts = !chance(3);
  const auto done =
      run(service_->release({kAccount, message->queue, message->id, message->epoch}, delay, annotation, counts));
  if (!agrees(done, refused_by_lease(*message), "release")) return;
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
  const auto done = run(service_->move({kAccount, message->queue, message->id, message->epoch},
                                       {.to_queue = to, .annotation = annotation}));
  if (!agrees(done, refused_by_lease(*message), "move")) return;
  message->annotation = annotation;
  model_.move(*message, to, now());
}

void QueueProperty::redrive() {
  auto* message = any_message();
  if (message == nullptr) return;
  const auto& to = any_queue();
  const auto text = chance(3) ? std::optional(some_text()) : std::nullopt;
  const auto done = run(service_->redrive(kAccount, message->queue, message->id,
                                          {.to_queue = to, .reset_dequeue_count = true, .text = text}));
  if (!agrees(done, refused_by_id(*message), "redrive")) return;
  message->annotation.clear();
  if (text) message->change_text(*text);
  message->count = 0;
  model_.move(*message, to, now());
}

void QueueProperty::remove() {
  auto* message = any_message();
  if (message == nullptr) return;
  const auto done = run(service_->remove(kAccount, message->queue, message->id));
  if (agrees(done, refused_by_id(*message), "remove")) model_.end(message->id, now());
}

/// Uses receipts and leases of the past, also of messages that are elsewhere by now or gone.
void QueueProperty::use_relic() {
  if (model_.relics.empty()) return;
  const auto relic = model_.relics[pick(model_.relics.size())];
  touched_.push_back(relic.id);
  const bool there = exists(relic.queue);
  if (!relic.receipt.empty()) {
    const auto expected = there ? ErrorCode::kMessageNotFound : ErrorCode::kQueueNotFound;
    agrees(run(service_->erase({kAccount, relic.queue, relic.id, 0, relic.receipt})), expected,
           "delete by a dead receipt");
    agrees(run(service_->update({kAccount, relic.queue, relic.id, 0, relic.receipt}, seconds(1), "dead")), expected,
           "update by a dead receipt");
  }
  if (relic.epoch == 0) return;
  const auto expected = there ? ErrorCode::kLeaseLost : ErrorCode::kQueueNotFound;
  const LeaseKey lease{kAccount, relic.queue, relic.id, relic.epoch};
  agrees(run(service_->erase(lease)), expected, "complete by a lost lease");
  agrees(run(service_->renew(lease, seconds(1), std::nullopt, 0)), expected, "renew by a lost lease");
  agrees(run(service_->release(lease, {}, "", true)), expected, "release by a lost lease");
  agrees(run(service_->move(lease, {.to_queue = kQueues[2]})), expected, "move by a lost lease");
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
  // Whether an expired message lives again when the clock falls back depends on whether an operation met it meanwhile;
  // that is left open, so the service decides once, and has to stay with it.
  if (now() >= before) return;
  const auto rows = stored();
  std::erase_if(model_.messages, [&](const auto& item) {
    const auto& message = item.second;
    return message.expired(before) && !message.expired(now()) && !rows.contains(message.id);
  });
}

void QueueProperty::take_one_step() {
  using Operation = void (QueueProperty::*)();
  struct Choice {
    unsigned weight;
    Operation operation;
  };
  static constexpr Choice kChoices[] = {
      {20, &QueueProperty::put},       {20, &QueueProperty::get},    {6, &QueueProperty::peek},
      {8, &QueueProperty::update},     {6, &QueueProperty::erase},   {6, &QueueProperty::renew},
      {5, &QueueProperty::complete},   {6, &QueueProperty::release}, {6, &QueueProperty::move},
      {4, &QueueProperty::redrive},    {2, &QueueProperty::remove},  {8, &QueueProperty::use_relic},
      {12, &QueueProperty::set_clock}, {2, &QueueProperty::create},  {2, &QueueProperty::set_metadata},
      {1, &QueueProperty::upkeep},     {3, &QueueProperty::finish},
  };
  touched_.clear();
  // Rare steps that remove much.
  if (chance(400)) return (this->*(chance(2) ? &QueueProperty::clear : &QueueProperty::delete_queue))();
  if (chance(1000)) return reopen();
  if (model_.messages.size() > kManyMessages) return clear();
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
  if (touched_.empty()) return;
  const auto rows = stored();
  for (const auto& id : touched_) check_row(rows, id);
}

QueueProperty::StoredMessages QueueProperty::stored() const {
  StoredMessages rows;
  each_row([&](const Generation& generation, std::string_view key, const kv::Cursor& row) {
    const auto set = static_cast<Set>(key[0]);
    if (set != Set::kReady && set != Set::kTimed && set != Set::kWaiting) return;
    auto record = decode_message(row.value());
    EXPECT_TRUE(record);
    if (!record) return;
    const auto place = set == Set::kWaiting ? Place{} : queue_keys::place_in(row.key()).value_or(Place{});
    const auto leased = record->leased;
    auto& copies = rows[record->message.id];
    copies.push_back({generation, {set, place, leased, std::move(*record)}});
  });
  return rows;
}

/// Checks Q2, Q3, Q4, Q5 of one message.
void QueueProperty::check_row(const StoredMessages& rows, const std::string& id) {
  const auto known = model_.messages.find(id);
  for (const auto& queue : kQueues) {
    const auto snapshot = engines_[shard_of(queue)]->snapshot();
    const auto record = read_queue(*snapshot, kAccount, queue);
    ASSERT_TRUE(record);
    ASSERT_EQ(record->has_value(), exists(queue)) << queue;
    if (!*record) continue;
    const auto generation = (*record)->generation;
    const FoundMessage* found = nullptr;
    if (const auto copies = rows.find(id); copies != rows.end()) {
      for (const auto& copy : copies->second) {
        if (copy.generation == Generation(shard_of(queue), generation)) found = &copy.found;
      }
    }
    const auto by_id = read_message(*snapshot, generation, id);
    ASSERT_TRUE(by_id);
    if (known == model_.messages.end() || known->second.queue != queue) {
      EXPECT_TRUE(found == nullptr && !*by_id) << id << " is in " << queue << " and should not be";
      continue;
    }
    const auto& expected = known->second;
    if (found == nullptr) {
      EXPECT_TRUE(expected.expired(now())) << id << " is lost from " << queue;
      EXPECT_FALSE(*by_id) << id;
      continue;
    }
    compare(found->record.message, expected);
    EXPECT_EQ(found->record.leased, expected.leased);
    EXPECT_EQ(found->record.listed, expected.listed);
    EXPECT_EQ(by_id->has_value(), expected.listed) << id;
    EXPECT_EQ(found->set, expected.waiting ? Set::kWaiting : expected.immediate ? Set::kReady : Set::kTimed);
    if (!expected.waiting) {
      EXPECT_EQ(found->place.visible_at, expected.visible_at);
      EXPECT_TRUE(!*by_id || (*by_id)->place == found->place) << id;
    }
    if (!expected.receipt.empty()) {
      const auto place = expected.waiting ? (*by_id)->record.receipt : found->record.receipt.value_or(found->place);
      EXPECT_EQ(to_receipt(*place), expected.receipt);
    }
  }
}

void QueueProperty::check_everything() {
  check_rows();
  const auto rows = stored();
  for (const auto& [id, message] : model_.messages) check_row(rows, id);
  for (const auto& queue : kQueues) {
    if (exists(queue)) check_listing(queue);
  }
}

/// Checks Q1, Q2 and Q6 over the bare rows; forgets expired messages that the service has met and dropped.
void QueueProperty::check_rows() {
  struct Rows {
    std::uint64_t ready = 0, delayed = 0, leased = 0, waiting = 0, listed = 0, ids = 0, keys = 0, keys_by_age = 0;
    std::map<std::string, std::uint64_t> groups, behind;  // waiting by group: as counted there, and as found
  };
  std::map<Generation, Rows> generations;
  std::map<Generation, FiguresRecord> counts;
  std::map<std::string, int> places;  // by message id
  each_row([&](const Generation& generation, std::string_view key, const kv::Cursor& row) {
    auto& rows = generations[generation];
    const char kind = key[0];
    key.remove_prefix(1);
    if (kind == 'c') {
      const auto figures = kFiguresRecord.decode(row.value());
      ASSERT_TRUE(figures);
      counts[generation] = *figures;
    } else if (kind == 'g') {
      const auto group = kGroupRecord.decode(row.value());
      ASSERT_TRUE(group);
      rows.groups[kv::take_text(key).value_or("")] = group->waiting;
    } else if (kind == 'i' || kind == 'k' || kind == 'a') {
      ++(kind == 'i' ? rows.ids : kind == 'k' ? rows.keys : rows.keys_by_age);
    } else {
      const auto record = decode_message(row.value());
      ASSERT_TRUE(record);
      ++(kind == 'r' ? rows.ready : kind == 'w' ? rows.waiting : record->leased ? rows.leased : rows.delayed);
      rows.listed += record->listed ? 1 : 0;
      if (record->grouped) rows.behind[record->message.group] += kind == 'w' ? 1 : 0;
      EXPECT_EQ(++places[record->message.id], 1) << "Q2: " << record->message.id;
      EXPECT_TRUE(model_.messages.contains(record->message.id)) << "Q4: " << record->message.id << " is back";
    }
  });
  for (const auto& engine : engines_) {
    EXPECT_FALSE(engine->snapshot()->scan({"x", "y"})->valid()) << "a message is on its way when nothing runs";
  }
  EXPECT_EQ(counts.size(), model_.queues.size()) << "generations that were dropped are still there";
  for (const auto& [generation, count] : counts) {
    const auto& rows = generations[generation];
    EXPECT_EQ(rows.ready, count.ready) << "Q6";
    EXPECT_EQ(rows.delayed, count.delayed) << "Q6";
    EXPECT_EQ(rows.leased, count.leased) << "Q6";
    EXPECT_EQ(rows.waiting, count.waiting) << "Q6";
    EXPECT_EQ(rows.ids, rows.listed) << "a row by id is too many or missing";
    EXPECT_EQ(rows.groups, rows.behind) << "a group and its messages differ";
    EXPECT_EQ(rows.keys, rows.keys_by_age);
  }
  for (auto it = model_.messages.begin(); it != model_.messages.end();) {
    const bool there = places.contains(it->first);
    EXPECT_TRUE(there || it->second.expired(now())) << "Q1: " << it->first << " is lost";
    it = there ? std::next(it) : model_.messages.erase(it);
  }
}

/// Checks all messages in order, page by page, and the approximate count, which expired ones behind others may swell.
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
  const auto figures = run(service_->figures(kAccount, queue));
  ASSERT_TRUE(figures);
  const auto waits = std::count_if(living.begin(), living.end(), [](const auto* m) { return m->waiting; });
  EXPECT_EQ(figures->waiting, static_cast<std::uint64_t>(waits));
  EXPECT_EQ(figures->ready + figures->delayed + figures->in_flight + figures->waiting, figures->messages);
}

void QueueProperty::behaves_like_the_plain_model(std::uint64_t steps) {
  std::cout << "repeat with TIDEMARK_SEED=" << seed_ << std::endl;
  for (std::uint64_t step = 0; step < steps; ++step) {
    take_one_step();
    check_touched();
    if (step % kStepsBetweenFullComparisons == 0 || step + 1 == steps) check_everything();
    ASSERT_FALSE(HasFailure()) << "seed " << seed_ << " step " << step;
  }
  if (steps < 8'000) return;
  // A walk in which an operation hardly ever succeeds proves nothing about it.
  for (const char* what :
       {"create", "delete queue", "clear", "put", "put again", "wait", "poison", "finish", "set metadata", "get",
        "peek", "update", "delete", "renew", "complete", "release", "move", "redrive", "remove"}) {
    EXPECT_GE(successes_[what], steps / 4000) << what;
  }
}

TEST_F(QueueProperty, BehavesLikeThePlainModel) { behaves_like_the_plain_model(test_size(8'000)); }

TEST_F(QueueProperty, BehavesLikeThePlainModelOverShards) {
  divide(8);
  behaves_like_the_plain_model(test_size(4'000));
}

}  // namespace
}  // namespace tidemark::queue_service
