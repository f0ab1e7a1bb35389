// A private PostgreSQL for tests: a cluster in a temporary directory, reached by a socket there, which ends with the
// process. PostgreSQL refuses to run as root, so root runs it as nobody.
#pragma once
#include <memory>
#include <string>

namespace tidemark::testing {

class TemporaryPostgres {
 public:
  /// Returns the instance of this process, started at the first call; null where PostgreSQL is not installed. Throws if
  /// it is installed and does not start.
  static TemporaryPostgres* shared();
  static constexpr const char* kAbsent = "PostgreSQL is not installed: scripts/setup --tests installs it";

  ~TemporaryPostgres();
  TemporaryPostgres(const TemporaryPostgres&) = delete;
  TemporaryPostgres& operator=(const TemporaryPostgres&) = delete;

  [[nodiscard]] std::string url() const { return "host=" + directory_ + " user=postgres dbname=postgres"; }
  /// The path of the socket itself.
  [[nodiscard]] std::string socket() const { return directory_ + "/.s.PGSQL.5432"; }
  /// Returns a schema name that was never returned before.
  [[nodiscard]] std::string new_schema();

 private:
  TemporaryPostgres(std::string programs, std::string directory);
  void start();

  const std::string programs_, directory_;
  int server_ = -1;
  int schemas_ = 0;
};

}  // namespace tidemark::testing
