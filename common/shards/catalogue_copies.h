// Copies of the catalogue's rows on every shard (docs/scale.md, "The catalogue"). The first shard is the catalogue: it
// has the row of a name, such as a table or a container. A transaction on another shard cannot read that row, so it
// reads its shard's copy, which has the parts of the row that writers must know. On the first shard, transactions read
// the row itself, so a store of one shard has no copies.
//
// A copy is made when a shard first needs it. A change of a row that writers must notice is made in steps:
//   1. on the catalogue, in one transaction: the mark, which describes the change, under a version that is higher than
//      any that this name had;
//   2. on every other shard, side by side: the copy, with the store's own changes there;
//   3. on the catalogue: the same for the first shard, with the row itself; this ends the change.
// Each step may be repeated. If a process dies in between, the mark stays, and the next process continues from it.
// Changes of a name take turns within the process that serves the catalogue. With one shard the whole change is one
// transaction, and there is no mark.
//
// Where processes share the shards (peers.h), each process changes the copies on its own shards: step 2 asks it
// to, and it reads the change from the catalogue. So it does not matter how often it is asked, or how late.
//   mark   key: a byte of the store, text(account) text(name), on the first shard
//   copy   the same key, on every other shard
//
// Thread safe; coroutines resume on the caller's executor.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/kv/check.h"
#include "common/shards/owner_calls.h"
#include "common/shards/shards.h"

namespace tidemark::shards {

class CatalogueCopies {
 public:
  struct Copy {
    std::uint64_t version = 0;
    std::string payload;  // for the store
    bool operator==(const Copy&) const = default;
  };
  struct Change {
    std::uint64_t version = 0;
    std::optional<std::string> payload;  // of the copies; nothing: the row is erased, and its copies with it
    std::string what;                    // for the store, which receives it in each step
    bool operator==(const Change&) const = default;
  };

  /// The store's knowledge of its rows. These functions are also called to finish a change that another caller began,
  /// so they depend on their arguments alone. Transactions may run again; see TransactionBody.
  class Rows {
   public:
    virtual ~Rows() = default;
    /// Returns the present copy of the catalogue's row; nothing if there is no such row.
    [[nodiscard]] virtual Result<std::optional<Copy>> read(const kv::Reader& catalogue, std::string_view account,
                                                           std::string_view name) const = 0;
    /// Runs in the transaction that puts or erases this shard's copy. It may run again after it was done.
    virtual Result<void> change_shard(kv::Transaction&, std::size_t /*shard*/, const std::string& /*account*/,
                                      const std::string& /*name*/, const Change&) const {
      return {};
    }
    /// Changes the row itself, in the last transaction on the catalogue.
    virtual Result<void> change_row(kv::Transaction&, const std::string& account, const std::string& name,
                                    const Change&) const = 0;
    /// Called after this shard was changed because the process that serves the catalogue asked for it.
    virtual void changed_on_request(std::size_t /*shard*/, const Executor& /*executor*/) const {}
    /// Returns an object that is kept while a transaction changes the view of this shard's writers and readers, from
    /// before it is submitted until it is visible.
    [[nodiscard]] virtual std::shared_ptr<void> hold(std::size_t /*shard*/, const std::string& /*account*/,
                                                     const std::string& /*name*/) const {
      return nullptr;
    }
  };

  /// `kind` begins the keys. All arguments must outlive this object.
  CatalogueCopies(const Shards& shards, Clock& clock, char kind, const Rows& rows);

  /// For every shard but the first, which has the row itself. Nothing: there is no copy; call bring(), and look again.
  [[nodiscard]] Result<std::optional<Copy>> find(const kv::Reader& shard, std::string_view account,
                                                 std::string_view name) const;
  /// Puts the copy on a shard of this process, unless a later one is there. False: there is no such row, or it is being
  /// erased.
  Task<Result<bool>> bring(std::size_t shard, std::string account, std::string name) const;

  /// Runs in step 1 and returns the change. Nothing: there is nothing to change, and the transaction's own writes
  /// stand.
  using Begin = std::function<Result<std::optional<Change>>(kv::Transaction& catalogue)>;
  /// Makes a change in all its steps; true if there was one. A change of the name that is under way is finished first.
  /// Only for the process that serves the catalogue, as is finish_all(). `step` names the first step, for crash tests.
  Task<Result<bool>> change(std::string account, std::string name, Begin begin, const FailStep* step = nullptr) const;
  /// Returns the change of the catalogue's row that is under way, if there is one.
  [[nodiscard]] Result<std::optional<Change>> under_way(const kv::Reader& catalogue, std::string_view account,
                                                        std::string_view name) const;
  [[nodiscard]] static Result<bool> is_changing(const kv::Reader& catalogue, char kind, std::string_view account,
                                                std::string_view name);
  /// Step 2 on a shard of this process: makes the change in the catalogue's mark, if there still is one.
  Task<Result<void>> follow_mark(std::size_t shard, std::string account, std::string name) const;
  /// Finishes the name's change if one has been under way for more than a second.
  Task<Result<void>> finish_old(std::string account, std::string name) const;
  /// Finishes all changes that an earlier process left. Call it at start, or when the catalogue has come to this
  /// process.
  Task<Result<void>> finish_all() const;
  /// This process does not serve the shard any more, so copies there must not be made from its earlier reads of the
  /// catalogue.
  void lost(std::size_t shard) const;

  /// Checks that each copy agrees with the catalogue. Rows that changed in the catalogue between the two views of it,
  /// which enclose those of the shards, are not judged.
  struct Views {
    const kv::Reader& catalogue_before;
    std::span<const std::shared_ptr<const kv::Reader>> shards;
    const kv::Reader& catalogue_after;
  };
  static Result<void> check(const Views& views, char kind, const Rows& rows, kv::CheckRun& run);

 private:
  struct Name;
  class Turn;
  enum class Brought : std::uint8_t { kYes, kNoRow, kAgain };

  Task<Result<bool>> change_at_once(Name name, Begin begin, const FailStep* step) const;
  /// Step 1. Nothing: there is nothing to change.
  Task<Result<std::optional<Change>>> mark(const Name& name, Begin begin, const FailStep* step) const;
  /// Steps 2 and 3 of the change in the mark.
  Task<Result<void>> finish_marked(const Name& name) const;
  Task<Result<void>> finish(const Name& name, Change change) const;
  /// Step 2: change_copies() if all shards are in this process, otherwise by the owners of the shards.
  Task<Result<void>> change_copies(const Name& name, const Change& change) const;
  Task<Result<void>> have_copies_changed(const Name& name) const;
  Result<void> change_copy(kv::Transaction& txn, std::size_t shard, const Name& name, const Change& change) const;
  Task<Result<Brought>> try_to_bring(std::size_t shard, const Name& name) const;
  Task<Result<Turn>> take_turn(const Name& name) const;

  /// Counts the changes of copies on a shard; some names share a counter. A copy is made from an earlier read of the
  /// catalogue: if the counter has changed meanwhile, the catalogue is read again.
  using Changes = std::atomic<std::uint64_t>;
  static constexpr std::size_t kChangesOfShard = 64;
  [[nodiscard]] Changes& changes(std::size_t shard, const Name& name) const;

  const Shards& shards_;
  Clock& clock_;
  const char kind_;
  const Rows& rows_;
  std::unique_ptr<Changes[]> changes_;
  mutable Mutex mutex_;
  mutable std::set<std::string> changing_ GUARDED_BY(mutex_);  // the keys whose turn it is
  mutable Signal turn_over_;
};

/// The functions that carry out the calls of owner_calls.h for a service with copies of a catalogue.
template <class Service>
Task<Result<void>> follow_mark(Service& service, calls::FollowMark call) {
  return service.catalogue_copies().follow_mark(call.shard, std::move(call.account), std::move(call.name));
}
template <class Service>
Task<Result<void>> finish_change(Service& service, calls::FinishChange call) {
  return service.catalogue_copies().finish_old(std::move(call.account), std::move(call.name));
}

}  // namespace tidemark::shards
