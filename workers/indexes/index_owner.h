// The owner of an index. It takes the changes of the source table from the table store's log and makes the rows of the
// changed entities what they say now; in turn with that, it walks over the table and over the rows:
//   building    over the table: gives each entity its rows
//   verifying   over the table and the rows: compares both ways
//   ready       the same without end, slowly; at once when a person asks for a scrub
// One owner at a time writes: it holds the epoch of the index's operation, and the store refuses whoever has an earlier
// one. A page of a walk is read after the position in the log and written before the changes that come after it, so a
// walk brings nothing back that was deleted meanwhile. The position never passes a change whose rows are not durable.
// Whatever is repeated after a crash changes nothing.
// Runs on one strand.
#pragma once
#include <memory>
#include <set>
#include <string>

#include "indexes/store/index_store.h"
#include "workers/indexes/index_rows.h"
#include "workers/runtime/retry_policy.h"

namespace tidemark::workers {

struct IndexServices {
  table_store::TableClient& tables;
  indexes::IndexStore& store;
  Clock& clock;
  Random& random;
};

class IndexOwner : public std::enable_shared_from_this<IndexOwner> {
 public:
  static std::shared_ptr<IndexOwner> create(IndexServices services, indexes::Index index, std::uint64_t epoch);
  void start(Executor strand);
  /// What a person has changed; the definition itself stays.
  void update(const indexes::Index& index);
  /// Ends after the step under way.
  void stop();
  /// True once it has ended: stopped, dropped, or taken over by another.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const std::string& id() const { return index_.id; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  /// Where a walk is; kept as JSON in the progress.
  struct Walk {
    bool over_rows = false;
    std::string continuation;
    std::uint64_t checked = 0;
    std::uint64_t wrong = 0;
    table_store::Version from = 0;  // the position when it began
    std::int32_t asked = 0;         // scrubs that had been asked for by then
    bool ended = false;             // its last page was read
    bool after_loss = false;        // the log did not wait: rows may be left that no entity says
  };

  IndexOwner(IndexServices services, indexes::Index index, std::uint64_t epoch);
  static Task<void> run(std::shared_ptr<IndexOwner> self);
  Task<void> tell_failure(Error error);
  Task<Result<void>> serve();
  Task<Result<void>> begin();
  Task<Result<void>> follow(bool anew);
  Task<Result<void>> step();
  void heed_wishes();

  Task<Result<void>> take_changes(Duration wait);
  Task<Result<void>> begin_anew();
  Task<Result<void>> remove_orphans();

  [[nodiscard]] bool in_a_hurry() const;
  void begin_walk();
  void scrub_soon();
  Task<Result<void>> walk_page();
  Task<Result<std::string>> walk_table();
  Task<Result<std::string>> walk_rows();
  void next_walk();
  void end_walk();
  void suspect(const Wrong& wrong);
  void judge_suspects(const table_store::ChangesPage& page);
  [[nodiscard]] table_store::QueryRequest rows_page(std::string continuation) const;

  [[nodiscard]] Duration until_next() const;
  Task<Result<void>> flush();
  Task<Result<void>> drop();

  IndexServices services_;
  indexes::Index index_;
  std::uint64_t epoch_;
  Fences fences_;
  std::unique_ptr<IndexRows> rows_;
  indexes::Progress progress_;
  bool loaded_ = false;  // the progress is that of the index
  Walk walk_;
  /// Whose rows the page of a walk found wrong. It was read after the position in the log, so they may only be late:
  /// those who do not come up in the log by then were really wrong.
  std::set<std::pair<std::string, std::string>> suspects_;
  bool scrub_now_ = false;    // there may be room for rows that others were in the way of
  bool scrub_again_ = false;  // likewise, since the walk under way began
  std::uint32_t skip_ = 0;    // of the position's page (ChangesPage)
  std::uint32_t pages_in_a_row_ = 0;
  bool more_ = false;   // changes are there already
  bool dirty_ = false;  // the progress is not written
  Duration flushed_at_{};
  Duration walk_at_{};  // when the next page may be read
  std::uint32_t failures_ = 0;
  bool stopping_ = false;
  bool ended_ = false;
  Signal wake_;
};

}  // namespace tidemark::workers
