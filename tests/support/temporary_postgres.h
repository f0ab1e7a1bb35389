// A PostgreSQL of one's own, for tests: a cluster in a temporary directory, reached by a socket there, which ends with
// the process. PostgreSQL refuses to run as root, so root runs it as nobody.
#pragma once
#include <memory>
#include <string>

namespace tidemark::testing {

class TemporaryPostgres {
 public:
  /// The one of this process, started when it is first asked for; null where PostgreSQL is not installed. Throws if it
  /// is there and does not start.
  static TemporaryPostgres* shared();
  static constexpr const char* kAbsent = "PostgreSQL is not installed: scripts/setup --tests installs it";

  ~TemporaryPostgres();
  TemporaryPostgres(const TemporaryPostgres&) = delete;
  TemporaryPostgres& operator=(const TemporaryPostgres&) = delete;

  [[nodiscard]] std::string url() const { return "host=" + directory_ + " user=postgres dbname=postgres"; }
  /// The path of the socket itself.
  [[nodiscard]] std::string socket() const { return directory_ + "/.s.PGSQL.5432"; }
  /// Never the same twice.
  [[nodiscard]] std::string new_schema();

 private:
  TemporaryPostgres(std::string programs, std::string directory);
  void start();

  const std::string programs_, directory_;
  int server_ = -1;
  int schemas_ = 0;
};

}  // namespace tidemark::testing
