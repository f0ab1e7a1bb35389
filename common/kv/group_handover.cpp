#include "common/kv/group_handover.h"

#include <utility>

namespace tidemark::kv {

GroupHandover::Wake GroupHandover::submitted(std::size_t waiting) {
  ++unwritten_;
  if (!writing_) return running_ ? Wake::kNobody : Wake::kWriter;  // the thread that runs bodies looks again when done
  return waiting == worth_waking_ ? Wake::kHelper : Wake::kNobody;
}

GroupHandover::Wake GroupHandover::stop() {
  stopping_ = true;
  return Wake::kWriter;
}

GroupHandover::Turn GroupHandover::writers_turn() const {
  if (running_) return Turn::kWait;
  if (unwritten_ > 0) return Turn::kRun;
  return stopping_ ? Turn::kEnd : Turn::kWait;
}

GroupHandover::Turn GroupHandover::helpers_turn(std::size_t waiting) const {
  if (ended_) return Turn::kEnd;
  return writing_ && !running_ && !full_ && waiting >= worth_waking_ ? Turn::kRun : Turn::kWait;
}

GroupHandover::Run GroupHandover::begin_run() {
  running_ = true;
  const bool other_is_done = other_is_used_ && !writing_;
  if (other_is_done) other_is_used_ = false;
  return {filling_, other_is_used_, other_is_done, writing_};
}

GroupHandover::Wake GroupHandover::end_run(const Run& run, std::size_t filled, bool full) {
  running_ = false;
  filled_ = filled;
  full_ = full;
  // The writer came back while the helper was running bodies, and waits.
  return run.while_writing && !writing_ ? Wake::kWriter : Wake::kNobody;
}

std::size_t GroupHandover::begin_write() {
  unwritten_ -= std::exchange(filled_, 0);
  full_ = false;
  other_is_used_ = true;
  writing_ = true;
  return std::exchange(filling_, 1 - filling_);
}

GroupHandover::Wake GroupHandover::end() {
  ended_ = true;
  return Wake::kHelper;
}

}  // namespace tidemark::kv
