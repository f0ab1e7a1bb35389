#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <set>

#include "api/cli/commands.h"
#include "api/cli/import_senders.h"
#include "api/cli/numbers.h"
#include "api/cli/package_index.h"
#include "api/cli/table_http.h"
#include "api/cli/terminal.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;
constexpr std::size_t kBatch = 100;                 // operations in an entity group transaction
constexpr std::size_t kBatchBytes = 3UL << 20;      // of the 4 MiB that are allowed
constexpr std::size_t kMaxOpenPartitions = 10'000;  // entities that wait for others of their partition
constexpr const char* kTypeEnding = "@odata.type";

/// Makes whole numbers that the service would take for Doubles, and round, an Int64.
Result<void> keep_whole_numbers(json& entity) {
  std::vector<std::string> large;
  for (const auto& [name, value] : entity.items()) {
    if (!value.is_number_integer() || entity.contains(name + kTypeEnding)) continue;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      return fail(ErrorCode::kInvalidInput,
                  "property " + name + ": " + value.dump() +
                      " does not fit into an Int64: write it as a string, or with .0 as a Double");
    }
    const auto number = value.get<std::int64_t>();
    if (number != static_cast<std::int32_t>(number)) large.push_back(name);
  }
  for (const auto& name : large) {
    entity[name] = entity[name].dump();
    entity[name + kTypeEnding] = "Edm.Int64";
  }
  return {};
}

/// Gathers entities by partition, and has them sent in transactions of up to 100.
class Importer {
 public:
  Importer(TableHttp& tables, ImportSenders& senders, std::string table)
      : tables_(tables), senders_(senders), table_(std::move(table)) {}

  Result<void> add(json entity) {
    if (!entity.is_object() || !entity.contains("PartitionKey") || !entity["PartitionKey"].is_string() ||
        !entity.contains("RowKey") || !entity["RowKey"].is_string()) {
      return fail(ErrorCode::kPropertiesNeedValue,
                  "entity " + std::to_string(read_ + 1) + " needs the strings PartitionKey and RowKey");
    }
    if (auto kept = keep_whole_numbers(entity); !kept) {
      return fail(kept.error().code, "entity " + std::to_string(read_ + 1) + ": " + kept.error().message);
    }
    ++read_;
    WrittenEntity written{entity["PartitionKey"].get<std::string>(), entity["RowKey"].get<std::string>(),
                          entity.dump(-1, ' ', false, json::error_handler_t::replace)};
    auto& group = groups_[written.partition_key];
    // A transaction may hold an entity only once, and its size is limited.
    if (group.rows.contains(written.row_key) || group.entities.size() == kBatch ||
        group.bytes + written.text.size() > kBatchBytes) {
      TRY(flush(written.partition_key, group));
    }
    group.rows.insert(written.row_key);
    group.bytes += written.text.size();
    group.entities.push_back(std::move(written));
    ++waiting_;
    if (waiting_ > kMaxOpenPartitions) return flush_all();
    return {};
  }
  Result<void> finish() {
    TRY(flush_all());
    return senders_.finish();
  }
  [[nodiscard]] std::size_t sent() const { return senders_.sent(); }
  /// The table is made before the first entities are sent, so an import that fails earlier leaves none.
  Result<void> ensure_table() {
    if (!made_) made_ = TRY(tables_.ensure_table(table_));
    return {};
  }
  /// Adds to an error that the table was made.
  [[nodiscard]] Error with_table(Error error) const {
    if (!made_.value_or(false)) return error;
    if (!error.message.ends_with('.')) error.message += '.';
    error.message += " The table " + table_ + " was made by this import, and stays.";
    return error;
  }

 private:
  struct Group {
    std::vector<WrittenEntity> entities;
    std::set<std::string> rows;
    std::size_t bytes = 0;
  };
  Result<void> flush_all() {
    for (auto& [partition, group] : groups_) TRY(flush(partition, group));
    groups_.clear();
    return {};
  }
  Result<void> flush(const std::string& partition, Group& group) {
    if (group.entities.empty()) return {};
    TRY(ensure_table());
    waiting_ -= group.entities.size();
    TRY(senders_.send(partition, std::move(group.entities)));
    group = Group();
    if (isatty(STDERR_FILENO) != 0) std::cerr << "\r\033[K" << counted(sent(), "entity") << std::flush;
    return {};
  }
  TableHttp& tables_;
  ImportSenders& senders_;
  std::string table_;
  std::map<std::string, Group> groups_;
  std::optional<bool> made_;  // nothing: it is not known yet that there is the table
  std::size_t read_ = 0, waiting_ = 0;
};

Result<void> read_packages(std::istream& input, Importer& importer) {
  Result<void> outcome;
  read_package_index(input, [&](json entity) {
    outcome = importer.add(std::move(entity));
    return outcome.has_value();
  });
  TRY(outcome);
  return check_read(input);
}

Result<int> import_entities(const GlobalOptions& options, const std::string& table, const std::string& format,
                            const std::string& file) {
  const auto input = TRY(open_file(file));
  auto tables = TRY(TableHttp::create(options));
  TRY(TableHttp::check_name(table));
  const auto senders = TRY(ImportSenders::create(options, table));
  Importer importer(tables, *senders, table);
  auto outcome = format == "jsonl"
                     ? read_json_lines(*input, [&](json entity) { return importer.add(std::move(entity)); })
                     : read_packages(*input, importer);
  if (outcome) outcome = importer.finish();
  if (isatty(STDERR_FILENO) != 0) std::cerr << "\n";
  if (outcome && importer.sent() == 0 && format != "jsonl") {
    outcome = fail(ErrorCode::kInvalidInput, "no package was found: is this what apt-cache dumpavail prints?");
  }
  if (outcome) outcome = importer.ensure_table();  // also for an import of nothing
  if (!outcome) return fail(importer.with_table(std::move(outcome.error())));
  print_answer(options, {{"imported", importer.sent()}}, [&](const json&) {
    std::cout << "imported " << counted(importer.sent(), "entity") << " into " << table << "\n";
  });
  return kOk;
}

struct QueryArguments {
  std::string table, filter, select;
  std::size_t top = 0;
  bool count = false;
};

Result<int> query_entities(const GlobalOptions& options, const QueryArguments& a) {
  auto tables = TRY(TableHttp::create(options));
  std::size_t seen = 0;
  const TableHttp::Query query{a.table, a.filter, a.count ? "PartitionKey" : a.select, options.json && !a.count};
  bool more = false;
  TRY(tables.query(query, [&](const json& entity) {
    more = a.top > 0 && seen == a.top;
    if (more) return false;
    ++seen;
    if (!a.count) std::cout << entity.dump(options.json ? -1 : 2) << "\n";
    return true;
  }));
  if (more && !options.json) std::cerr << "(" << seen << " shown; there are more: --top 0 shows all)\n";
  if (seen == 0 && !a.count && !options.json) std::cout << "no entities\n";
  if (a.count) print_answer(options, {{"count", seen}}, [&](const json&) { std::cout << seen << "\n"; });
  return kOk;
}

Result<int> list_tables(const GlobalOptions& options) {
  auto tables = TRY(TableHttp::create(options));
  auto names = json::array();
  TRY(tables.query({"Tables"}, [&](const json& table) {
    names.push_back(table.value("TableName", ""));
    return true;
  }));
  print_answer(options, {{"tables", std::move(names)}}, member_of("tables", table_of({{"table", ""}})));
  return kOk;
}

void print_table(const json& table) {
  std::cout << "table: " << cell(table, "name")
            << "\nfeed: " << (table.value("feed", false) ? "yes, see `tidemark feed show`" : "no") << "\nindexes:";
  for (const auto& index : table.value("indexes", json::array())) std::cout << " " << text_of(index);
  std::cout << (table.value("indexes", json::array()).empty() ? " none\n" : "\n");
}

Result<int> create_table(const GlobalOptions& options, const std::string& name) {
  auto api = TRY(ApiClient::create(options));
  const auto table = TRY(api.call("PUT", item_path("tables", name)));
  print_answer(options, table, said(api.status() == kMade ? "created" : "it was there already"));
  return kOk;
}

void add_whole_tables(const Commands& tables) {
  auto name = std::make_shared<std::string>();
  auto consent = std::make_shared<Consent>();
  const auto named = [name](CLI::App& command) { command.add_option("table", *name, "the table's name")->required(); };
  named(tables.add("create", "make a table; one that is there stays as it is",
                   [name](const GlobalOptions& options) { return create_table(options, *name); }));
  named(tables.add("show", "whether there is a table, whether it keeps its changes, and its indexes",
                   [name](const GlobalOptions& options) {
                     return call_and_print(options, "GET", item_path("tables", *name), print_table);
                   }));
  auto& dropping = tables.add("drop", "delete a table with all of its entities",
                              [name, consent](const GlobalOptions& options) -> Result<int> {
                                if (!TRY(consent->to("Delete the table " + *name + " with all of its entities?")))
                                  return kOk;
                                return call_and_print(options, "DELETE", item_path("tables", *name), said("deleted"));
                              });
  named(dropping);
  consent->declare(dropping);
}

void add_import(const Commands& tables) {
  auto name = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("jsonl");
  auto file = std::make_shared<std::string>("-");
  auto& importing = tables.add(
      "import", "insert or replace entities from a file or standard input, such as what query --json prints",
      [name, format, file](const GlobalOptions& options) { return import_entities(options, *name, *format, *file); });
  importing.add_option("table", *name, "the table; created if absent")->required();
  importing.add_option("--format", *format, "jsonl: an entity a line; debian-packages: as apt-cache dumpavail prints")
      ->check(CLI::IsMember({"jsonl", "debian-packages"}))
      ->capture_default_str();
  importing.add_option("--file", *file, "- for standard input")->capture_default_str();
}

void add_query(const Commands& tables) {
  auto arguments = std::make_shared<QueryArguments>();
  auto& querying =
      tables.add("query", "print entities as JSON; with --json one a line, with their types, as import takes them",
                 [arguments](const GlobalOptions& options) { return query_entities(options, *arguments); });
  querying.add_option("table", arguments->table, "the table")->required();
  querying.add_option("--filter", arguments->filter, "OData filter");
  querying.add_option("--select", arguments->select, "properties, separated by commas");
  querying.add_option("--top", arguments->top, "at most this many; 0 for all")->check(whole_number());
  querying.add_flag("--count", arguments->count, "print only their number");
}

}  // namespace

void add_table_commands(const Commands& program) {
  const auto tables = program.family("table", "make, list and drop tables, import entities and query them");
  tables.add("list", "the names of all tables", list_tables);
  add_whole_tables(tables);
  add_import(tables);
  add_query(tables);
  add_table_past(tables);
}

}  // namespace tidemark::cli
