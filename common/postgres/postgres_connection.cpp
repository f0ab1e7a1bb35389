#include "common/postgres/postgres_connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <memory>

#include "common/kv/key_codec.h"
#include "common/postgres/postgres_hosts.h"

namespace tidemark::kv::detail {
namespace {

constexpr int kBinary = 1;
constexpr std::uint32_t kByteaType = 17;
constexpr std::uint32_t kNullLength = 0xFFFF'FFFF;

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

/// Returns the library's text as one line.
std::string one_line(std::string_view text) {
  std::string line(text.substr(0, text.find_last_not_of("\n ") + 1));
  for (auto& c : line) c = c == '\n' ? ' ' : c;
  return line;
}

Error trouble(std::string_view what, std::string_view why) {
  return error_for_log(ErrorCode::kServerBusy, "PostgreSQL: " + std::string(what) + ": " + one_line(why));
}

/// Tells whether the special characters of a password are written as %XX. Otherwise a part of it would be taken for a
/// host, a port or a database, which errors quote. In that case there is an @ after the end of the user and the
/// password, as the library finds that end.
bool is_escaped(std::string_view url) {
  if (!url.starts_with("postgresql://") && !url.starts_with("postgres://")) return true;
  url.remove_prefix(url.find("//") + 2);
  const auto end = url.find_first_of("@/");
  if (end != std::string_view::npos && url[end] == '@') url.remove_prefix(end + 1);
  return !url.substr(0, url.find('?')).contains('@');
}

bool are_ports(std::string_view ports) { return ports.find_first_not_of("0123456789,") == std::string_view::npos; }

std::unexpected<Error> not_a_connection_string() {
  return fail(ErrorCode::kConfigInvalid,
              "the database's connection string is neither postgresql://user:password@host/name, with special "
              "characters as %XX, nor host=... dbname=..., with values that have spaces in '...'");
}

/// If the library does not understand the string, its own message is not used: it quotes the string, with the password.
Result<Hosts> hosts_in(const std::string& url) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfoParse(url.c_str(), nullptr),
                                                                             &PQconninfoFree);
  if (options == nullptr || !is_escaped(url)) return not_a_connection_string();
  Hosts hosts;
  bool addresses = false;
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    if (option->val == nullptr) continue;
    if (keyword == "host") hosts.names = option->val;
    if (keyword == "port") hosts.ports = option->val;
    if (keyword == "hostaddr") addresses = true;
  }
  if (!are_ports(hosts.ports)) return not_a_connection_string();
  return addresses ? Hosts{} : hosts;  // given addresses are tried in their own order
}

}  // namespace

Parameters& Parameters::number(std::int64_t value) {
  append_u64(*values_.emplace_back(std::in_place), static_cast<std::uint64_t>(value));
  return *this;
}

Parameters& Parameters::bytes(std::string_view value) {
  values_.emplace_back(value);
  return *this;
}

Parameters& Parameters::null() {
  values_.emplace_back();
  return *this;
}

/// Encodes the list as array_recv() of PostgreSQL reads it: dimensions, whether there are nulls, type; length and lower
/// bound of the dimension; length and bytes of each value.
Parameters& Parameters::list(const std::vector<std::optional<std::string_view>>& values) {
  auto& out = *values_.emplace_back(std::in_place);
  append_u32(out, values.empty() ? 0 : 1);
  append_u32(out, 1);
  append_u32(out, kByteaType);
  if (values.empty()) return *this;
  append_u32(out, static_cast<std::uint32_t>(values.size()));
  append_u32(out, 1);
  for (const auto& value : values) {
    append_u32(out, value ? static_cast<std::uint32_t>(value->size()) : kNullLength);
    if (value) out.append(*value);
  }
  return *this;
}

void SqlRows::Clear::operator()(pg_result* result) const { PQclear(result); }
void Connection::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

std::size_t SqlRows::size() const { return static_cast<std::size_t>(PQntuples(result_.get())); }

std::string_view SqlRows::bytes(std::size_t row, int column) const {
  const auto at = static_cast<int>(row);
  return {PQgetvalue(result_.get(), at, column), static_cast<std::size_t>(PQgetlength(result_.get(), at, column))};
}

std::int64_t SqlRows::number(std::size_t row, int column) const {
  auto value = bytes(row, column);
  return static_cast<std::int64_t>(take_u64(value).value_or(0));
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& url) {
  auto& known = DatabaseHosts::of_process();
  const auto hosts = known.in_order(url, TRY(hosts_in(url)));
  const auto begun = std::chrono::steady_clock::now();
  // The connection string can override the values in front of it. A host that vanished is noticed within ten seconds.
  constexpr std::array kNames = {"connect_timeout",
                                 "tcp_user_timeout",
                                 "keepalives_idle",
                                 "keepalives_interval",
                                 "keepalives_count",
                                 "target_session_attrs",
                                 "fallback_application_name",
                                 "dbname",
                                 "host",
                                 "port",
                                 static_cast<const char*>(nullptr)};
  const std::array values = {"5",
                             "10000",
                             "5",
                             "2",
                             "3",
                             "read-write",
                             "tidemark",
                             url.c_str(),
                             hosts.names.c_str(),
                             hosts.ports.c_str(),
                             static_cast<const char*>(nullptr)};
  std::unique_ptr<Connection> opened(new Connection(PQconnectdbParams(kNames.data(), values.data(), 1)));
  auto* const connection = opened->connection_.get();
  if (PQstatus(connection) != CONNECTION_OK) {
    known.nobody_did(url, begun, std::chrono::steady_clock::now());
    return fail(trouble("cannot connect", PQerrorMessage(connection)));
  }
  known.took_writes(url, {PQhost(connection), PQport(connection)});
  PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(connection, 1) != 0 || PQenterPipelineMode(connection) != 1) {
    return fail(trouble("cannot connect", PQerrorMessage(connection)));
  }
  return opened;
}

std::string Connection::parameter(const char* name) const {
  const auto* value = PQparameterStatus(connection_.get(), name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<SqlRows> Connection::run(const Statement& statement, Patience patience) {
  return std::move(TRY(run(std::span(&statement, 1), patience)).front());
}

Result<std::vector<SqlRows>> Connection::run(std::span<const Statement> statements, Patience patience) {
  if (!queue(statements)) return fail(lose("cannot send"));
  return receive(patience);
}

void Connection::send(const Statement& statement) {
  if (!queue(std::span(&statement, 1)) || PQflush(connection_.get()) < 0) lose("cannot send");
}

bool Connection::queue(std::span<const Statement> statements) {
  auto* const connection = connection_.get();
  if (lost_) return false;
  for (const auto& [prepared, parameters] : statements) {
    const auto& values = parameters.values();
    if (prepared_.insert(prepared.name).second) {
      if (PQsendPrepare(connection, prepared.name.c_str(), prepared.sql.c_str(), 0, nullptr) != 1) return false;
      sent_.push_back(&prepared);
    }
    std::vector<const char*> bytes;
    std::vector<int> sizes, formats(values.size(), kBinary);
    for (const auto& value : values) {
      bytes.push_back(value ? value->data() : nullptr);
      sizes.push_back(value ? static_cast<int>(value->size()) : 0);
    }
    if (PQsendQueryPrepared(connection, prepared.name.c_str(), static_cast<int>(values.size()), bytes.data(),
                            sizes.data(), formats.data(), kBinary) != 1) {
      return false;
    }
    sent_.push_back(nullptr);
  }
  if (PQpipelineSync(connection) != 1) return false;
  ++unanswered_;
  return true;
}

Result<std::vector<SqlRows>> Connection::receive(Patience patience) {
  std::vector<SqlRows> rows;
  std::optional<Error> failure;
  const auto until = patience ? std::optional(std::chrono::steady_clock::now() + *patience) : std::nullopt;
  for (take_results(rows, failure); unanswered_ > 0 && !lost_; take_results(rows, failure)) {
    // A server that hangs up may say why before that, but not whether it had committed.
    if (auto waited = wait_for_socket(until); !waited) return fail(failure ? *failure : waited.error());
  }
  if (lost_ && !failure) failure = lose("lost the connection");
  if (failure) return fail(std::move(*failure));
  return rows;
}

void Connection::take_results(std::vector<SqlRows>& rows, std::optional<Error>& failure) {
  auto* const connection = connection_.get();
  for (int nothing = 0; unanswered_ > 0 && nothing < 2 && PQisBusy(connection) == 0;) {
    auto* const result = PQgetResult(connection);
    nothing = result == nullptr ? nothing + 1 : 0;  // a null result ends the results of a statement
    if (result != nullptr) take(result, rows, failure);
  }
  if (PQstatus(connection) != CONNECTION_OK) lost_ = true;
}

void Connection::take(PGresult* result, std::vector<SqlRows>& rows, std::optional<Error>& failure) {
  SqlRows owned(result);
  const auto status = PQresultStatus(result);
  if (status == PGRES_PIPELINE_SYNC) {
    if (--unanswered_ == 0) return;
    rows.clear();  // they belonged to an earlier call
    failure.reset();
    return;
  }
  const auto* const preparing = sent_.empty() ? nullptr : sent_.front();
  if (!sent_.empty()) sent_.pop_front();
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
    if (preparing == nullptr) rows.push_back(std::move(owned));
    return;
  }
  if (preparing != nullptr) prepared_.erase(preparing->name);
  if (status == PGRES_PIPELINE_ABORTED || failure) return;
  const auto* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  sqlstate_ = state == nullptr ? "" : state;
  failure = trouble("refused", PQresultErrorMessage(result));
}

/// Reads while it waits to write, since a server that cannot send its answers reads nothing more.
Result<void> Connection::wait_for_socket(std::optional<std::chrono::steady_clock::time_point> until) {
  auto* const connection = connection_.get();
  const int unsent = PQflush(connection);
  if (unsent < 0) return fail(lose("cannot send"));
  int timeout = -1;
  if (until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return fail(lose("no answer in time"));
    timeout = static_cast<int>(left);
  }
  pollfd waiting{PQsocket(connection), static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0)), 0};
  if (::poll(&waiting, 1, timeout) < 0 && errno != EINTR) return fail(lose("cannot wait"));
  if ((waiting.revents & (POLLIN | POLLERR | POLLHUP)) != 0 && PQconsumeInput(connection) != 1) {
    return fail(lose("lost the connection"));
  }
  return {};
}

Error Connection::lose(std::string_view what) {
  lost_ = true;
  sqlstate_.clear();
  return trouble(what, PQerrorMessage(connection_.get()));
}

}  // namespace tidemark::kv::detail
