// The owner of an index. It takes the changes of the source table from the table store's log and makes the rows of the
// changed entities agree with their present state; in turn with that, it walks over the table and over the rows:
//   building    over the table: gives each entity its rows
//   verifying   over the table and the rows: compares in both directions
//   ready       the same without end, slowly; at once when a person asks for a scrub
// One owner at a time writes: it holds the epoch of the index's operation, and the store refuses owners with earlier
// epochs. A page of a walk is read after the position in the log and written before the changes that come after it, so
// a walk brings nothing back that was deleted meanwhile. The position never passes a change whose rows are not durable.
// Steps that are repeated after a crash change nothing.
// For the kind denormalised, the entities are those that refer to others. The table of those others has a log of its
// own, which is read beside the first; all entities that refer to a changed one are visited page by page (visits.h).
// Its parts: the reading of walks (walk.h), the entities that a walk found wrong (suspects.h), the visits of entities
// that refer to changed ones (visits.h) and the notices of violations (violations.h). Runs on one strand.
#pragma once
#include <memory>
#include <string>

#include "indexes/store/index_store.h"
#include "jobs/store/job_store.h"
#include "workers/indexes/change_pace.h"
#include "workers/indexes/change_reader.h"
#include "workers/indexes/suspects.h"
#include "workers/indexes/violations.h"
#include "workers/indexes/visits.h"
#include "workers/indexes/walk.h"
#include "workers/runtime/retry_policy.h"

namespace tidemark::workers {

struct IndexServices {
  table_store::TableClient& tables;
  indexes::IndexStore& store;
  jobs::JobStore& jobs;
  Clock& clock;
  Random& random;
  blob_store::BlobClient* blobs = nullptr;  // null if this process reaches no containers
  std::uint32_t page_entities = 1000;       // entities that a walk reads with one call
  std::shared_ptr<WalkRoom> room = std::make_shared<WalkRoom>(kWalkBytes);
};

class IndexOwner : public std::enable_shared_from_this<IndexOwner> {
 public:
  static std::shared_ptr<IndexOwner> create(IndexServices services, indexes::Index index, std::uint64_t epoch);
  void start(Executor strand);
  /// Takes over the changes that a person has made. The definition stays, except for answersQueries.
  void update(const indexes::Index& index);
  /// Makes the owner end after the step in progress.
  void stop();
  /// Tells whether the owner has ended: it was stopped, its index was dropped, or another owner took over.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const std::string& id() const { return index_.id; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  /// A table's log, and how far its changes have been taken.
  struct FollowedLog {
    std::shared_ptr<ChangeReader> reader;  // null if one table alone is followed
    table_store::Position position;
    table_store::NotesRead skip;  // of the position's page (ChangesPage)
    bool read_to_end = false;     // since the last page of a walk
  };

  IndexOwner(IndexServices services, indexes::Index index, std::uint64_t epoch);
  static Task<void> run(std::shared_ptr<IndexOwner> self);
  Task<void> tell_failure(Error error);
  void note_place();
  Task<Result<void>> serve();
  Task<Result<void>> begin();
  Task<Result<void>> follow(bool anew);
  Task<Result<bool>> is_forgotten();
  Task<Result<table_store::Position>> follow_table(std::string table, std::vector<std::string> properties, bool anew);
  [[nodiscard]] bool refers() const { return rows_->referrers() != nullptr; }
  [[nodiscard]] table_store::Position reached() const;
  Task<Result<void>> step();
  void heed_wishes();
  /// Notes the rows that were found in the way. The progress shows those found by the log at once, and those found by a
  /// walk when the walk is over.
  void note_in_the_way(bool shows_at_once);
  void show_in_the_way(std::uint64_t count);

  [[nodiscard]] LogRoom log_room() const;
  Task<Result<void>> take_changes(Duration wait);
  Task<Result<void>> take_changes_of_two(Duration wait);
  Task<Result<void>> take_entities(table_store::ChangesPage page, bool old = false);
  Task<Result<void>> take_referred(table_store::ChangesPage page, bool old);
  Task<void> await_readers();
  Task<Result<void>> visit_some();
  Task<Result<void>> begin_anew();
  Task<Result<void>> remove_orphans();
  Task<Result<void>> remove_orphaned_notes();

  [[nodiscard]] bool in_a_hurry() const;
  [[nodiscard]] WalkReader::Mode mode() const;
  void begin_walk();
  void scrub_soon();
  Task<Result<void>> walk_page();
  Task<Result<void>> make_ahead_durable();
  void next_walk();
  void end_walk();
  Task<Result<void>> judge_suspects();
  [[nodiscard]] Duration until_next() const;
  Task<Result<void>> flush();
  Task<Result<void>> drop();

  IndexServices services_;
  indexes::Index index_;
  std::uint64_t epoch_;
  Fences fences_;
  std::unique_ptr<IndexRows> rows_;
  indexes::Progress progress_;
  bool loaded_ = false;        // the progress was read from the store
  bool follows_ = false;       // the positions and visits are those from which the owner follows
  bool answers_told_ = false;  // the table store was told that the index answers queries
  Walk walk_;
  std::optional<WalkReader> walks_;
  Suspects suspects_;
  ViolationsTeller violations_;
  FollowedLog entities_;
  FollowedLog referred_;      // for the kind denormalised, if those are two tables
  bool scrub_now_ = false;    // there may be room now for rows that had others in their way
  bool scrub_again_ = false;  // the same has happened since the present walk began
  /// The rows show no later state: the log was read to its end, and since then only its changes were written.
  bool rows_are_of_position_ = false;
  std::uint32_t pages_in_a_row_ = 0;
  ChangePace pace_;
  bool more_ = false;  // changes are waiting already
  // For the kind denormalised:
  const std::vector<std::string> taken_;  // Definition::taken_properties()
  Visits visits_;
  bool dirty_ = false;  // the progress is not written
  /// These tell whether the stored progress says less than it could: with two tables, it rises with the slower one.
  table_store::Position last_change_, position_told_;
  Duration flushed_at_{};
  Duration walk_at_{};  // the time at which the next page may be read
  std::uint32_t failures_ = 0;
  bool stopping_ = false;
  bool ended_ = false;
  std::shared_ptr<Signal> wake_ = std::make_shared<Signal>();
  Executor strand_;
};

}  // namespace tidemark::workers
