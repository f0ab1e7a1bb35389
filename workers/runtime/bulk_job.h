// The common part of all jobs over entities. A bulk job opens the operation, reads the source page by page, keeps its
// position in the checkpoint, obeys the job's limits, counts the entities that are done and skipped, reports both, and
// closes the operation. The kind supplies the work on a page.
//   pages        The position never passes unfinished work: if entities change under the job, their page is read again.
//   maxAffected  Changes in progress count as made until their page is finished, so the job never changes more.
//   crash        The next delivery repeats the page from its beginning. A kind that needs to know more than the position
//                notes it before its first effect, and finishes it in resume().
//   checkpoint   {"continuation":C,"skips":[...]}, "done":N and "heard":N if the ledger does not count, and the kind's note
// It belongs to one delivery and runs on its strand.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/fail_points.h"
#include "workers/runtime/skip_log.h"
#include "workers/runtime/source.h"

namespace tidemark::workers {

struct BulkTraits {
  std::optional<jobs::EntityKey> entity;  // the only entity, instead of those that the source selects
  std::string_view doing;                 // the phase in the record: "archiving"
  std::string_view changed;               // the verb for its entities: "moved"
  bool ledger_counts = true;              // kDone in the ledger is the done figure; otherwise the checkpoint has it
  bool done_when_counted = true;          // an entity that the ledger has counted needs no more work
  bool total_known = true;                // everything that is selected will be done or skipped
};

/// Changes that belong together, in one transaction or one after the other.
struct ChangeSet {
  std::uint64_t count = 0;  // entities
  std::vector<PartitionRef> places;
  std::function<Task<Result<void>>()> make;
};

class BulkJob {
 public:
  virtual ~BulkJob() = default;
  BulkJob(const BulkJob&) = delete;
  BulkJob& operator=(const BulkJob&) = delete;

  Task<Result<JobOutcome>> run();

 protected:
  /// Both outlive the job.
  BulkJob(JobContext& context, Source& source, BulkTraits traits)
      : context_(context), source_(source), traits_(std::move(traits)) {}

  // Supplied by the kind, in the order in which the job calls it.

  /// Opens the operation in other stores. True if it is closed there, because the work was completed before.
  virtual Task<Result<bool>> open() { co_return false; }
  /// Prepares the resources that the job needs besides its source.
  virtual Task<Result<void>> prepare() { co_return Result<void>{}; }
  /// Finishes the work that an earlier delivery noted and left unfinished. `saved` is null if there was none.
  virtual Task<Result<void>> resume(nlohmann::json saved);
  virtual Task<Result<Page>> read(std::string continuation) { return source_.read(std::move(continuation)); }
  virtual Task<Result<void>> work_on(std::vector<Entity> entities) = 0;
  /// Called if the job's only entity is not there and the job has done nothing.
  virtual Task<Result<void>> missing();
  /// Closes the operation in those stores.
  virtual Task<Result<void>> close() { co_return Result<void>{}; }

  // For use by the kind.

  /// Stores a note, and beside it the members of `more`, durable when it returns. If this delivery dies from now on,
  /// the next one gets it in resume().
  Task<Result<void>> note(const char* name, nlohmann::json value, const FailStep& step, nlohmann::json more = {});
  /// Makes the changes side by side, each as soon as the job's limits allow it.
  Task<Result<void>> make(std::vector<ChangeSet> changes);
  void did(std::uint64_t entities) { done_ += entities; }
  /// For jobs whose checkpoint has the figure: counts entities that the ledger counts as well.
  void did_in_ledger(std::uint64_t entities) {
    did(entities);
    heard_ += entities;
  }
  /// For the same jobs: counts an entity that needed no more work.
  void find_done() {
    did(1);
    ++found_done_;
  }
  [[nodiscard]] std::uint64_t done() const { return done_; }
  /// Counts an entity that was selected, but is neither done nor skipped.
  void pass_over() { ++passed_over_; }
  void skip(std::string_view reason, const Entity& entity) { skip(reason, entity.partition_key, entity.row_key); }
  void skip(std::string_view reason, const std::string& partition_key, const std::string& row_key) {
    page_skips_.add(reason, partition_key, row_key);
  }
  /// Skips an entity at once and for good, because it is not seen again if its page is read again.
  void skip_now(std::string_view reason, const jobs::EntityKey& key) {
    skips_.add(reason, key.partition_key, key.row_key);
  }
  /// Likewise skips `count` entities whose keys nobody knows.
  void skip_unknown(std::string_view reason, std::uint64_t count) { skips_.add(reason, count); }
  /// Reads the page again, because entities changed under the job.
  void look_again() { clean_ = false; }
  /// True if the job has already dealt with its only entity. An entity that is there now was written since.
  [[nodiscard]] bool settled() const {
    return traits_.entity && (skipped_before_ || (traits_.done_when_counted && done_ > 0));
  }
  [[nodiscard]] std::unexpected<Error> kept_changing() const;

  JobContext& context_;

 private:
  Task<Result<void>> carry_out(table_store::OperationLedger before);
  Task<Result<void>> walk();
  Task<Result<Page>> next_page();
  Task<Result<void>> admit_and_make(ChangeSet& change);
  void count_unheard();
  Task<Result<void>> account();
  Task<Result<void>> report(bool force);
  [[nodiscard]] nlohmann::json checkpoint() const;

  Source& source_;
  BulkTraits traits_;
  std::string continuation_;
  std::uint64_t done_ = 0;
  std::uint64_t heard_ = 0, unheard_ = 0;  // work that the ledger counts: known to the checkpoint, and not known to it
  std::uint64_t found_done_ = 0;           // on the current page
  std::uint64_t passed_over_ = 0;
  std::uint64_t admitted_ = 0;  // the work that is done, and the work admitted since the page began
  SkipLog skips_;
  SkipLog page_skips_;  // of the current page; counted when the page is finished
  bool clean_ = true;   // nothing has changed on the current page
  bool skipped_before_ = false;
  JobOutcome outcome_;
};

}  // namespace tidemark::workers
