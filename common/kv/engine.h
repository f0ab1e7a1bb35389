// The interface of the storage engine: an ordered key-value store with serializable, durable transactions. The stores
// know nothing else of it; types of the library underneath never leave its own files.
//
// Keys and values are bytes; keys sort bytewise. Snapshots and cursors may be used from any thread, one thread at a
// time each.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/async.h"
#include "common/base/error.h"
#include "common/base/fail_points.h"

namespace tidemark::kv {

/// [lower, upper); an empty upper means "to the end".
struct KeyRange {
  std::string lower;
  std::string upper;
};

enum class Direction { kForward, kReverse };

/// Walks a range in key order. key() and value() are valid until next().
class Cursor {
 public:
  virtual ~Cursor() = default;
  [[nodiscard]] virtual bool valid() const = 0;
  virtual void next() = 0;
  [[nodiscard]] virtual std::string_view key() const = 0;
  [[nodiscard]] virtual std::string_view value() const = 0;
  /// The disk error that made the cursor invalid, if there was one; check it at the end of a walk.
  [[nodiscard]] virtual Result<void> status() const = 0;
};

class Reader {
 public:
  virtual ~Reader() = default;
  [[nodiscard]] virtual Result<std::optional<std::string>> get(std::string_view key) const = 0;
  /// Called for each of several keys, in their order, with the place of the key and its value, which is valid until the
  /// call returns; nothing: there is no such row. If it returns an error, the reading ends.
  using Told = std::function<Result<void>(std::size_t place, std::optional<std::string_view> value)>;
  /// Does the same as get() for each of the keys, which may be repeated, at a lower cost.
  [[nodiscard]] virtual Result<void> get_all(std::span<const std::string> keys, const Told& told) const;
  [[nodiscard]] virtual std::unique_ptr<Cursor> scan(const KeyRange& range,
                                                     Direction direction = Direction::kForward) const = 0;
  /// A forward walk that will be long: it reads ahead and does not fill the cache.
  [[nodiscard]] virtual std::unique_ptr<Cursor> scan_long(const KeyRange& range) const {
    return scan(range, Direction::kForward);
  }
};

/// Reads see the transaction's own writes. A cursor must not outlive a write made after it was opened.
class Transaction : public Reader {
 public:
  virtual void put(std::string_view key, std::string_view value) = 0;
  virtual void erase(std::string_view key) = 0;
};

/// The work of a transaction. If it returns an error, its writes are abandoned, and the error becomes the outcome.
/// Every body keeps to one contract:
/// - It runs on the engine's threads, one body at a time, so it must not block, and it uses only its Transaction and
///   its captures.
/// - It may be run again, so it first resets its captures.
/// - It may refer to anything that lives until the outcome is told, and the engine destroys it before telling. One such
///   place is the frame of a coroutine that awaits transact(): meanwhile the engine alone holds the coroutine, so that
///   nothing else resumes or destroys it, and a body may capture all of its frame by reference ([&]).
/// - The owner of the executors of such coroutines calls Engine::drain() before it destroys them.
using TransactionBody = std::function<Result<void>(Transaction&)>;

/// Called once the outcome of a transaction is durable, on an executor or, without one, on the engine's thread.
class Completion {
 public:
  using Call = std::move_only_function<void(Result<void>)>;
  struct Due;

  Completion() = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Completion> && std::invocable<F&, Result<void>>)
  Completion(F&& call) : call_(std::forward<F>(call)) {}
  Completion(Executor executor, Call call) : executor_(std::move(executor)), call_(std::move(call)) {}

  void operator()(Result<void> outcome);
  explicit operator bool() const { return static_cast<bool>(call_); }
  /// Calls are in order for each executor, which is woken once; those without an executor come last.
  static void deliver(std::vector<Due> group);

 private:
  Executor executor_;
  Call call_;
};

struct Completion::Due {
  Completion completion;
  Result<void> outcome;
};

/// The engine's memory, which does not grow with the amount of data stored.
struct EngineMemory {
  std::size_t cache_bytes = 0;          // blocks, indexes, filters and rows
  std::size_t write_buffers_bytes = 0;  // changes that are not in a file yet
};

class Engine {
 public:
  virtual ~Engine() = default;

  /// Returns a consistent view of everything committed so far. State that any reader has seen is seen by all later
  /// readers, with get() and with snapshots, and whether or not its outcome has been told.
  [[nodiscard]] virtual std::shared_ptr<const Reader> snapshot() const = 0;

  /// Returns the latest committed value of one key, as snapshot()->get(key) does, at a lower cost.
  [[nodiscard]] virtual Result<std::optional<std::string>> get(std::string_view key) const;

  /// Runs the body atomically and serializably; `done` is called once, when the outcome is durable and the body is
  /// destroyed. Fails with kServerBusy when too many transactions wait, and with kStorageFailure once the disk has
  /// failed (then every later transaction fails too: reopen the database).
  virtual void submit(TransactionBody body, Completion done) = 0;

  /// Blocks until the outcomes of all earlier transactions have been told. For shutdown, when nothing is submitted any
  /// more.
  void drain();

  /// Refuses every transaction with this error from now on, for good. For a disk that is nearly full.
  virtual void refuse_writes(std::optional<Error>) {}
  /// Why transactions are refused: that error, or kStorageFailure once a write to the disk has failed. Nothing: they
  /// are accepted.
  [[nodiscard]] virtual std::optional<Error> failure() const { return std::nullopt; }

  /// Deletes ranges of keys, even while transactions are refused; for keys that nothing refers to or writes any more.
  /// `done` is called once, when they are durably deleted.
  virtual void erase_ranges(std::vector<KeyRange> ranges, Completion done) = 0;

  /// The number of waiting transactions, for metrics.
  [[nodiscard]] virtual std::size_t queue_depth() const = 0;

  /// The engine's memory, for metrics.
  [[nodiscard]] virtual EngineMemory memory() const { return {}; }

  /// Does submit() as a coroutine, which resumes on the caller's executor. `step` names the write for crash tests; it
  /// is reached before the transaction is submitted and once it is durable.
  Task<Result<void>> transact(TransactionBody body, const FailStep* step = nullptr);
  /// Does erase_ranges() as a coroutine.
  Task<Result<void>> erase(std::vector<KeyRange> ranges);
  /// Submits independent transactions together and resumes once, with all their outcomes.
  Task<std::vector<Result<void>>> transact_all(std::vector<TransactionBody> bodies, const FailStep* step = nullptr);
};

}  // namespace tidemark::kv
