#include "common/postgres/postgres_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "common/base/log.h"

namespace tidemark::kv::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kErasedAtOnce = 2000;
constexpr int kMostTries = 5;
constexpr milliseconds kFirstPause{20}, kLongestPause{1000};
constexpr milliseconds kPatienceOfRelease{2'000};
/// A process that takes over waits for the lease and this fraction of it more, since the clocks of two machines differ.
constexpr int kMarginOfLease = 6;
/// An owner may be killed, and its last commit arrive, after the watch began.
constexpr int kMostWatches = 2;

const Prepared kMakeOwner{"make_owner", R"(INSERT INTO owners (shard, epoch, owner, place)
  VALUES ($1::bigint, 0, '', '') ON CONFLICT (shard) DO NOTHING)"};
const Prepared kReadOwner{"read_owner",
                          R"(SELECT epoch, renewals, lease_ms, (place <> '' AND place = $2::text)::int::bigint, owner
  FROM owners WHERE shard = $1::bigint)"};
// Claims the shard if its row is unchanged since it was read, so its owner has not renewed its lease since.
const Prepared kClaim{"claim", R"(UPDATE owners
  SET epoch = epoch + 1, owner = $2::text, place = $3::text, lease_ms = $4::bigint, claimed_at = now()
  WHERE shard = $1::bigint AND epoch = $5::bigint AND renewals = $6::bigint RETURNING epoch)"};
const Prepared kRenew{"renew",
                      R"(UPDATE owners SET renewals = renewals + 1 WHERE shard = $1::bigint AND epoch = $2::bigint
  RETURNING 1::bigint)"};
const Prepared kRelease{"release", "UPDATE owners SET lease_ms = 0 WHERE shard = $1::bigint AND epoch = $2::bigint"};
const Prepared kClaimAgain{"claim_again", R"(UPDATE owners SET epoch = epoch + 1, claimed_at = now()
  WHERE shard = $1::bigint AND owner = $2::text RETURNING epoch)"};
// A separate statement after the claim: the claim waits for a commit that is under way, but does not see its rows.
const Prepared kLastGroup{"last_group",
                          "SELECT number FROM groups WHERE shard = $1::bigint ORDER BY number DESC LIMIT 1"};
const Prepared kFindRewritten{"find_rewritten",
                              "SELECT key, written_by FROM entries WHERE shard = $1::bigint AND written_by <> 0"};
/// Removes rows whose number is below that of their key: the database went back in time once, and its owner did not
/// know these rows. The first number of a key is looked up by the whole primary key, as below.
const Prepared kMend{"mend", R"(WITH fence AS (
    SELECT shard FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint FOR SHARE),
  older AS (SELECT below.at FROM unnest($3::bytea[], string_to_array($4::text, ',')::bigint[]) AS these (key, written_by),
    LATERAL (SELECT found.ctid AS at FROM entries AS found WHERE found.shard = (SELECT shard FROM fence)
      AND found.key = these.key AND found.written_by < these.written_by OFFSET 0) AS below)
  DELETE FROM entries WHERE ctid = ANY (ARRAY(SELECT at FROM older)) RETURNING written_by)"};
const Prepared kCheck{"check", "SELECT 1::bigint FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint"};

/// Selects rows by their numbers (rewritten_rows.h), which are in two parameters. Each row is looked up by the whole
/// primary key, even if the planner believes that the table is empty, or was empty when it planned.
std::string these(std::string_view keys, std::string_view numbers) {
  return fmt::format(R"(ctid = ANY (ARRAY(SELECT (SELECT found.ctid FROM entries AS found
      WHERE found.shard = (SELECT shard FROM fence) AND found.key = these.key AND found.written_by = these.written_by)
    FROM unnest({}::bytea[], string_to_array({}::text, ',')::bigint[]) AS these (key, written_by))))",
                     keys, numbers);
}

/// One statement, so that it is one transaction and one round trip. If the epoch is another one, there is no fence, and
/// nothing is written. As a rule the owner's row is only locked, because it would grow a version with each group.
std::string commit(std::string_view fence) {
  return fmt::format(R"(WITH fence AS MATERIALIZED ({}),
  gone AS (DELETE FROM entries WHERE {}),
  written AS (INSERT INTO entries (shard, key, written_by, value)
    SELECT fence.shard, put.key, put.written_by, put.value
    FROM fence, unnest($7::bytea[], string_to_array($8::text, ',')::bigint[], $9::bytea[]) AS put (key, written_by, value)
    ON CONFLICT (shard, key, written_by) DO UPDATE SET value = excluded.value),
  before AS (DELETE FROM groups WHERE shard = (SELECT shard FROM fence) AND number = $4::bigint),
  this AS (INSERT INTO groups (shard, number) SELECT shard, $3::bigint FROM fence)
  SELECT count(*) FROM fence)",
                     fence, these("$5", "$6"));
}

std::string calm() {
  return fmt::format(R"(WITH fence AS (
    SELECT shard FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint FOR SHARE),
  calm AS (UPDATE entries SET written_by = 0 WHERE {}) SELECT count(*) FROM fence)",
                     these("$3", "$4"));
}

std::string fetch_range(std::string_view range, std::string_view order) {
  return fmt::format("SELECT key, value FROM entries WHERE shard = $1::bigint AND {} ORDER BY key {} LIMIT $2::bigint",
                     range, order);
}

std::string erase_where(std::string_view range) {
  return fmt::format(R"(WITH fence AS (
    SELECT shard FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint FOR SHARE),
  doomed AS (SELECT key FROM entries WHERE shard = $1::bigint AND {} ORDER BY key LIMIT $3::bigint),
  gone AS (DELETE FROM entries
    WHERE shard = (SELECT shard FROM fence) AND key = ANY (ARRAY(SELECT key FROM doomed)))
  SELECT (SELECT count(*) FROM fence), (SELECT count(*) FROM doomed),
    (SELECT key FROM doomed ORDER BY key DESC LIMIT 1))",
                     range);
}

constexpr std::string_view kBetween = "key >= $3::bytea AND key < $4::bytea", kFrom = "key >= $3::bytea";

const Prepared kCommit{
    "commit", commit("SELECT shard FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint FOR NO KEY UPDATE")};
const Prepared kCommitAndRenew{
    "commit_and_renew",
    commit(
        "UPDATE owners SET renewals = renewals + 1 WHERE shard = $1::bigint AND epoch = $2::bigint RETURNING shard")};
const Prepared kCalm{"calm", calm()};
const Prepared kFetchKeys{"fetch_keys",
                          "SELECT key, value FROM entries WHERE shard = $1::bigint AND key = ANY ($2::bytea[])"};
const Prepared kRange{"range", fetch_range(kBetween, "ASC")};
const Prepared kRangeToEnd{"range_to_end", fetch_range(kFrom, "ASC")};
const Prepared kReverse{"reverse", fetch_range(kBetween, "DESC")};
const Prepared kReverseFromEnd{"reverse_from_end", fetch_range(kFrom, "DESC")};
const Prepared kErase{"erase", erase_where("key >= $4::bytea AND key < $5::bytea")};
const Prepared kEraseToEnd{"erase_to_end", erase_where("key >= $4::bytea")};

/// Keys and numbers of rows, as two parameters.
class Numbered {
 public:
  void add(std::string_view key, std::int64_t number) {
    keys_.emplace_back(key);
    if (!numbers_.empty()) numbers_ += ',';
    numbers_ += std::to_string(number);
  }
  void add_to(Parameters& parameters) const { parameters.list(keys_).bytes(numbers_); }

 private:
  std::vector<std::optional<std::string_view>> keys_;
  std::string numbers_;
};

bool may_pass(const std::string& sqlstate) { return sqlstate == "40001" || sqlstate == "40P01"; }

Error refusal(Error error, const std::string& sqlstate) {
  constexpr std::string_view kDiskFull = "53100";
  if (sqlstate == kDiskFull) error = error_for_log(ErrorCode::kInsufficientStorage, std::move(error.detail));
  return error;
}

}  // namespace

Statement range_statement(std::int64_t shard, const KeyRange& range, Direction direction, std::size_t limit) {
  auto parameters = Parameters().number(shard).number(static_cast<std::int64_t>(limit)).bytes(range.lower);
  if (!range.upper.empty()) parameters.bytes(range.upper);
  const auto& bounded = direction == Direction::kForward ? kRange : kReverse;
  const auto& unbounded = direction == Direction::kForward ? kRangeToEnd : kReverseFromEnd;
  return {range.upper.empty() ? unbounded : bounded, std::move(parameters)};
}

Result<OwnedShard> OwnedShard::claim(const PostgresOptions& options) {
  const auto claim = [&]() -> Result<OwnedShard> {
    OwnedShard shard(options, TRY(connect(options)));
    TRY(shard.connection_->run({kMakeOwner, Parameters().number(options.shard)}, kSetupPatience));
    TRY(shard.take());
    TRY(shard.find_rewritten());
    return shard;
  };
  auto claimed = claim();
  if (!claimed) return fail(at_start(std::move(claimed.error())));
  return claimed;
}

Result<OwnedShard> OwnedShard::claim_seen(const PostgresOptions& options) {
  OwnedShard shard(options, TRY(connect(options)));
  if (!TRY(shard.try_to_take(options.seen.value_or(shards::SeenOwner{})))) {
    return fail(make_error(ErrorCode::kServerBusy, "Another process has claimed this part of the store."));
  }
  TRY(shard.find_rewritten());
  return shard;
}

/// Watches the row until its owner has let go, has ended in this place, or cannot have a lease any more.
Result<void> OwnedShard::take() {
  const auto& o = *options_;
  for (int watched = 0;;) {
    const auto seen = TRY(connection_->run({kReadOwner, Parameters().number(o.shard).bytes(o.place)}, kSetupPatience));
    const milliseconds lease(seen.number(0, 2));
    const bool wait = lease.count() > 0 && seen.number(0, 3) == 0;
    if (wait && ++watched > kMostWatches) {
      return fail(
          make_error(ErrorCode::kConfigInvalid, "the rows are in use by " + std::string(seen.bytes(0, 4)) +
                                                    ", which still runs: stop it first, or name another database"));
    }
    if (wait) {
      log_info("waits for the end of a lease owner={} lease_ms={}", seen.bytes(0, 4), lease.count());
      std::this_thread::sleep_for(lease + lease / kMarginOfLease);
    }
    if (TRY(try_to_take({seen.number(0, 0), seen.number(0, 1)}))) return {};
  }
}

/// Returns false if the row has been changed.
Result<bool> OwnedShard::try_to_take(const shards::SeenOwner& seen) {
  const auto& o = *options_;
  auto parameters = Parameters().number(o.shard).bytes(o.owner).bytes(o.place).number(o.lease.count());
  parameters.number(seen.epoch).number(seen.renewals);
  return claim_by(*connection_, {kClaim, std::move(parameters)}, kSetupPatience);
}

/// Returns false if the statement claims nothing.
Result<bool> OwnedShard::claim_by(Connection& connection, Statement claim, Connection::Patience patience) {
  const auto sent = lease_clock();
  const Statement both[] = {std::move(claim), {kLastGroup, Parameters().number(options_->shard)}};
  const auto done = TRY(connection.run(both, patience));
  if (done[0].size() == 0) return false;
  shared_->epoch = done[0].number(0, 0);
  last_group_ = done[1].size() > 0 ? done[1].number(0, 0) : 0;
  extend(sent);
  return true;
}

Result<void> OwnedShard::find_rewritten() {
  const auto found = TRY(connection_->run({kFindRewritten, Parameters().number(options_->shard)}, kSetupPatience));
  RewrittenRows::Groups groups;
  for (std::size_t row = 0; row < found.size(); ++row) {
    auto& newest = groups[std::string(found.bytes(row, 0))];
    newest = std::max(newest, found.number(row, 1));
  }
  TRY(remove_older_than(groups));
  rewritten_ = RewrittenRows(std::move(groups));
  return {};
}

/// Makes sure that each key has one row.
Result<void> OwnedShard::remove_older_than(const RewrittenRows::Groups& newest) {
  if (newest.empty()) return {};
  Numbered rows;
  for (const auto& [key, written_by] : newest) rows.add(key, written_by);
  auto parameters = Parameters().number(options_->shard).number(shared_->epoch);
  rows.add_to(parameters);
  const auto removed = TRY(connection_->run({kMend, std::move(parameters)}, kSetupPatience));
  if (removed.size() > 0) {
    log_error("keys had several rows, because the database went back in time once: the newest stay shard={} removed={}",
              options_->shard, removed.size());
  }
  return {};
}

void OwnedShard::extend(std::chrono::nanoseconds sent) {
  const auto ends = (sent + options_->lease).count();
  auto before = shared_->lease_ends_ns.load();
  while (before < ends && !shared_->lease_ends_ns.compare_exchange_weak(before, ends)) {
  }
}

void OwnedShard::renewed(std::int64_t epoch, std::chrono::nanoseconds sent) {
  if (epoch == shared_->epoch) extend(sent);
}

bool OwnedShard::sure() const { return !shared_->over && lease_clock().count() < shared_->lease_ends_ns; }

void OwnedShard::release() {
  if (shared_->fenced || unknown_ || connection_->lost() || options_->lease.count() == 0) return;
  const Statement release{kRelease, Parameters().number(options_->shard).number(shared_->epoch)};
  if (const auto done = connection_->run(release, kPatienceOfRelease); !done) {
    log_warning("the next owner has to wait for the lease reason=\"{}\"", done.error().detail);
  }
}

Error OwnedShard::taken_over() {
  shared_->fenced = true;
  shared_->over = true;
  return make_error(ErrorCode::kServerBusy, "Another process has taken this part of the store over.");
}

/// The known rows are those of groups that the database has lost. Only opening the shard anew shows the present rows.
Error OwnedShard::gone_back(std::int64_t known_group) {
  unknown_ = true;
  shared_->over = true;
  return error_for_log(ErrorCode::kStorageFailure, "the database went back in time: it had acknowledged group " +
                                                       std::to_string(known_group) + ", and its last one is " +
                                                       std::to_string(last_group_));
}

/// A failure is final if `over` is set then. Otherwise the lost connection stays, and the next attempt claims again.
Result<void> OwnedShard::try_to_claim_again() {
  auto connection = TRY(connect(*options_));
  const auto known_group = last_group_;
  const bool claimed =
      TRY(claim_by(*connection, {kClaimAgain, Parameters().number(options_->shard).bytes(options_->owner)},
                   options_->settle_patience));
  connection_ = std::move(connection);
  if (!claimed) return fail(taken_over());
  if (last_group_ < known_group) return fail(gone_back(known_group));
  return {};
}

Result<void> OwnedShard::claim_again() {
  const auto give_up = steady_clock::now() + options_->settle_patience;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto claimed = try_to_claim_again();
    shared_->away = !claimed && !shared_->over;
    if (!shared_->away) return claimed;
    if (steady_clock::now() + pause >= give_up) {
      unknown_ = true;
      shared_->over = true;
      return fail(error_for_log(ErrorCode::kOperationTimedOut, claimed.error().detail));
    }
    log_warning("the database cannot be reached reason=\"{}\"", claimed.error().detail);
    std::this_thread::sleep_for(pause);
  }
}

Result<void> OwnedShard::commit(const WriteOverlay& writes) {
  const auto group = last_group_ + 1;
  TRY(let_calm_down(group));
  const auto plan = rewritten_.plan(writes, group);
  TRY(commit(plan, group));
  rewritten_.committed(plan);
  return {};
}

Result<void> OwnedShard::commit(const RewrittenRows::Plan& plan, std::int64_t group) {
  Numbered gone, put;
  std::vector<std::optional<std::string_view>> values;
  for (const auto& row : plan.removed) gone.add(row.key, row.group);
  for (const auto& [row, value] : plan.put) {
    put.add(row.key, row.group);
    values.emplace_back(value);
  }
  for (int tries = 1;; ++tries) {
    auto parameters = Parameters().number(options_->shard).number(shared_->epoch).number(group).number(group - 1);
    gone.add_to(parameters);
    put.add_to(parameters);
    parameters.list(values);
    const bool renews = options_->lease.count() > 0 && due_for_renewal();
    const auto sent = lease_clock();
    const auto done =
        connection_->run({renews ? kCommitAndRenew : kCommit, std::move(parameters)}, options_->answer_patience);
    if (done) {
      if (done->number(0, 0) == 0) return fail(taken_over());
      last_group_ = group;
      if (renews) extend(sent);
      return {};
    }
    if (!connection_->lost()) {
      if (may_pass(connection_->sqlstate()) && tries < kMostTries) continue;
      return fail(refusal(done.error(), connection_->sqlstate()));
    }
    log_warning("a connection was lost while it committed reason=\"{}\"", done.error().detail);
    TRY(claim_again());
    ++settled_;
    if (last_group_ == group) return {};
  }
}

/// Makes room for other rows that are rewritten.
Result<void> OwnedShard::let_calm_down(std::int64_t group) {
  const auto calm = rewritten_.calm(group);
  if (calm.empty()) return {};
  Numbered rows;
  for (const auto& [key, written_by] : calm) rows.add(key, written_by);
  for (;;) {
    auto parameters = Parameters().number(options_->shard).number(shared_->epoch);
    rows.add_to(parameters);
    const auto done = connection_->run({kCalm, std::move(parameters)}, options_->answer_patience);
    if (done && done->number(0, 0) == 0) return fail(taken_over());
    if (done) break;
    if (!connection_->lost()) return fail(refusal(done.error(), connection_->sqlstate()));
    TRY(claim_again());
  }
  rewritten_.calmed(calm);
  return {};
}

bool OwnedShard::due_for_renewal() const {
  // The thread that renews leases for all shards gets some time for it.
  const auto left = options_->renewed_elsewhere ? options_->lease / 2 : options_->lease * 2 / 3;
  return (lease_clock() + left).count() >= shared_->lease_ends_ns;
}

/// Takes one round trip.
Result<void> OwnedShard::ask_whether_owned(Connection::Patience patience) {
  const auto& statement = options_->lease.count() > 0 ? kRenew : kCheck;
  const auto sent = lease_clock();
  const auto checked =
      connection_->run({statement, Parameters().number(options_->shard).number(shared_->epoch)}, patience);
  if (!checked) return fail(checked.error());
  if (checked->size() == 0) return fail(taken_over());
  extend(sent);
  return {};
}

Result<void> OwnedShard::check() {
  for (;;) {
    if (!due_for_renewal()) return {};
    auto asked = ask_whether_owned(options_->answer_patience);
    if (!connection_->lost()) return asked;
    TRY(claim_again());
  }
}

Result<void> OwnedShard::look() {
  if (!connection_->lost()) {
    auto asked = ask_whether_owned(options_->read_patience);
    if (!connection_->lost()) return asked;
  }
  auto claimed = try_to_claim_again();
  const bool away = !claimed && !shared_->over;
  if (shared_->away != away) {
    shared_->away = away;
    if (!away) log_info("the database can be reached again");
    if (away) log_error("the database cannot be reached reason=\"{}\"", claimed.error().detail);
  }
  return claimed;
}

Result<Fetched> OwnedShard::fetch(const KnownRows::Missing& missing) {
  std::vector<std::optional<std::string_view>> keys(missing.keys.begin(), missing.keys.end());
  std::vector<Statement> statements;
  statements.push_back({kFetchKeys, Parameters().number(options_->shard).list(keys)});
  for (const auto& [range, direction, limit] : missing.ranges) {
    statements.push_back(range_statement(options_->shard, range, direction, limit));
  }
  for (;;) {
    auto fetched = connection_->run(statements, options_->answer_patience);
    if (fetched) return Fetched{std::move(*fetched)};
    if (!connection_->lost()) return fail(fetched.error());
    TRY(claim_again());
  }
}

void Fetched::learn(const KnownRows::Missing& missing, KnownRows& known) const {
  for (const auto& key : missing.keys) known.learn(key, std::nullopt);
  const auto& found = rows.front();
  for (std::size_t row = 0; row < found.size(); ++row) {
    known.learn(found.bytes(row, 0), std::string(found.bytes(row, 1)));
  }
  for (std::size_t i = 0; i < missing.ranges.size(); ++i) {
    const auto& of_range = rows[i + 1];
    KnownRows::Rows walked;
    for (std::size_t row = 0; row < of_range.size(); ++row) {
      walked.emplace_back(of_range.bytes(row, 0), of_range.bytes(row, 1));
    }
    known.learn(missing.ranges[i], walked);
  }
}

Result<bool> OwnedShard::erase_some(KeyRange& range) {
  for (;;) {
    auto parameters =
        Parameters().number(options_->shard).number(shared_->epoch).number(kErasedAtOnce).bytes(range.lower);
    if (!range.upper.empty()) parameters.bytes(range.upper);
    const auto erased = connection_->run({range.upper.empty() ? kEraseToEnd : kErase, std::move(parameters)},
                                         options_->answer_patience);
    if (erased) {
      if (erased->number(0, 0) == 0) return fail(taken_over());
      const bool more = erased->number(0, 1) == kErasedAtOnce;
      if (more) range.lower = erased->bytes(0, 2);
      return more;
    }
    if (!connection_->lost()) return fail(erased.error());
    TRY(claim_again());
  }
}

}  // namespace tidemark::kv::detail
