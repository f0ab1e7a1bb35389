// Searches for an order of operations that a model allows and in which each operation comes between its call and its
// answer (Wing and Gong), with the memory of Lowe: when the same operations lead to the same state in another order,
// the search goes on from there only once. An operation of unknown outcome has no end: it may come at any time after
// its call, or never.
//
// A model has
//   Operation          with `invoked` and `returned`
//   State, initial()   with `fingerprint()`
//   step(state, operation)    does the operation; false: its answer is impossible in this state
#pragma once
#include <algorithm>
#include <unordered_set>

#include "tests/histories/history.h"

namespace tidemark::histories {

template <class Model>
class Search {
 public:
  using Operation = typename Model::Operation;
  using State = typename Model::State;

  /// Both must outlive it.
  Search(const Model& model, const std::vector<Operation>& operations)
      : model_(model), operations_(operations), state_(model.initial()) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].returned == kForever) {
        open_.push_back({i});
      } else {
        events_.push_back({operations[i].invoked, i, true});
        events_.push_back({operations[i].returned, i, false});
      }
    }
    std::ranges::sort(open_, {}, [&](const Open& open) { return operations_[open.operation].invoked; });
    link_events();
  }

  Verdict run(std::uint64_t most_steps) {
    auto cursor = start();
    while (events_[kHead].next != kHead) {
      if (steps_ >= most_steps) return Verdict::kNotJudged;
      if (is_candidate(cursor)) {
        cursor = take(cursor) ? start() : after(cursor);
      } else if (!go_back(cursor)) {
        return Verdict::kWrong;
      }
    }
    return Verdict::kRight;
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  static constexpr std::size_t kHead = 0;

  /// A call or an answer. A list in order of time links those whose operation is not done yet.
  struct Event {
    Moment at = 0;
    std::size_t operation = 0;
    bool call = false;
    std::size_t previous = 0, next = 0, answer = 0;
  };
  /// An operation without an answer.
  struct Open {
    std::size_t operation = 0;
    bool done = false;
  };
  /// The operation to try next: first those whose calls come before the first answer in the list, then, at that answer,
  /// the open operations. Most of these were never done, so they are tried last.
  struct Cursor {
    std::size_t event = 0, open = 0;
  };
  struct Frame {
    Cursor cursor;
    State before;
    Fingerprint done_before;
    bool forced;  // no other operation needs to be tried in its place
  };

  void link_events() {
    std::ranges::stable_sort(events_, {}, [](const Event& event) { return std::pair(event.at, !event.call); });
    events_.insert(events_.begin(), Event{});
    std::vector<std::size_t> calls(operations_.size());
    for (std::size_t i = 0; i < events_.size(); ++i) {
      events_[i].previous = i == 0 ? events_.size() - 1 : i - 1;
      events_[i].next = i + 1 == events_.size() ? 0 : i + 1;
      if (i == kHead) continue;
      if (events_[i].call) calls[events_[i].operation] = i;
      if (!events_[i].call) events_[calls[events_[i].operation]].answer = i;
    }
  }

  [[nodiscard]] Cursor start() const { return {events_[kHead].next, 0}; }
  [[nodiscard]] Cursor after(Cursor cursor) const {
    if (events_[cursor.event].call) return {events_[cursor.event].next, 0};
    return {cursor.event, cursor.open + 1};
  }
  [[nodiscard]] bool is_candidate(const Cursor& cursor) const {
    const auto& event = events_[cursor.event];
    if (event.call) return true;
    return cursor.open < open_.size() && operations_[open_[cursor.open].operation].invoked <= event.at;
  }

  /// Does the operation, unless the model refuses it or the search has been in the resulting state before.
  bool take(const Cursor& cursor) {
    const bool call = events_[cursor.event].call;
    if (!call && open_[cursor.open].done) return false;
    ++steps_;
    const auto operation = call ? events_[cursor.event].operation : open_[cursor.open].operation;
    State next = state_;
    if (!model_.step(next, operations_[operation])) return false;
    // An operation that changes nothing can be done at once if it was answered, and never if it was not.
    const bool changes = next.fingerprint() != state_.fingerprint();
    if (!call && !changes) return false;
    auto done = done_;
    done ^= fingerprint_of({operation});
    auto seen = next.fingerprint();
    seen ^= done;
    if (!seen_.insert(seen).second) return false;
    frames_.push_back({cursor, std::move(state_), done_, !changes});
    state_ = std::move(next);
    done_ = done;
    set_done(cursor, true);
    return true;
  }

  /// Undoes the last operation and moves the cursor to the next one to try in its place; false: there is none.
  bool go_back(Cursor& cursor) {
    bool forced = true;
    while (forced) {
      if (frames_.empty()) return false;
      auto& frame = frames_.back();
      set_done(frame.cursor, false);
      state_ = std::move(frame.before);
      done_ = frame.done_before;
      forced = frame.forced;
      cursor = after(frame.cursor);
      frames_.pop_back();
    }
    return true;
  }

  void set_done(const Cursor& cursor, bool done) {
    const auto& event = events_[cursor.event];
    if (!event.call) {
      open_[cursor.open].done = done;
    } else if (done) {
      unlink(cursor.event);
      unlink(event.answer);
    } else {
      link(event.answer);
      link(cursor.event);
    }
  }
  void unlink(std::size_t i) {
    events_[events_[i].previous].next = events_[i].next;
    events_[events_[i].next].previous = events_[i].previous;
  }
  void link(std::size_t i) {
    events_[events_[i].previous].next = i;
    events_[events_[i].next].previous = i;
  }

  const Model& model_;
  const std::vector<Operation>& operations_;
  std::vector<Event> events_;
  std::vector<Open> open_;
  State state_;
  Fingerprint done_;
  std::vector<Frame> frames_;
  std::unordered_set<Fingerprint, HashOfFingerprint> seen_;
  std::uint64_t steps_ = 0;
};

}  // namespace tidemark::histories
