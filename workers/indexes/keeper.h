// Keeps the indexes: sees to it that each has an owner (index_owner.h) in one of the workers. Every worker runs a
// keeper; none is the chosen one: who wins the compare-and-swap of an index's owner row has it. A keeper shows that it
// lives by a number that rises; whoever has not seen it rise for a while, by its own monotonic clock, may take what it
// owned. That it still runs does no harm, because its epoch is over.
// Runs on one strand.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "workers/indexes/index_owner.h"

namespace tidemark::workers {

struct KeeperOptions {
  std::string worker;
  Duration poll = std::chrono::milliseconds(250);
  Duration beat = std::chrono::seconds(1);
  Duration lost_after = std::chrono::seconds(5);  // several beats
};

class IndexKeeper : public std::enable_shared_from_this<IndexKeeper> {
 public:
  static std::shared_ptr<IndexKeeper> create(KeeperOptions options, IndexServices services);
  void start(Executor strand);
  /// Gives the indexes back, so that others take them at once. Await it on the strand.
  Task<void> stop();
  [[nodiscard]] std::size_t owned() const { return owners_.size(); }

 private:
  IndexKeeper(KeeperOptions options, IndexServices services);
  static Task<void> run(std::shared_ptr<IndexKeeper> self);
  Task<Result<void>> pass();
  Task<Result<void>> beat();
  Task<Result<void>> learn_indexes();
  Task<Result<void>> look_at_others();
  Task<Result<void>> claim(const indexes::Index& index);
  [[nodiscard]] bool is_free(const std::string& id) const;
  [[nodiscard]] std::size_t fair_share() const;

  /// What is known of another keeper.
  struct Seen {
    std::uint64_t beat = 0;
    Duration at{};  // when it was first seen with that beat
  };

  KeeperOptions options_;
  IndexServices services_;
  Executor strand_;
  std::string own_row_;
  indexes::Owner own_;
  std::map<std::string, indexes::Index> indexes_;  // by id
  std::map<std::string, indexes::Owner> rows_;     // whose each index is
  std::map<std::string, Seen> keepers_;
  std::map<std::string, Duration> free_since_;
  std::map<std::string, std::shared_ptr<IndexOwner>> owners_;
  table_store::Version seen_changes_ = -1;
  std::optional<Duration> learned_at_, beaten_at_;
  bool stopping_ = false;
  bool ended_ = false;
  Signal wake_;
};

}  // namespace tidemark::workers
