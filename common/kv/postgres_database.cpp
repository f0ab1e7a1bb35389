#include "common/kv/postgres_database.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>

namespace tidemark::kv::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kErasedAtOnce = 2000;
constexpr int kMostTries = 5;
constexpr milliseconds kFirstPause{20}, kLongestPause{1000};
constexpr milliseconds kPatienceOfRelease{2'000};
/// Who takes over waits for so much of the lease beyond it: clocks of two machines do not run alike.
constexpr int kMarginOfLease = 6;
/// An owner may be killed, and its last commit land, after somebody began to watch.
constexpr int kMostWatches = 2;

const Prepared kMakeOwner{"make_owner", R"(INSERT INTO owners (shard, epoch, owner, last_group, place)
  VALUES ($1::bigint, 0, '', 0, '') ON CONFLICT (shard) DO NOTHING)"};
const Prepared kReadOwner{
    "read_owner", R"(SELECT epoch, last_group, renewals, lease_ms, (place <> '' AND place = $2::text)::int::bigint,
  owner FROM owners WHERE shard = $1::bigint)"};
// If the row is as it was read: then its owner has done nothing since.
const Prepared kClaim{"claim", R"(UPDATE owners
  SET epoch = epoch + 1, owner = $2::text, place = $3::text, lease_ms = $4::bigint, claimed_at = now()
  WHERE shard = $1::bigint AND epoch = $5::bigint AND last_group = $6::bigint AND renewals = $7::bigint
  RETURNING epoch, last_group)"};
const Prepared kRenew{"renew",
                      R"(UPDATE owners SET renewals = renewals + 1 WHERE shard = $1::bigint AND epoch = $2::bigint
  RETURNING 1::bigint)"};
const Prepared kRelease{"release", "UPDATE owners SET lease_ms = 0 WHERE shard = $1::bigint AND epoch = $2::bigint"};
const Prepared kClaimAgain{"claim_again", R"(UPDATE owners SET epoch = epoch + 1, claimed_at = now()
  WHERE shard = $1::bigint AND owner = $2::text RETURNING epoch, last_group)"};
const Prepared kCheck{"check", "SELECT 1::bigint FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint"};

// One statement, so that it is one transaction and one round trip. If the epoch is another one, there is no fence, and
// nothing is written.
const Prepared kCommit{"commit", R"(WITH fence AS (
    UPDATE owners SET last_group = $3::bigint WHERE shard = $1::bigint AND epoch = $2::bigint RETURNING shard),
  gone AS (DELETE FROM entries WHERE shard = (SELECT shard FROM fence) AND key = ANY ($4::bytea[])),
  written AS (INSERT INTO entries (shard, key, value)
    SELECT fence.shard, put.key, put.value FROM fence, unnest($5::bytea[], $6::bytea[]) AS put (key, value)
    ON CONFLICT (shard, key) DO UPDATE SET value = excluded.value)
  SELECT count(*) FROM fence)"};

const Prepared kFetchKeys{"fetch_keys",
                          "SELECT key, value FROM entries WHERE shard = $1::bigint AND key = ANY ($2::bytea[])"};

#define FETCH_RANGE(range, order) \
  "SELECT key, value FROM entries WHERE shard = $1::bigint AND " range " ORDER BY key " order " LIMIT $2::bigint"
const Prepared kRange{"range", FETCH_RANGE("key >= $3::bytea AND key < $4::bytea", "ASC")};
const Prepared kRangeToEnd{"range_to_end", FETCH_RANGE("key >= $3::bytea", "ASC")};
const Prepared kReverse{"reverse", FETCH_RANGE("key >= $3::bytea AND key < $4::bytea", "DESC")};
const Prepared kReverseFromEnd{"reverse_from_end", FETCH_RANGE("key >= $3::bytea", "DESC")};
#undef FETCH_RANGE

#define ERASE_WHERE(range)                                                                               \
  "WITH fence AS (SELECT shard FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint FOR SHARE), " \
  "doomed AS (SELECT key FROM entries WHERE shard = $1::bigint AND " range                               \
  " ORDER BY key LIMIT $3::bigint), "                                                                    \
  "gone AS (DELETE FROM entries WHERE shard = (SELECT shard FROM fence) AND "                            \
  "key = ANY (ARRAY(SELECT key FROM doomed))) "                                                          \
  "SELECT (SELECT count(*) FROM fence), (SELECT count(*) FROM doomed), "                                 \
  "(SELECT key FROM doomed ORDER BY key DESC LIMIT 1)"
const Prepared kErase{"erase", ERASE_WHERE("key >= $4::bytea AND key < $5::bytea")};
const Prepared kEraseToEnd{"erase_to_end", ERASE_WHERE("key >= $4::bytea")};
#undef ERASE_WHERE

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
    return shard;
  };
  auto claimed = claim();
  if (!claimed) return fail(at_start(std::move(claimed.error())));
  return claimed;
}

Result<OwnedShard> OwnedShard::claim_seen(const PostgresOptions& options) {
  OwnedShard shard(options, TRY(connect(options)));
  if (TRY(shard.try_to_take(options.seen.value_or(SeenOwner{})))) return shard;
  return fail(make_error(ErrorCode::kServerBusy, "Another process has claimed this part of the store."));
}

/// Watches the row until whoever had it has let go, has ended in this place, or cannot have a lease any more.
Result<void> OwnedShard::take() {
  const auto& o = *options_;
  for (int watched = 0;;) {
    const auto seen = TRY(connection_->run({kReadOwner, Parameters().number(o.shard).bytes(o.place)}, kSetupPatience));
    const milliseconds lease(seen.number(0, 3));
    const bool wait = lease.count() > 0 && seen.number(0, 4) == 0;
    if (wait && ++watched > kMostWatches) {
      return fail(
          make_error(ErrorCode::kConfigInvalid, "the rows are in use by " + std::string(seen.bytes(0, 5)) +
                                                    ", which still runs: stop it first, or name another database"));
    }
    if (wait) {
      spdlog::info("waits for the end of a lease owner={} lease_ms={}", seen.bytes(0, 5), lease.count());
      std::this_thread::sleep_for(lease + lease / kMarginOfLease);
    }
    if (TRY(try_to_take({seen.number(0, 0), seen.number(0, 1), seen.number(0, 2)}))) return {};
  }
}

/// False if somebody has changed the row.
Result<bool> OwnedShard::try_to_take(const SeenOwner& seen) {
  const auto& o = *options_;
  auto parameters = Parameters().number(o.shard).bytes(o.owner).bytes(o.place).number(o.lease.count());
  for (const auto value : {seen.epoch, seen.last_group, seen.renewals}) parameters.number(value);
  const auto sent = lease_clock();
  const auto claimed = TRY(connection_->run({kClaim, std::move(parameters)}, kSetupPatience));
  if (claimed.size() == 0) return false;
  adopt(claimed, sent);
  return true;
}

void OwnedShard::adopt(const SqlRows& claimed, std::chrono::nanoseconds sent) {
  shared_->epoch = claimed.number(0, 0);
  last_group_ = claimed.number(0, 1);
  extend(sent);
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
    spdlog::warn("the next owner has to wait for the lease reason=\"{}\"", done.error().detail);
  }
}

Error OwnedShard::taken_over() {
  shared_->fenced = true;
  shared_->over = true;
  return make_error(ErrorCode::kServerBusy, "Another process has taken this part of the store over.");
}

Result<bool> OwnedShard::try_to_claim_again() {
  connection_ = TRY(connect(*options_));
  const auto sent = lease_clock();
  const auto claimed = TRY(connection_->run({kClaimAgain, Parameters().number(options_->shard).bytes(options_->owner)},
                                            options_->settle_patience));
  if (claimed.size() == 0) return false;
  adopt(claimed, sent);
  return true;
}

Result<void> OwnedShard::claim_again() {
  const auto give_up = steady_clock::now() + options_->settle_patience;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto claimed = try_to_claim_again();
    shared_->away = !claimed;
    if (claimed) return *claimed ? Result<void>() : fail(taken_over());
    if (steady_clock::now() + pause >= give_up) {
      unknown_ = true;
      shared_->over = true;
      return fail(error_for_log(ErrorCode::kOperationTimedOut, claimed.error().detail));
    }
    spdlog::warn("the database cannot be reached reason=\"{}\"", claimed.error().detail);
    std::this_thread::sleep_for(pause);
  }
}

Result<void> OwnedShard::commit(const WriteOverlay& writes) {
  std::vector<std::optional<std::string_view>> erased, keys, values;
  for (const auto& [key, value] : writes.rows()) {
    (value ? keys : erased).emplace_back(key);
    if (value) values.emplace_back(*value);
  }
  const auto group = last_group_ + 1;
  for (int tries = 1;; ++tries) {
    const Statement statement{
        kCommit,
        Parameters().number(options_->shard).number(shared_->epoch).number(group).list(erased).list(keys).list(values)};
    const auto sent = lease_clock();
    const auto done = connection_->run(statement, options_->answer_patience);
    if (done) {
      if (done->number(0, 0) == 0) return fail(taken_over());
      last_group_ = group;
      extend(sent);
      return {};
    }
    if (!connection_->lost()) {
      if (may_pass(connection_->sqlstate()) && tries < kMostTries) continue;
      return fail(refusal(done.error(), connection_->sqlstate()));
    }
    spdlog::warn("a connection was lost while it committed reason=\"{}\"", done.error().detail);
    TRY(claim_again());
    ++settled_;
    if (last_group_ == group) return {};
  }
}

bool OwnedShard::due_for_renewal() const {
  // Whoever renews leases for others gets some time for it.
  const auto left = options_->renewed_elsewhere ? options_->lease / 2 : options_->lease * 2 / 3;
  return (lease_clock() + left).count() >= shared_->lease_ends_ns;
}

/// One round trip.
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
  if (shared_->away != !claimed) {
    shared_->away = !claimed;
    if (claimed) spdlog::info("the database can be reached again");
    if (!claimed) spdlog::error("the database cannot be reached reason=\"{}\"", claimed.error().detail);
  }
  return TRY(std::move(claimed)) ? Result<void>() : fail(taken_over());
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
