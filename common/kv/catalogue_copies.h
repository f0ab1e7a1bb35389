// Copies of the catalogue's rows on every shard (docs/scale.md, "The catalogue"). The first shard is the catalogue: it
// has the row of a name, such as a table or a container. A transaction on another shard cannot read that, so it reads
// its shard's copy, which has of the row what writers must know. On the first shard they read the row itself, so a
// store of one shard has no copies.
//
// A copy is made when a shard first needs it. A row that changes in a way that writers must notice changes in steps:
//   1. on the catalogue, in one transaction: the mark, which says what changes, under a version that is higher than any
//      that this name had;
//   2. on every other shard, side by side: the copy, with what the store does there;
//   3. on the catalogue: the same for the first shard, with the row itself; and the change is over.
// Each step may be repeated. A process that dies in between leaves the mark, and whoever comes next goes on from there.
// Changes of a name take turns within the process that serves the catalogue. With one shard all of it is one
// transaction, and there is no mark.
//
// Where processes share the shards (owner_calls.h), each changes the copies of its own: step 2 asks it to, and it reads
// from the catalogue what is to be done. So it does not matter how often it is asked, or how late.
//   mark   key: a byte of the store's, text(account) text(name), on the first shard
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
#include "common/kv/shards.h"

namespace tidemark::kv {

class CatalogueCopies {
 public:
  struct Copy {
    std::uint64_t version = 0;
    std::string payload;  // the store's
    bool operator==(const Copy&) const = default;
  };
  struct Change {
    std::uint64_t version = 0;
    std::optional<std::string> payload;  // of the copies; nothing: the row goes, and its copies with it
    std::string what;                    // for the store, which gets it in each step
    bool operator==(const Change&) const = default;
  };

  /// What the store knows of its rows. Whoever finishes a change that somebody else began calls these as well, so they
  /// rest on nothing but what they are given. Transactions may run again; see TransactionBody.
  class Rows {
   public:
    virtual ~Rows() = default;
    /// What a copy of the catalogue's row has now; nothing: there is no such row.
    [[nodiscard]] virtual Result<std::optional<Copy>> read(const Reader& catalogue, std::string_view account,
                                                           std::string_view name) const = 0;
    /// A part of the transaction that puts or erases this shard's copy. May be done again after it was done.
    virtual Result<void> change_shard(Transaction&, std::size_t /*shard*/, const std::string& /*account*/,
                                      const std::string& /*name*/, const Change&) const {
      return {};
    }
    /// The row itself, in the last transaction on the catalogue.
    virtual Result<void> change_row(Transaction&, const std::string& account, const std::string& name,
                                    const Change&) const = 0;
    /// This shard was changed because the process that serves the catalogue asked for it.
    virtual void changed_on_request(std::size_t /*shard*/, const Executor& /*executor*/) const {}
    /// Kept while a transaction changes what this shard's writers and readers see, from before it is submitted until it
    /// is visible.
    [[nodiscard]] virtual std::shared_ptr<void> hold(std::size_t /*shard*/, const std::string& /*account*/,
                                                     const std::string& /*name*/) const {
      return nullptr;
    }
  };

  /// `kind` begins the keys. All must outlive it.
  CatalogueCopies(const Shards& shards, Clock& clock, char kind, const Rows& rows);

  /// On every shard but the first, which has the row. Nothing: there is none; bring() it, and look again.
  [[nodiscard]] Result<std::optional<Copy>> find(const Reader& shard, std::string_view account,
                                                 std::string_view name) const;
  /// Puts the copy of a shard of this process, unless a later one is there. False: there is no such row, or it is being
  /// erased.
  Task<Result<bool>> bring(std::size_t shard, std::string account, std::string name) const;

  /// Runs in step 1: says what changes; nothing: there is nothing to do, and what it wrote stands.
  using Begin = std::function<Result<std::optional<Change>>(Transaction& catalogue)>;
  /// Makes a change in all its steps; true if there was one. A change of the name that is under way is finished first.
  /// Of the process that serves the catalogue, as is finish_all().
  /// `step` names the first step, for crash tests.
  Task<Result<bool>> change(std::string account, std::string name, Begin begin, const FailStep* step = nullptr) const;
  /// Whether the catalogue's row is being changed.
  [[nodiscard]] Result<std::optional<Change>> under_way(const Reader& catalogue, std::string_view account,
                                                        std::string_view name) const;
  [[nodiscard]] static Result<bool> is_changing(const Reader& catalogue, char kind, std::string_view account,
                                                std::string_view name);
  /// Finishes the name's change if one has been under way for more than a second.
  Task<Result<void>> finish_old(std::string account, std::string name) const;
  /// Finishes whatever an earlier process left behind. Call it once at start, or when the catalogue has come here.
  Task<Result<void>> finish_all() const;
  /// This process does not serve the shard any more: what it has read of the catalogue is no base for a copy there.
  void lost(std::size_t shard) const;

  /// Whether each copy is what the catalogue says, as far as that said the same before and after the shards were looked
  /// at.
  struct Views {
    const Reader& catalogue_before;
    std::span<const std::shared_ptr<const Reader>> shards;
    const Reader& catalogue_after;
  };
  static Result<void> check(const Views& views, char kind, const Rows& rows, CheckRun& run);

 private:
  struct Name;
  class Turn;
  enum class Brought : std::uint8_t { kYes, kNoRow, kAgain };

  Task<Result<bool>> change_at_once(Name name, Begin begin, const FailStep* step) const;
  /// Step 1. Nothing changed: there is nothing to do.
  Task<Result<std::optional<Change>>> mark(const Name& name, Begin begin, const FailStep* step) const;
  /// Steps 2 and 3 of what the mark says.
  Task<Result<void>> finish_marked(const Name& name) const;
  Task<Result<void>> finish(const Name& name, Change change) const;
  /// Step 2, here or by the owners of the shards.
  Task<Result<void>> change_copies(const Name& name, const Change& change) const;
  Task<Result<void>> have_copies_changed(const Name& name) const;
  /// Step 2 on a shard of this process: what the catalogue's mark says, if there still is one.
  Task<Result<void>> follow_mark(std::size_t shard, Name name) const;
  void offer_steps();
  Result<void> change_copy(Transaction& txn, std::size_t shard, const Name& name, const Change& change) const;
  Task<Result<Brought>> try_to_bring(std::size_t shard, const Name& name) const;
  Task<Result<Turn>> take_turn(const Name& name) const;

  /// How often copies of a shard were changed, those of some names each. What is put there was read from the catalogue
  /// before: if any of them changed meanwhile, it is read again.
  using Changes = std::atomic<std::uint64_t>;
  static constexpr std::size_t kChangesOfShard = 64;
  [[nodiscard]] Changes& changes(std::size_t shard, const Name& name) const;

  const Shards& shards_;
  Clock& clock_;
  const char kind_;
  const Rows& rows_;
  const std::string copy_step_, finish_step_;  // what other processes ask for
  std::unique_ptr<Changes[]> changes_;
  mutable Mutex mutex_;
  mutable std::set<std::string> changing_ GUARDED_BY(mutex_);  // the keys of those whose turn it is
  mutable Signal turn_over_;
};

}  // namespace tidemark::kv
