// Random operations against a plain model of the same queue, with a clock that also jumps.
#include <random>

#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::seconds;

struct ModelMessage {
  std::string id, text, receipt;
  Time visible_at, expires;
  std::uint64_t order = 0;
  std::uint32_t count = 0;
  bool immediate = false;
};

struct Model {
  std::vector<ModelMessage> messages;
  Time last_immediate{};
  std::uint64_t order = 0;

  void place(ModelMessage& m, Time now, Duration delay) {
    m.immediate = delay == Duration::zero();
    m.visible_at = m.immediate ? std::max(now, last_immediate) : now + delay;
    if (m.immediate) last_immediate = m.visible_at;
    m.order = order++;
  }
  void expire(Time now) {
    std::erase_if(messages, [&](const auto& m) { return m.expires <= now; });
  }
  std::vector<ModelMessage*> visible(Time now, std::size_t limit) {
    std::vector<ModelMessage*> out;
    for (auto& m : messages) {
      if (m.immediate || m.visible_at <= now) out.push_back(&m);
    }
    std::sort(out.begin(), out.end(),
              [](auto* a, auto* b) { return std::tie(a->visible_at, a->order) < std::tie(b->visible_at, b->order); });
    if (out.size() > limit) out.resize(limit);
    return out;
  }
};

class QueueModel : public QueueTest, public testing::WithParamInterface<std::uint64_t> {
 protected:
  std::uint64_t pick(std::uint64_t bound) { return generator_() % bound; }

  // Not both in one run: whether a message that had expired lives again after a backward jump depends on whether
  // somebody met it meanwhile, which the plain model does not know.
  static bool jumps_back() { return GetParam() % 2 == 0; }

  void put() {
    PutRequest request;
    request.text = "t" + std::to_string(generator_());
    request.delay = pick(3) == 0 ? seconds(pick(20)) : seconds(0);
    request.time_to_live = !jumps_back() && pick(3) == 0 ? seconds(21 + pick(60)) : seconds(604800);
    const auto text = request.text;
    const auto delay = request.delay;
    auto placed = run(service_.put("acc", "q-1", std::move(request)));
    ASSERT_TRUE(placed);
    ModelMessage m{placed->id, text, placed->receipt, {}, placed->expires};
    model_.place(m, clock_.now(), delay);
    EXPECT_EQ(placed->next_visible, m.visible_at);
    model_.messages.push_back(m);
  }
  void get() {
    const auto n = static_cast<std::uint32_t>(1 + pick(5));
    const Duration visibility = seconds(1 + pick(30));
    auto taken = run(service_.get("acc", "q-1", {n, visibility}, {}));
    ASSERT_TRUE(taken);
    const auto expected = model_.visible(clock_.now(), n);
    ASSERT_EQ(taken->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      auto& m = *expected[i];
      const auto& got = (*taken)[i];
      ASSERT_EQ(got.message.id, m.id);
      EXPECT_EQ(got.message.text, m.text);
      EXPECT_EQ(got.message.dequeue_count, ++m.count);
      if (!m.receipt.empty()) dead_.emplace_back(m.id, m.receipt);
      m.receipt = got.receipt;
      model_.place(m, clock_.now(), visibility);
    }
  }
  void peek() {
    const auto n = static_cast<std::uint32_t>(1 + pick(32));
    auto seen = run(service_.peek("acc", "q-1", n));
    ASSERT_TRUE(seen);
    const auto expected = model_.visible(clock_.now(), n);
    ASSERT_EQ(seen->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*seen)[i].id, expected[i]->id);
  }
  void update() {
    if (model_.messages.empty()) return;
    auto& m = model_.messages[pick(model_.messages.size())];
    const Duration visibility = seconds(pick(2) * pick(30));
    std::optional<std::string> text;
    if (pick(2) == 0) text = "u" + std::to_string(generator_());
    auto placed = run(service_.update({"acc", "q-1", m.id, 0, m.receipt}, visibility, text));
    ASSERT_TRUE(placed);
    dead_.emplace_back(m.id, m.receipt);
    if (text) m.text = *text;
    m.receipt = placed->receipt;
    model_.place(m, clock_.now(), visibility);
    EXPECT_EQ(placed->next_visible, m.visible_at);
  }
  void erase() {
    if (model_.messages.empty()) return;
    const auto i = pick(model_.messages.size());
    ASSERT_TRUE(run(service_.erase({"acc", "q-1", model_.messages[i].id, 0, model_.messages[i].receipt})));
    dead_.emplace_back(model_.messages[i].id, model_.messages[i].receipt);
    model_.messages.erase(model_.messages.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void try_dead_receipt() {
    if (dead_.empty()) return;
    const auto& [id, receipt] = dead_[pick(dead_.size())];
    EXPECT_TRUE(run(service_.erase({"acc", "q-1", id, 0, receipt})).failed_with(ErrorCode::kMessageNotFound));
  }
  void check_all() {
    auto page = service_.list("acc", "q-1", 1000, "");
    ASSERT_TRUE(page);
    ASSERT_EQ(page->messages.size(), model_.messages.size());
    auto figures = run(service_.get_properties("acc", "q-1"));
    ASSERT_TRUE(figures);
    EXPECT_GE(figures->messages, model_.messages.size());
  }

  std::mt19937_64 generator_{GetParam()};
  Model model_;
  std::vector<std::pair<std::string, std::string>> dead_;
};

TEST_P(QueueModel, BehavesLikeThePlainModel) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  for (int step = 0; step < 10000 && !HasFatalFailure(); ++step) {
    model_.expire(clock_.now());
    switch (pick(model_.messages.size() > 60 ? 13 : 11)) {
      case 0:
      case 1:
      case 2:
      case 3:
        put();
        break;
      case 4:
      case 5:
        get();
        break;
      case 6:
        peek();
        break;
      case 7:
        update();
        break;
      case 8:
      case 11:
      case 12:
        erase();
        break;
      case 9:
        try_dead_receipt();
        break;
      default:
        if (pick(40) == 0) {
          ASSERT_TRUE(run(service_.clear("acc", "q-1")));
          for (const auto& m : model_.messages) dead_.emplace_back(m.id, m.receipt);
          model_.messages.clear();
        } else if (jumps_back() && pick(10) == 0) {
          clock_.jump(-Duration(seconds(pick(100))));
        } else {
          advance(Duration(static_cast<std::int64_t>(pick(40'000'000))));
        }
    }
    if (step % 50 == 0) {
      model_.expire(clock_.now());
      check_all();
    }
    ASSERT_FALSE(HasFailure()) << "seed " << GetParam() << " step " << step;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, QueueModel, testing::Values(1, 2, 3, 4));

TEST_F(QueueTest, ClearAndDeleteLeaveNoRowsBehind) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = "x"})));
  ASSERT_TRUE(run(service_.clear("acc", "q-1")));
  ASSERT_TRUE(run(service_.delete_queue("acc", "q-1")));
  settle();
  const auto snapshot = engine_->snapshot();
  for (auto cursor = snapshot->scan({"", ""}); cursor->valid(); cursor->next()) {
    EXPECT_EQ(cursor->key(), "n");
  }
}

TEST_F(QueueTest, ReceiptsFitOneMessageOnly) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  auto a = run(service_.put("acc", "q-1", {.text = "a"}));
  auto b = run(service_.put("acc", "q-1", {.text = "b"}));
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", a->id, 0, b->receipt})).failed_with(ErrorCode::kPopReceiptMismatch));
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", a->id, 0, "garbage"})).failed_with(ErrorCode::kPopReceiptMismatch));
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", "nobody", 0, "garbage"})).failed_with(ErrorCode::kMessageNotFound));
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", "nobody", 0, a->receipt})).failed_with(ErrorCode::kMessageNotFound));
  EXPECT_EQ(to_receipt(*from_receipt(a->receipt)), a->receipt);
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", a->id, 0, a->receipt})));
}

TEST_F(QueueTest, CreateComparesMetadata) {
  EXPECT_EQ(run(service_.create_queue("acc", "q-1", {{"Owner", "me"}})).value(), CreateOutcome::kCreated);
  EXPECT_EQ(run(service_.create_queue("acc", "q-1", {{"owner", "me"}})).value(), CreateOutcome::kExistedAlready);
  EXPECT_TRUE(run(service_.create_queue("acc", "q-1", {})).failed_with(ErrorCode::kQueueAlreadyExists));
  EXPECT_TRUE(run(service_.create_queue("acc", "a--b", {})).failed_with(ErrorCode::kInvalidResourceName));
  EXPECT_TRUE(run(service_.create_queue("acc", "ab", {})).failed_with(ErrorCode::kOutOfRangeInput));
  EXPECT_TRUE(run(service_.set_metadata("acc", "q-1", {{"1x", ""}})).failed_with(ErrorCode::kInvalidMetadata));
}

TEST_F(QueueTest, ThousandsOfExpiredMessagesDoNotHideTheLiveOne) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = "old", .time_to_live = seconds(5)})));
  ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = "live"})));
  advance(seconds(6));
  auto seen = run(service_.peek("acc", "q-1", 1));
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ((*seen)[0].text, "live");
  EXPECT_EQ(run(service_.get_properties("acc", "q-1"))->messages, 1U);
}

}  // namespace
}  // namespace tidemark::queue_service
