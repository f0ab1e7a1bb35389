#include "common/shards/catalogue_copies.h"

#include <utility>

#include "common/base/record.h"
#include "common/base/side_by_side.h"
#include "common/kv/key_codec.h"
#include "common/kv/transact_together.h"
#include "common/shards/peers.h"

namespace tidemark::shards {

struct CatalogueCopies::Name {
  std::string account, name;
  std::string key;

  Name(char kind, std::string in_account, std::string named)
      : account(std::move(in_account)), name(std::move(named)), key(kv::key(kind, kv::Text{account}, kv::Text{name})) {}
};

/// While it lives, no other caller changes the name.
class CatalogueCopies::Turn {
 public:
  Turn(const CatalogueCopies& copies, std::string key) : copies_(&copies), key_(std::move(key)) {}
  Turn(Turn&& other) noexcept : copies_(std::exchange(other.copies_, nullptr)), key_(std::move(other.key_)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (copies_ == nullptr) return;
    {
      MutexLock lock(copies_->mutex_);
      copies_->changing_.erase(key_);
    }
    copies_->turn_over_.notify_all();
  }

 private:
  const CatalogueCopies* copies_;
  std::string key_;
};

namespace {

using Copy = CatalogueCopies::Copy;
using Change = CatalogueCopies::Change;

constexpr Duration kOld = std::chrono::seconds(1);
constexpr Duration kTurnPatience = std::chrono::seconds(5);
/// Each retry means that the catalogue has been changed meanwhile.
constexpr int kMostTries = 32;

const FailStep kCopyStep("catalogue.copy");
const FailStep kEndStep("catalogue.end");
const FailStep kBringStep("catalogue.bring");

/// The latest change of a row. The row is still there, or is being erased.
struct Mark {
  Change change;  // once the change is over, only its version stays
  std::optional<Time> since;

  [[nodiscard]] bool under_way() const { return since.has_value(); }
};

constexpr auto kMarkRecord = record_format<Mark>(1, "mark of a change", [](auto& io, auto& mark) {
  io.u64(mark.change.version);
  io.optional(mark.since, [&](auto& since) { io.time(since); });
  io.optional(mark.change.payload, [&](auto& payload) { io.string(payload); });
  io.string(mark.change.what);
});

constexpr auto kCopyRecord = record_format<Copy>(1, "copy of a catalogue row", [](auto& io, auto& copy) {
  io.u64(copy.version);
  io.string(copy.payload);
});

Result<std::optional<Mark>> read_mark(const kv::Reader& catalogue, const std::string& key) {
  const auto bytes = TRY(catalogue.get(key));
  if (!bytes) return std::optional<Mark>();
  return TRY(kMarkRecord.decode(*bytes));
}

Result<std::optional<Mark>> read_under_way(const kv::Reader& catalogue, const std::string& key) {
  auto mark = TRY(read_mark(catalogue, key));
  if (mark && !mark->under_way()) mark.reset();
  return mark;
}

Result<std::optional<Copy>> read_copy(const kv::Reader& shard, const std::string& key) {
  const auto bytes = TRY(shard.get(key));
  if (!bytes) return std::optional<Copy>();
  return TRY(kCopyRecord.decode(*bytes));
}

/// Returns the copy that the row should have while no change is under way: as old as the row, or as its latest change.
Result<std::optional<Copy>> copy_of_row(const kv::Reader& catalogue, const CatalogueCopies::Rows& rows,
                                        std::string_view account, std::string_view name,
                                        const std::optional<Mark>& mark) {
  auto copy = TRY(rows.read(catalogue, account, name));
  if (copy && mark) copy->version = std::max(copy->version, mark->change.version);
  return copy;
}

}  // namespace

CatalogueCopies::CatalogueCopies(const Shards& shards, Clock& clock, char kind, const Rows& rows)
    : shards_(shards),
      clock_(clock),
      kind_(kind),
      rows_(rows),
      changes_(std::make_unique<Changes[]>(shards.all.size() * kChangesOfShard)) {}

CatalogueCopies::Changes& CatalogueCopies::changes(std::size_t shard, const Name& name) const {
  return changes_[shard * kChangesOfShard + std::hash<std::string>()(name.key) % kChangesOfShard];
}

void CatalogueCopies::lost(std::size_t shard) const {
  for (std::size_t i = 0; i < kChangesOfShard; ++i) changes_[shard * kChangesOfShard + i].fetch_add(1);
}

Result<std::optional<Copy>> CatalogueCopies::find(const kv::Reader& shard, std::string_view account,
                                                  std::string_view name) const {
  return read_copy(shard, kv::key(kind_, kv::Text{account}, kv::Text{name}));
}

Result<std::optional<Change>> CatalogueCopies::under_way(const kv::Reader& catalogue, std::string_view account,
                                                         std::string_view name) const {
  auto mark = TRY(read_under_way(catalogue, kv::key(kind_, kv::Text{account}, kv::Text{name})));
  return mark ? std::optional(std::move(mark->change)) : std::nullopt;
}

Result<bool> CatalogueCopies::is_changing(const kv::Reader& catalogue, char kind, std::string_view account,
                                          std::string_view name) {
  return TRY(read_under_way(catalogue, kv::key(kind, kv::Text{account}, kv::Text{name}))).has_value();
}

/// Callers get their turns roughly in the order of asking. A turn lasts long only if the disk does not answer.
Task<Result<CatalogueCopies::Turn>> CatalogueCopies::take_turn(const Name& name) const {
  const auto end = clock_.monotonic() + kTurnPatience;
  for (;;) {
    const auto ticket = turn_over_.ticket();
    {
      MutexLock lock(mutex_);
      if (changing_.insert(name.key).second) co_return Turn(*this, name.key);
    }
    const auto left = end - clock_.monotonic();
    if (left <= Duration::zero()) co_return fail(ErrorCode::kServerBusy);
    co_await turn_over_.wait(ticket, clock_, left);
  }
}

Result<void> CatalogueCopies::change_copy(kv::Transaction& txn, std::size_t shard, const Name& name,
                                          const Change& change) const {
  const auto copy = TRY(read_copy(txn, name.key));
  if (copy && copy->version > change.version) return {};
  if (change.payload) {
    txn.put(name.key, kCopyRecord.encode({change.version, *change.payload}));
  } else {
    txn.erase(name.key);
  }
  return rows_.change_shard(txn, shard, name.account, name.name, change);
}

Task<Result<bool>> CatalogueCopies::bring(std::size_t shard, std::string account, std::string name) const {
  const Name named(kind_, std::move(account), std::move(name));
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto brought = CO_TRY(co_await try_to_bring(shard, named));
    if (brought != Brought::kAgain) co_return brought == Brought::kYes;
  }
  co_return fail(ErrorCode::kServerBusy);
}

Task<Result<CatalogueCopies::Brought>> CatalogueCopies::try_to_bring(std::size_t shard, const Name& name) const {
  CO_TRY(co_await finish_old(name.account, name.name));
  auto& changes = this->changes(shard, name);
  const auto seen = changes.load();
  const auto catalogue = shards_.catalogue().engine.snapshot();
  const auto mark = CO_TRY(read_mark(*catalogue, name.key));
  const bool changing = mark && mark->under_way();
  std::optional<Copy> copy;
  if (!changing) copy = CO_TRY(copy_of_row(*catalogue, rows_, name.account, name.name, mark));
  if (changing ? !mark->change.payload : !copy) co_return Brought::kNoRow;
  bool overtaken = false;
  const auto held = changing ? rows_.hold(shard, name.account, name.name) : nullptr;
  CO_TRY(co_await shards_.all[shard].engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        overtaken = changes.load() != seen;
        if (overtaken) return {};
        if (changing) return change_copy(txn, shard, name, mark->change);
        const auto there = TRY(read_copy(txn, name.key));
        if (!there || there->version < copy->version) txn.put(name.key, kCopyRecord.encode(*copy));
        return {};
      },
      &kBringStep));
  co_return overtaken ? Brought::kAgain : Brought::kYes;
}

Task<Result<bool>> CatalogueCopies::change(std::string account, std::string name, Begin begin,
                                           const FailStep* step) const {
  const Name named(kind_, std::move(account), std::move(name));
  if (shards_.all.size() == 1) co_return co_await change_at_once(named, std::move(begin), step);
  const auto turn = CO_TRY(co_await take_turn(named));
  CO_TRY(co_await finish_marked(named));
  auto change = CO_TRY(co_await mark(named, std::move(begin), step));
  if (!change) co_return false;
  CO_TRY(co_await finish(named, std::move(*change)));
  co_return true;
}

Task<Result<bool>> CatalogueCopies::change_at_once(Name name, Begin begin, const FailStep* step) const {
  bool changed = false;
  const auto held = rows_.hold(0, name.account, name.name);
  CO_TRY(co_await shards_.catalogue().engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        changed = false;
        const auto change = TRY(begin(txn));
        if (!change) return {};
        changed = true;
        TRY(rows_.change_shard(txn, 0, name.account, name.name, *change));
        return rows_.change_row(txn, name.account, name.name, *change);
      },
      step));
  co_return changed;
}

Task<Result<std::optional<Change>>> CatalogueCopies::mark(const Name& name, Begin begin, const FailStep* step) const {
  std::optional<Change> change;
  const auto now = clock_.now();
  CO_TRY(co_await shards_.catalogue().engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        change = TRY(begin(txn));
        if (change) txn.put(name.key, kMarkRecord.encode({*change, now}));
        return {};
      },
      step));
  co_return change;
}

Task<Result<void>> CatalogueCopies::finish(const Name& name, Change change) const {
  if (shards_.peers == nullptr) {
    CO_TRY(co_await change_copies(name, change));
  } else {
    CO_TRY(co_await have_copies_changed(name));
  }
  const auto held_here = rows_.hold(0, name.account, name.name);
  co_return co_await shards_.catalogue().engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        const auto mark = TRY(read_under_way(txn, name.key));
        // Another process that served the catalogue meanwhile has finished the change.
        if (!mark || mark->change.version != change.version) return {};
        TRY(rows_.change_shard(txn, 0, name.account, name.name, change));
        TRY(rows_.change_row(txn, name.account, name.name, change));
        if (change.payload) {
          txn.put(name.key, kMarkRecord.encode({{change.version, std::nullopt, ""}, std::nullopt}));
        } else {
          txn.erase(name.key);
        }
        return {};
      },
      &kEndStep);
}

Task<Result<void>> CatalogueCopies::change_copies(const Name& name, const Change& change) const {
  std::vector<kv::Submission> all;
  std::vector<std::shared_ptr<void>> held;
  for (std::size_t shard = 1; shard < shards_.all.size(); ++shard) {
    held.push_back(rows_.hold(shard, name.account, name.name));
    all.push_back({&shards_.all[shard].engine, [this, shard, &name, &change](kv::Transaction& txn) {
                     changes(shard, name).fetch_add(1);
                     return change_copy(txn, shard, name, change);
                   }});
  }
  for (auto& outcome : co_await kv::transact_together(std::move(all), &kCopyStep)) CO_TRY(std::move(outcome));
  co_return Result<void>{};
}

Task<Result<void>> CatalogueCopies::have_copies_changed(const Name& name) const {
  const auto others = shards_.all.size() - 1;
  const auto follow = [this](calls::FollowMark here) {
    return follow_mark(here.shard, std::move(here.account), std::move(here.name));
  };
  const Step ask = [&](std::size_t number) {
    const auto shard = number + 1;
    return carry_out(shards_.peers, {.shard = shard}, calls::FollowMark{shard, name.account, name.name}, follow);
  };
  co_return co_await side_by_side(clock_, others, ask, others);
}

Task<Result<void>> CatalogueCopies::follow_mark(std::size_t shard, std::string account, std::string named) const {
  const Name name(kind_, std::move(account), std::move(named));
  auto& changes = this->changes(shard, name);
  for (int tries = 0; tries < kMostTries; ++tries) {
    auto seen = changes.load();
    const auto mark = CO_TRY(read_under_way(*shards_.catalogue().engine.snapshot(), name.key));
    if (!mark) co_return Result<void>{};
    bool overtaken = false;
    {
      const auto held = rows_.hold(shard, name.account, name.name);
      CO_TRY(co_await shards_.all[shard].engine.transact(
          [&](kv::Transaction& txn) -> Result<void> {
            overtaken = changes.load() != seen;
            if (overtaken) return {};
            seen = changes.fetch_add(1) + 1;  // in case this body runs again
            return change_copy(txn, shard, name, mark->change);
          },
          &kCopyStep));
    }
    if (overtaken) continue;
    rows_.changed_on_request(shard, co_await asio::this_coro::executor);
    co_return Result<void>{};
  }
  co_return fail(ErrorCode::kServerBusy);
}

Task<Result<void>> CatalogueCopies::finish_marked(const Name& name) const {
  auto left = CO_TRY(read_under_way(*shards_.catalogue().engine.snapshot(), name.key));
  if (!left) co_return Result<void>{};
  co_return co_await finish(name, std::move(left->change));
}

Task<Result<void>> CatalogueCopies::finish_old(std::string account, std::string name) const {
  if (shards_.all.size() == 1) co_return Result<void>{};
  const Name named(kind_, std::move(account), std::move(name));
  const auto left = CO_TRY(read_under_way(*shards_.catalogue().engine.snapshot(), named.key));
  const auto now = clock_.now();
  if (!left || (now >= *left->since && now - *left->since <= kOld)) co_return Result<void>{};
  if (shards_.peers != nullptr && !shards_.peers->here(0)) {
    co_return co_await carry_out(
        shards_.peers, {.shard = 0}, calls::FinishChange{named.account, named.name},
        [this](calls::FinishChange here) { return finish_old(std::move(here.account), std::move(here.name)); });
  }
  const auto turn = CO_TRY(co_await take_turn(named));
  co_return co_await finish_marked(named);
}

Task<Result<void>> CatalogueCopies::finish_all() const {
  if (shards_.all.size() == 1) co_return Result<void>{};
  std::vector<Name> left;
  {
    const auto catalogue = shards_.catalogue().engine.snapshot();
    const auto marks = catalogue->scan(kv::under(kv::key(kind_)));
    for (; marks->valid(); marks->next()) {
      if (!CO_TRY(kMarkRecord.decode(marks->value())).under_way()) continue;
      auto rest = marks->key().substr(1);
      auto account = kv::take_text(rest);
      auto name = kv::take_text(rest);
      if (!account || !name) co_return corrupt_record("mark of a change");
      left.emplace_back(kind_, std::move(*account), std::move(*name));
    }
    CO_TRY(marks->status());
  }
  for (const auto& name : left) {
    const auto turn = CO_TRY(co_await take_turn(name));
    CO_TRY(co_await finish_marked(name));
  }
  co_return Result<void>{};
}

Result<void> CatalogueCopies::check(const Views& views, char kind, const Rows& rows, kv::CheckRun& run) {
  const auto wanted = [&](const kv::Reader& catalogue, std::string_view account,
                          std::string_view name) -> Result<std::pair<std::optional<Copy>, bool>> {
    const auto mark = TRY(read_mark(catalogue, kv::key(kind, kv::Text{account}, kv::Text{name})));
    return std::pair(TRY(copy_of_row(catalogue, rows, account, name, mark)), mark && mark->under_way());
  };
  for (std::size_t shard = 1; shard < views.shards.size(); ++shard) {
    const auto look = [&](auto found, auto value) -> Result<void> {
      auto rest = found.substr(1);
      const auto account = kv::take_text(rest);
      const auto name = kv::take_text(rest);
      const auto copy = kCopyRecord.decode(value);
      if (!account || !name || !rest.empty() || !copy) {
        run.found("record", kv::row_name(found), "the copy of a row of the catalogue cannot be read");
        return {};
      }
      const auto before = TRY(wanted(views.catalogue_before, *account, *name));
      const auto after = TRY(wanted(views.catalogue_after, *account, *name));
      if (before != after || before.second || before.first == *copy) return {};
      run.found("reference", kv::row_name(found), "is a copy of what the catalogue does not say");
      return {};
    };
    const auto kinds = kv::key(kind);
    TRY(check_rows(*views.shards[shard], kv::under(kinds), run, look, kv::row_name(kinds)));
  }
  return {};
}

}  // namespace tidemark::shards
