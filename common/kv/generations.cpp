#include "common/kv/generations.h"

#include "common/kv/key_codec.h"

namespace tidemark::kv {
namespace {

/// Returns nothing if no generation is dropped.
Result<std::optional<std::uint64_t>> first_dropped(const Engine& engine, char kind) {
  const auto snapshot = engine.snapshot();
  const auto cursor = snapshot->scan(under(key(kind)));
  TRY(cursor->status());
  if (!cursor->valid()) return std::nullopt;
  auto rest = cursor->key().substr(1);
  const auto generation = take_u64(rest);
  if (!generation || !rest.empty()) return fail(ErrorCode::kCorruption);
  return *generation;
}

}  // namespace

void drop_generation(Transaction& txn, char kind, std::uint64_t generation) { txn.put(key(kind, generation), ""); }

Task<Result<void>> collect_generations(Engine& engine, char kind, EraseGeneration erase, const FailStep& step) {
  while (const auto generation = CO_TRY(first_dropped(engine, kind))) {
    CO_TRY(co_await erase(*generation));
    CO_TRY(co_await engine.transact(
        [&](Transaction& txn) -> Result<void> {
          txn.erase(key(kind, *generation));
          return {};
        },
        &step));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::kv
