// The work of a store on a shard that another process may serve (docs/scale.md, Owners). A part of the store that works
// on any shard, such as the copies of the catalogue, offers the work as a step under a name. A caller asks for the step
// by its name, and the process that serves the shard does it. A step may be done twice, and long after the caller has
// given up. Thread safe; coroutines resume on the caller's executor.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/async.h"

namespace tidemark::shards {

class OwnerCalls {
 public:
  /// Does its work on a shard of this process. Payload and answer have the step's own format.
  using Step = std::function<Task<Result<std::string>>(std::size_t shard, std::string payload)>;

  OwnerCalls() = default;
  virtual ~OwnerCalls() = default;
  OwnerCalls(const OwnerCalls&) = delete;
  OwnerCalls& operator=(const OwnerCalls&) = delete;

  /// Must be called before any step is asked for. The objects that a step uses must outlive all callers.
  void offer(std::string name, Step step);
  /// Has the step done by the process that serves the shard, which may be this one. kServerBusy: no process serves it
  /// now, or it is unknown whether the step was done.
  Task<Result<std::string>> ask(std::size_t shard, std::string name, std::string payload);

  /// Tells whether this process serves the shard.
  [[nodiscard]] virtual bool here(std::size_t shard) const = 0;
  /// Tells the same, and that no other process can have taken the shard yet, so that remembered data of the shard is
  /// valid. Check it after reading that data.
  [[nodiscard]] virtual bool leased(std::size_t shard) const = 0;

 protected:
  /// Does a step that another process asked for.
  Task<Result<std::string>> perform(std::size_t shard, const std::string& name, std::string payload);
  /// Returns the answer of the process that serves the shard; nothing if this process does.
  virtual Task<Result<std::optional<std::string>>> pass_on(std::size_t shard, const std::string& name,
                                                           const std::string& payload) = 0;

 private:
  std::map<std::string, Step> steps_;
};

}  // namespace tidemark::shards
