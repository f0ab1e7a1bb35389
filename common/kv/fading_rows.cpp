#include "common/kv/fading_rows.h"

#include "common/base/encoding.h"
#include "common/kv/key_codec.h"

namespace tidemark::kv {
namespace {

constexpr std::size_t kRowsPerTurn = 256;  // about a millisecond of an I/O thread
constexpr std::size_t kHashBytes = 16;

struct FadeMark {
  Time since;
  std::string hash;
};

std::string hash_of(std::string_view value) { return sha256(value).substr(0, kHashBytes); }

std::string encode(const FadeMark& mark) {
  std::string bytes;
  append_u64(bytes, static_cast<std::uint64_t>(mark.since.time_since_epoch().count()));
  return bytes + mark.hash;
}

/// Returns nothing for a row without a mark, or whose mark is of another value.
Result<std::optional<Time>> unchanged_since(const Reader& reader, const std::string& mark_key, std::string_view value) {
  auto bytes = TRY(reader.get(mark_key));
  if (!bytes) return std::optional<Time>();
  std::string_view rest = *bytes;
  const auto ticks = take_u64(rest);
  if (!ticks || rest != hash_of(value)) return std::optional<Time>();
  return std::optional(Time(Ticks(static_cast<std::int64_t>(*ticks))));
}

/// Removes or marks one row, which may have changed since it was chosen. Returns whether it was removed.
Result<bool> drop_or_mark(Transaction& txn, const std::string& key, const std::string& mark_key, Duration retention,
                          Time now) {
  auto value = TRY(txn.get(key));
  if (!value) {
    txn.erase(mark_key);
    return false;
  }
  auto since = TRY(unchanged_since(txn, mark_key, *value));
  if (since && now - *since >= retention) {
    txn.erase(key);
    txn.erase(mark_key);
    return true;
  }
  if (!since) txn.put(mark_key, encode({now, hash_of(*value)}));
  return false;
}

/// Tells whether the row is new or changed, or has faded and is not needed any more.
Result<bool> is_to_be_touched(const Reader& reader, const FadingRows& fading, const std::string& key,
                              std::string_view value, Duration retention, Time now, const StillNeeded& still_needed) {
  const auto since = TRY(unchanged_since(reader, fading.marks + key, value));
  if (!since) return true;
  if (now - *since < retention) return false;
  return still_needed ? !TRY(still_needed(key, value)) : true;
}

}  // namespace

Result<bool> changed_lately(const Reader& reader, const FadingRows& fading, const std::string& key, Duration retention,
                            Time now) {
  const auto value = TRY(reader.get(key));
  if (!value) return false;
  const auto since = TRY(unchanged_since(reader, fading.marks + key, *value));
  return !since || now - *since < retention;
}

Task<Result<std::size_t>> drop_faded(Engine& engine, FadingRows fading, Duration retention, Time now,
                                     StillNeeded still_needed) {
  std::size_t dropped = 0;
  const auto executor = co_await asio::this_coro::executor;
  for (auto from = fading.rows.lower; !from.empty();) {
    std::vector<std::string> chosen;
    {
      const auto snapshot = engine.snapshot();
      const auto cursor = snapshot->scan({std::exchange(from, ""), fading.rows.upper});
      for (std::size_t n = 0; cursor->valid(); cursor->next()) {
        if (++n > kRowsPerTurn) {
          from = cursor->key();
          break;
        }
        std::string key(cursor->key());
        if (CO_TRY(is_to_be_touched(*snapshot, fading, key, cursor->value(), retention, now, still_needed))) {
          chosen.push_back(std::move(key));
        }
      }
      CO_TRY(cursor->status());
    }
    if (chosen.empty()) {
      co_await asio::post(executor, asio::use_awaitable);  // let requests go on between the turns
      continue;
    }
    std::size_t now_dropped = 0;
    CO_TRY(co_await engine.transact([&](Transaction& txn) -> Result<void> {
      now_dropped = 0;
      for (const auto& key : chosen) {
        auto gone = TRY(drop_or_mark(txn, key, fading.marks + key, retention, now));
        now_dropped += gone ? 1 : 0;
      }
      return {};
    }));
    dropped += now_dropped;
  }
  co_return dropped;
}

}  // namespace tidemark::kv
