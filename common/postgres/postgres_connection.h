// Internal to postgres_*.cpp: one connection to PostgreSQL. Statements are sent together, as a pipeline, and their rows
// come back in one round trip; the statements of one call are one transaction, unless they say otherwise. The calling
// thread waits for the socket. One thread at a time.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

// libpq's type
struct pg_conn;
struct pg_result;

namespace tidemark::kv::detail {

/// A statement that a connection prepares when it first meets it. It must outlive the connection.
struct Prepared {
  std::string name;
  std::string sql;
};

/// Parameters in the binary format; their types are those that the statement names.
class Parameters {
 public:
  Parameters& number(std::int64_t value);
  Parameters& bytes(std::string_view value);
  Parameters& null();
  /// Adds a bytea[]; nothing: null.
  Parameters& list(const std::vector<std::optional<std::string_view>>& values);
  [[nodiscard]] const std::vector<std::optional<std::string>>& values() const { return values_; }

 private:
  std::vector<std::optional<std::string>> values_;
};

struct Statement {
  const Prepared& prepared;
  Parameters parameters = {};
};

/// The rows of one statement.
class SqlRows {
 public:
  explicit SqlRows(pg_result* result) : result_(result) {}
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::string_view bytes(std::size_t row, int column) const;
  [[nodiscard]] std::int64_t number(std::size_t row, int column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

class Connection {
 public:
  using Patience = std::optional<std::chrono::milliseconds>;  // nothing: as long as the operating system waits

  /// The messages of errors tell people the remedy; none contains the password.
  static Result<std::unique_ptr<Connection>> open(const std::string& url);

  /// Sends the statements and waits for their rows. The transaction is committed when this returns them. After an error
  /// it is not committed, unless the connection was lost: then the outcome is unknown.
  Result<std::vector<SqlRows>> run(std::span<const Statement> statements, Patience patience);
  Result<SqlRows> run(const Statement& statement, Patience patience);
  /// Sends a statement without waiting, and leaves its results to the next call.
  void send(const Statement& statement);

  /// True if the connection can no longer be used.
  [[nodiscard]] bool lost() const { return lost_; }
  /// The SQLSTATE of the last error, such as "40001", if the server reported it.
  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }
  [[nodiscard]] std::string parameter(const char* name) const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  explicit Connection(pg_conn* connection) : connection_(connection) {}
  bool queue(std::span<const Statement> statements);
  Result<std::vector<SqlRows>> receive(Patience patience);
  /// Takes the results that have arrived. Rows of this call are appended to `rows`; its first error is put into
  /// `failure`.
  void take_results(std::vector<SqlRows>& rows, std::optional<Error>& failure);
  void take(pg_result* result, std::vector<SqlRows>& rows, std::optional<Error>& failure);
  Result<void> wait_for_socket(std::optional<std::chrono::steady_clock::time_point> until);
  Error lose(std::string_view what);

  std::unique_ptr<pg_conn, Finish> connection_;
  std::set<std::string, std::less<>> prepared_;
  std::deque<const Prepared*> sent_;  // the unanswered ones: a statement being prepared, or null for a statement
  std::size_t unanswered_ = 0;        // pipelines
  std::string sqlstate_;
  bool lost_ = false;
};

}  // namespace tidemark::kv::detail
