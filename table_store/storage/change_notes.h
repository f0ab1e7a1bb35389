// Notes the changes of one transaction in followed tables. It runs on the engine's threads, as part of the
// transaction's body. Private to storage/.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "table_store/storage/change_records.h"

namespace tidemark::table_store {

/// The feeds that a transaction concerns once it is durable.
struct NotedFeeds {
  std::vector<std::shared_ptr<const Capture>> noted;
  std::vector<std::shared_ptr<const Capture>> staled;  // the log has to keep less
};

class ChangeNotes {
 public:
  /// All notes have this version.
  ChangeNotes(kv::Transaction& txn, Version version) : txn_(txn), version_(version) {}

  /// Notes that an entity was put or erased. `before`: the previous entity, or null. `origin` and `block`, which has
  /// the properties, are those of the present entity. `cause`: Fence::cause of the write.
  Result<void> note(const std::shared_ptr<const Capture>& capture, std::string_view partition_key,
                    std::string_view row_key, const EntityView* before, NoteKind kind,
                    const std::optional<OriginView>& origin, std::string_view block, std::string_view cause);
  /// Notes that the table was dropped or made. `which`: the number of the drop, in a divided store
  /// (FeedDivision::change).
  Result<void> note_table(const std::shared_ptr<const Capture>& capture, NoteKind kind, std::string_view which = {});

  enum class Bounds { kKeep, kIgnore };
  /// Call it at the end. kServerBusy if a follower is too far behind and wants writes refused.
  Result<NotedFeeds> finish(Bounds bounds = Bounds::kKeep);

 private:
  struct Open {
    std::shared_ptr<const Capture> capture;
    HeadRecord head;
    std::uint64_t noted = 0;
  };
  Result<Open*> open(const std::shared_ptr<const Capture>& capture);
  void add(Open& feed, Note note);
  /// Returns true if the log has to keep less from now on.
  Result<bool> keep_bounds(Open& feed);

  kv::Transaction& txn_;
  Version version_;
  std::vector<Open> feeds_;
};

}  // namespace tidemark::table_store
