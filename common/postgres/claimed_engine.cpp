#include "common/postgres/claimed_engine.h"

#include "common/postgres/postgres_reads.h"

namespace tidemark::kv {
namespace {

std::unexpected<Error> elsewhere() {
  return fail(ErrorCode::kServerBusy, "Another process serves this part of the store, or is about to.");
}

}  // namespace

ClaimedEngine::ClaimedEngine(PostgresOptions options) : reads_(std::make_shared<detail::Reads>(std::move(options))) {}

std::unexpected<Error> ClaimedEngine::no_files() {
  return fail(ErrorCode::kNotImplemented,
              "The rows are in PostgreSQL: copy them with its own tools, such as pg_dump or pg_basebackup.");
}

std::shared_ptr<PostgresEngine> ClaimedEngine::own() const {
  const MutexLock lock(mutex_);
  return own_;
}

void ClaimedEngine::open(std::shared_ptr<PostgresEngine> engine) {
  const MutexLock lock(mutex_);
  engine->refuse_writes(refusal_);
  own_ = std::move(engine);
}

std::shared_ptr<PostgresEngine> ClaimedEngine::close() {
  const MutexLock lock(mutex_);
  return std::exchange(own_, nullptr);
}

void ClaimedEngine::know(std::int64_t epoch) { reads_->know(epoch); }

std::shared_ptr<const Reader> ClaimedEngine::snapshot() const {
  const auto engine = own();
  return engine ? engine->snapshot() : reads_->fresh_snapshot();
}

Result<std::optional<std::string>> ClaimedEngine::get(std::string_view key) const {
  const auto engine = own();
  return engine ? engine->get(key) : reads_->get(key);
}

void ClaimedEngine::submit(TransactionBody body, Completion done) {
  if (const auto engine = own()) return engine->submit(std::move(body), std::move(done));
  body = nullptr;
  done(elsewhere());
}

void ClaimedEngine::refuse_writes(std::optional<Error> why) {
  const MutexLock lock(mutex_);
  refusal_ = std::move(why);
  if (own_) own_->refuse_writes(refusal_);
}

std::optional<Error> ClaimedEngine::failure() const {
  const auto engine = own();
  auto failure = engine ? engine->failure() : std::nullopt;
  if (failure && failure->code == ErrorCode::kStorageFailure) failure->code = ErrorCode::kServerBusy;
  return failure;
}

void ClaimedEngine::erase_ranges(std::vector<KeyRange> ranges, Completion done) {
  if (const auto engine = own()) return engine->erase_ranges(std::move(ranges), std::move(done));
  // Nothing is under way here, and drain() waits for nothing else.
  done(ranges.empty() ? Result<void>() : elsewhere());
}

std::size_t ClaimedEngine::queue_depth() const {
  const auto engine = own();
  return engine ? engine->queue_depth() : 0;
}

EngineMemory ClaimedEngine::memory() const {
  const auto engine = own();
  return engine ? engine->memory() : EngineMemory{};
}

}  // namespace tidemark::kv
