#include "tests/histories/entity_clients.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace tidemark::histories {
namespace {

constexpr const char* kTable = "Rows";
constexpr Row kFewRows = 6, kManyRows = 100, kErasedRows = 90;  // the last ten come and go
constexpr const char* kJson = "x-ms-version: 2019-02-02\r\nAccept: application/json;odata=nometadata\r\n";

std::string key_of(Row row) {
  char text[8];
  std::snprintf(text, sizeof text, "r%03u", static_cast<unsigned>(row));
  return text;
}

std::string path_of(const std::string& partition, Row row) {
  return std::string("/") + kTable + "(PartitionKey='" + partition + "',RowKey='" + key_of(row) + "')";
}

bool merges(Verb verb) { return verb == Verb::kMerge || verb == Verb::kPutMerged; }

std::string json_of(const std::string& partition, const Change& change) {
  const auto token = std::to_string(change.token);
  auto text = R"({"PartitionKey":")" + partition + R"(","RowKey":")" + key_of(change.row) + R"(","V":)" + token;
  if (!merges(change.verb)) text += R"(,"W":)" + token;
  return text + R"(,"Shade":)" + std::to_string(change.token % Asked::kShades) + "}";
}

Content content_of(const nlohmann::json& entity) { return {entity.value("V", kNothing), entity.value("W", kNothing)}; }

std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char encoded[4];
    std::snprintf(encoded, sizeof encoded, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : encoded;
  }
  return out;
}

std::string filter_of(const std::string& partition, const Asked& asked) {
  auto text = "PartitionKey eq '" + partition + "'";
  if (asked.first == asked.last) {
    text += " and RowKey eq '" + key_of(asked.first) + "'";
  } else if (asked.last != Asked{}.last) {
    text += " and RowKey ge '" + key_of(asked.first) + "' and RowKey le '" + key_of(asked.last) + "'";
  }
  return asked.shade ? text + " and Shade eq " + std::to_string(*asked.shade) : text;
}

class FewRows final : public EntityClient {
 public:
  using EntityClient::EntityClient;

 private:
  void step() override {
    auto& place = any_of(workload_.small);
    const auto partition = place.object();
    const auto choice = below(100);
    if (choice < 25) {
      write(place, partition, {any_change(any_row())});
    } else if (choice < 45) {
      write_what_is_known(place, partition);
    } else if (choice < 60) {
      write_group(place, partition);
    } else if (choice < 75) {
      get(partition, any_row());
    } else if (choice < 95) {
      query(partition, any_question());
    } else {
      query_table(workload_.small, {.shade = static_cast<Token>(below(Asked::kShades))});
    }
  }

  Row any_row() { return static_cast<Row>(below(kFewRows)); }

  Change any_change(Row row) {
    const auto verb = static_cast<Verb>(below(static_cast<std::uint64_t>(Verb::kErase) + 1));
    return {verb, row, verb == Verb::kErase ? kNothing : workload_.next_token()};
  }

  void write_what_is_known(Place& place, const std::string& partition) {
    const auto row = any_row();
    const auto known = get(partition, row);
    if (!known) return;
    static constexpr Verb kConditional[] = {Verb::kReplace, Verb::kMerge, Verb::kReplace, Verb::kErase};
    const auto verb = any_of(kConditional);
    const Change change{verb, row, verb == Verb::kErase ? kNothing : workload_.next_token(), known->token};
    write(place, partition, {change}, known->etag);
  }

  /// Writes a group whose changes all leave the same token, which identifies the group.
  void write_group(Place& place, const std::string& partition) {
    const auto token = workload_.next_token();
    std::vector<Change> changes;
    for (Row row = 0; row < kFewRows; ++row) {
      if (chance(50)) changes.push_back({chance(70) ? Verb::kPut : any_change(row).verb, row, token});
      if (!changes.empty() && changes.back().verb == Verb::kErase) changes.back().token = kNothing;
    }
    if (changes.size() > 1) write(place, partition, std::move(changes));
  }

  Asked any_question() {
    Asked asked;
    if (chance(30)) asked.shade = static_cast<Token>(below(Asked::kShades));
    if (chance(30)) asked.first = asked.last = any_row();
    return asked;
  }
};

class GroupWriter final : public EntityClient {
 public:
  using EntityClient::EntityClient;

 private:
  void step() override {
    auto& place = workload_.wide[static_cast<std::size_t>(number_) % workload_.wide.size()];
    const auto partition = place.object();
    if (partition != partition_) erases_ = false;
    partition_ = partition;
    const auto token = workload_.next_token();
    std::vector<Change> changes;
    for (Row row = 0; row < kManyRows; ++row) {
      const bool erased = erases_ && row >= kErasedRows;
      changes.push_back({erased ? Verb::kErase : Verb::kPut, row, erased ? kNothing : token});
    }
    // A group that erases needs the rows of one that puts, so it follows only one that is known to be done.
    erases_ = write(place, partition, std::move(changes)) && !erases_;
  }

  std::string partition_;
  bool erases_ = false;
};

/// Scans whole partitions: its snapshots of the database live long, and other reads may share them.
class GroupScanner final : public EntityClient {
 public:
  using EntityClient::EntityClient;

 private:
  void step() override { query_table(workload_.wide, {}); }
};

class GroupReader final : public EntityClient {
 public:
  using EntityClient::EntityClient;

 private:
  void step() override {
    const auto partition = any_of(workload_.wide).object();
    const auto stays = static_cast<Row>(below(kErasedRows));
    const auto goes = static_cast<Row>(kErasedRows + below(kManyRows - kErasedRows));
    const auto choice = below(100);
    get(partition, stays);
    if (choice < 30) {
      get(partition, goes);
    } else if (choice < 65) {
      query(partition, {stays, stays, std::nullopt});
    } else if (choice < 85) {
      query(partition, {stays, goes, std::nullopt});
    } else if (choice < 95) {
      query(partition, {0, Asked{}.last, static_cast<Token>(below(Asked::kShades))});
    } else {
      query(partition, {});
    }
    if (chance(30)) get(partition, stays);
  }
};

}  // namespace

HttpRequest EntityClient::request_of(const std::string& partition, const Change& change,
                                     const std::string& etag) const {
  HttpRequest request{"PUT", path_of(partition, change.row), kJson, json_of(partition, change)};
  if (merges(change.verb)) request.method = "MERGE";
  if (change.verb == Verb::kInsert) request.method = "POST", request.target = std::string("/") + kTable;
  if (change.verb == Verb::kErase) request.method = "DELETE", request.body.clear();
  if (change.verb == Verb::kInsert) request.headers += "Prefer: return-no-content\r\n";
  if (!request.body.empty()) request.headers += "Content-Type: application/json\r\n";
  const bool conditional = change.verb == Verb::kReplace || change.verb == Verb::kMerge || change.verb == Verb::kErase;
  if (conditional) request.headers += "If-Match: " + etag + "\r\n";
  return request;
}

HttpRequest EntityClient::group_of(const std::string& partition, const std::vector<Change>& changes) const {
  HttpRequest group{"POST", "/$batch", kJson, "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n"};
  group.headers += "Content-Type: multipart/mixed; boundary=b\r\n";
  for (const auto& change : changes) {
    const auto part = request_of(partition, change, "*");
    group.body += "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + part.method +
                  " http://127.0.0.1/devstoreaccount1" + part.target + " HTTP/1.1\r\n" + part.headers + "\r\n" +
                  part.body + "\r\n";
  }
  group.body += "--c--\r\n--b--\r\n";
  return group;
}

bool EntityClient::write(Place& place, const std::string& partition, std::vector<Change> changes,
                         const std::string& etag) {
  const bool alone = changes.size() == 1;
  const auto request = alone ? request_of(partition, changes.front(), etag) : group_of(partition, changes);
  auto operation = begin();
  auto answer = ask(workload_.table_ports, request);
  // A group has the status of the first part of the answer: either all changes were done, or that part says why none
  // was.
  const auto inner = alone ? std::string::npos : answer.body.find("HTTP/1.1 ");
  if (answer.ok() && inner != std::string::npos) answer.status = std::atoi(answer.body.c_str() + inner + 9);
  const auto first = changes.front();
  operation.changes = std::move(changes);
  const bool done = end_write(partition, std::move(operation), answer);
  place.asked(answer.sent && !done && !answer.refused());
  if (done && alone && first.verb != Verb::kErase) {
    book_.note_etag(partition, first.row, answer.header("ETag"), first.token);
  }
  return done;
}

std::optional<EntityClient::Known> EntityClient::get(const std::string& partition, Row row) {
  auto operation = begin("get");
  const auto answer = ask(workload_.table_ports, {"GET", path_of(partition, row), kJson, {}});
  if (answer.refused() && answer.status != 404) surprised(answer);
  if (!answer.ok() && answer.status != 404) return std::nullopt;
  operation.asked = {row, row, std::nullopt};
  const auto content = answer.ok() ? content_of(nlohmann::json::parse(answer.body)) : Content{};
  if (answer.ok()) operation.seen[row] = content;
  end_read(partition, std::move(operation));
  if (!answer.ok()) return std::nullopt;
  book_.note_etag(partition, row, answer.header("ETag"), content.version);
  return Known{std::string(answer.header("ETag")), content.version};
}

std::optional<std::map<std::string, std::map<Row, Content>>> EntityClient::find(const std::string& filter) {
  const auto answer = ask(workload_.table_ports, {"GET", std::string("/") + kTable + "()", kJson, {}},
                          "$filter=" + percent_encoded(filter));
  if (answer.refused()) surprised(answer);
  if (!answer.ok() || !answer.header("x-ms-continuation-NextPartitionKey").empty()) return std::nullopt;
  std::map<std::string, std::map<Row, Content>> found;
  for (const auto& entity : nlohmann::json::parse(answer.body)["value"]) {
    const auto row = std::stoi(entity["RowKey"].get<std::string>().substr(1));
    found[entity["PartitionKey"].get<std::string>()][static_cast<Row>(row)] = content_of(entity);
  }
  return found;
}

bool EntityClient::query(const std::string& partition, const Asked& asked) {
  auto operation = begin("query");
  auto found = find(filter_of(partition, asked));
  if (!found) return false;
  operation.asked = asked;
  operation.seen = std::move((*found)[partition]);
  end_read(partition, std::move(operation));
  return true;
}

void EntityClient::query_table(const std::deque<Place>& places, const Asked& asked) {
  std::vector<std::string> partitions;
  for (const auto& place : places) partitions.push_back(place.object());
  const auto [first, last] = std::ranges::minmax(partitions);
  const auto begun = begin("query of the table");
  auto filter = "PartitionKey ge '" + first + "' and PartitionKey le '" + last + "'";
  if (asked.shade) filter += " and Shade eq " + std::to_string(*asked.shade);
  auto found = find(filter);
  if (!found) return;
  for (const auto& partition : partitions) {
    auto operation = begun;
    operation.asked = asked;
    operation.seen = std::move((*found)[partition]);
    end_read(partition, std::move(operation));
  }
}

bool EntityClient::look(const std::string& partition) { return query(partition, {}); }

std::unique_ptr<Client> make_entity_client(Workload& workload, int number, std::uint64_t seed) {
  return std::make_unique<FewRows>(workload, number, seed);
}
std::unique_ptr<Client> make_group_writer(Workload& workload, int number, std::uint64_t seed) {
  return std::make_unique<GroupWriter>(workload, number, seed);
}
std::unique_ptr<Client> make_group_scanner(Workload& workload, int number, std::uint64_t seed) {
  return std::make_unique<GroupScanner>(workload, number, seed);
}
std::unique_ptr<Client> make_group_reader(Workload& workload, int number, std::uint64_t seed) {
  return std::make_unique<GroupReader>(workload, number, seed);
}

}  // namespace tidemark::histories
