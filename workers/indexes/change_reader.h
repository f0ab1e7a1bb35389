// Reads the next page of a table's changes in the background, for an owner that follows two tables. Used from one
// strand; a reading under way keeps the reader alive.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "table_store/client/table_client.h"

namespace tidemark::workers {

class ChangeReader : public std::enable_shared_from_this<ChangeReader> {
 public:
  static std::shared_ptr<ChangeReader> create(table_store::TableClient& tables, std::string table,
                                              std::string follower) {
    return std::shared_ptr<ChangeReader>(new ChangeReader(tables, std::move(table), std::move(follower)));
  }
  /// Unless it reads already or has a page. Notifies `read` when the page has come.
  void read_on(const Executor& strand, table_store::Version after, std::uint32_t skip, std::uint32_t limit,
               Duration wait, std::shared_ptr<Signal> read);
  /// What is read from now on is of another time than a page that is there or on its way.
  void mark_time() { is_old_ = reads_ || page_; }
  [[nodiscard]] bool reads() const { return reads_; }
  [[nodiscard]] bool has_page() const { return page_.has_value(); }
  /// Whether the page was asked for before that time.
  [[nodiscard]] bool is_old() const { return is_old_; }
  /// The page, or why it could not be read.
  Result<table_store::ChangesPage> take() {
    is_old_ = false;
    return *std::exchange(page_, std::nullopt);
  }

 private:
  ChangeReader(table_store::TableClient& tables, std::string table, std::string follower)
      : tables_(tables), table_(std::move(table)), follower_(std::move(follower)) {}
  static Task<void> read(std::shared_ptr<ChangeReader> self, table_store::Version after, std::uint32_t skip,
                         std::uint32_t limit, Duration wait, std::shared_ptr<Signal> read);

  table_store::TableClient& tables_;
  std::string table_, follower_;
  std::optional<Result<table_store::ChangesPage>> page_;
  bool reads_ = false;
  bool is_old_ = false;
};

}  // namespace tidemark::workers
