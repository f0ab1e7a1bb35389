// Reads the changes of a table for an owner. Used from one strand.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "table_store/client/table_client.h"

namespace tidemark::workers {

/// Creates or changes the follower, unless the fence is over (kFenced). If it begins anew, that happens only once,
/// however often and late the calls arrive.
Task<Result<table_store::FollowerStatus>> follow_log(table_store::TableClient& tables, std::string table,
                                                     table_store::Following following, bool anew,
                                                     table_store::Fence fence);

/// Names the follower and the place from which it reads (TableClient::changed_entities).
struct ChangesRequest {
  std::string table, follower;
  table_store::Position after;
  table_store::NotesRead skip;
  Duration wait{};
  table_store::Selection selection;
  std::size_t most = 10'000;  // the next page is read only while fewer entities than this were found
};
/// Reads all changes that are available, as far as they fit comfortably into memory, as one page: the more there are,
/// the more of them are in the same rows.
Task<Result<table_store::ChangesPage>> read_changes(table_store::TableClient& tables, ChangesRequest request);

/// Reads the next page in the background, for an owner that follows two tables. A read in progress keeps the reader
/// alive.
class ChangeReader : public std::enable_shared_from_this<ChangeReader> {
 public:
  /// `selection`: the properties of the entities' present state that are read.
  static std::shared_ptr<ChangeReader> create(table_store::TableClient& tables, std::string table, std::string follower,
                                              table_store::Selection selection) {
    return std::shared_ptr<ChangeReader>(
        new ChangeReader(tables, std::move(table), std::move(follower), std::move(selection)));
  }
  /// Starts a read, unless one is in progress or a page is there. Notifies `read` when the page has come.
  void read_on(const Executor& strand, table_store::Position after, table_store::NotesRead skip, std::uint32_t limit,
               Duration wait, std::shared_ptr<Signal> read);
  /// Begins a new time: a page that is there or in progress now counts as old.
  void mark_time() { is_old_ = reads_ || page_; }
  [[nodiscard]] bool reads() const { return reads_; }
  [[nodiscard]] bool has_page() const { return page_.has_value(); }
  /// Tells whether the page was requested before mark_time().
  [[nodiscard]] bool is_old() const { return is_old_; }
  /// Returns the page, or the error of reading it.
  Result<table_store::ChangesPage> take() {
    is_old_ = false;
    return *std::exchange(page_, std::nullopt);
  }

 private:
  ChangeReader(table_store::TableClient& tables, std::string table, std::string follower,
               table_store::Selection selection)
      : tables_(tables), table_(std::move(table)), follower_(std::move(follower)), selection_(std::move(selection)) {}
  static Task<void> read(std::shared_ptr<ChangeReader> self, table_store::Position after, table_store::NotesRead skip,
                         std::uint32_t limit, Duration wait, std::shared_ptr<Signal> read);

  table_store::TableClient& tables_;
  std::string table_, follower_;
  table_store::Selection selection_;
  std::optional<Result<table_store::ChangesPage>> page_;
  bool reads_ = false;
  bool is_old_ = false;
};

}  // namespace tidemark::workers
