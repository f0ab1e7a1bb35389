#include "common/shards/stored_shards.h"

namespace tidemark::shards {

std::optional<Error> StoredShards::failure() const {
  std::optional<Error> first;
  for (const auto& engine : engines_) {
    auto failure = engine->failure();
    if (!failure) continue;
    if (failure->code == ErrorCode::kStorageFailure) return failure;
    if (!first) first = std::move(failure);
  }
  return first;
}

void StoredShards::refuse_writes(const std::optional<Error>& reason) {
  for (const auto& engine : engines_) engine->refuse_writes(reason);
}

void StoredShards::drain() {
  for (const auto& engine : engines_) engine->drain();
}

Result<void> StoredShards::flush() {
  for (const auto& engine : engines_) TRY(engine->flush());
  return {};
}

Result<void> StoredShards::hold_writes(std::chrono::milliseconds at_most) {
  for (std::size_t shard = 0; shard < size(); ++shard) {
    auto held = engines_[shard]->hold_writes(at_most);
    if (held) continue;
    while (shard > 0) static_cast<void>(engines_[--shard]->resume_writes().has_value());
    return held;
  }
  return {};
}

Result<std::chrono::microseconds> StoredShards::resume_writes() {
  Result<std::chrono::microseconds> longest;
  for (const auto& engine : engines_) {
    auto held = engine->resume_writes();  // for each shard, even if another one failed
    if (!held) {
      longest = std::move(held);
    } else if (longest) {
      longest = std::max(*longest, *held);
    }
  }
  return longest;
}

Result<void> StoredShards::checkpoint(const std::filesystem::path& directory) {
  if (size() > 1) {
    std::error_code failed;
    std::filesystem::create_directory(directory, failed);
    if (failed) return fail(error_for_log(ErrorCode::kStorageFailure, directory.string() + ": " + failed.message()));
  }
  for (std::size_t shard = 0; shard < size(); ++shard) {
    TRY(engines_[shard]->checkpoint(shard_folder(directory, shard, size())));
  }
  return {};
}

std::filesystem::path shard_folder(const std::filesystem::path& folder, std::size_t shard, std::size_t shards) {
  return shards == 1 ? folder : folder / ("shard-" + std::to_string(shard));
}

}  // namespace tidemark::shards
