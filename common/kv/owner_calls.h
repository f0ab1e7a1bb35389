// What a store does on a shard that another process may serve (docs/scale.md, Owners). A part of the store that has
// something to do on any shard, such as the copies of the catalogue, offers it as a step under a name; whoever needs
// that done on a shard asks for it by the name, and the process that serves the shard does it. A step may be done
// twice, and long after whoever asked has given up. Thread safe; coroutines resume on the caller's executor.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/async.h"

namespace tidemark::kv {

class OwnerCalls {
 public:
  /// Does its work on a shard of this process. What it is told and what it answers is in its own words.
  using Step = std::function<Task<Result<std::string>>(std::size_t shard, std::string payload)>;

  OwnerCalls() = default;
  virtual ~OwnerCalls() = default;
  OwnerCalls(const OwnerCalls&) = delete;
  OwnerCalls& operator=(const OwnerCalls&) = delete;

  /// Before anything is asked. What the step uses must outlive all that asks.
  void offer(std::string name, Step step);
  /// Has the step done by the process that serves the shard, which may be this one. kServerBusy: nobody does now, or
  /// nobody knows whether it was done.
  Task<Result<std::string>> ask(std::size_t shard, std::string name, std::string payload);

  /// This process serves the shard.
  [[nodiscard]] virtual bool here(std::size_t shard) const = 0;
  /// Likewise, and nobody else can have taken it yet: what is remembered of the shard is so. Look here afterwards.
  [[nodiscard]] virtual bool leased(std::size_t shard) const = 0;

 protected:
  /// Does a step that another process asked for.
  Task<Result<std::string>> perform(std::size_t shard, const std::string& name, std::string payload);
  /// The answer of the process that serves the shard; nothing: this one does.
  virtual Task<Result<std::optional<std::string>>> pass_on(std::size_t shard, const std::string& name,
                                                           const std::string& payload) = 0;

 private:
  std::map<std::string, Step> steps_;
};

}  // namespace tidemark::kv
