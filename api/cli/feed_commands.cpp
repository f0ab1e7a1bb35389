#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "api/cli/commands.h"
#include "api/cli/event_reader.h"
#include "api/cli/job_options.h"
#include "api/cli/numbers.h"
#include "api/cli/paged_list.h"
#include "common/base/encoding.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

std::string readable_bytes_of(const json& bytes) {
  return bytes.is_number() ? readable_bytes(bytes.get<std::uint64_t>()) : std::string();
}

Print feed_table() {
  return table_of({{"table", "/table"},
                   {"values", "/values"},
                   {">changes", "/changes"},
                   {">size", "/bytes", readable_bytes_of},
                   {">at most", "/maxBytes", readable_bytes_of},
                   {">oldest", "/oldestAgeSeconds", duration_of},
                   {">kept for", "/retention", duration_of}});
}

void add_put_feed(const Commands& feeds) {
  struct Arguments {
    std::string table, values = "keys";
    std::int64_t retention = 86'400, max_bytes = 1LL << 30;
  };
  auto a = std::make_shared<Arguments>();
  auto& putting = feeds.add(
      "put", "keep the changes of a table from now on, or change how long and what", [a](const GlobalOptions& options) {
        const json body{{"retention", a->retention}, {"maxBytes", a->max_bytes}, {"values", a->values}};
        return call_and_print(options, "PUT", item_path("tables", a->table, "/feed"), feed_table(), body.dump());
      });
  putting.add_option("table", a->table, "the table")->required();
  putting.add_option("--retention", a->retention, "how long a change is kept")
      ->transform(duration(1))
      ->capture_default_str();
  putting.add_option("--max-bytes", a->max_bytes, "how much is kept; the oldest changes go first")
      ->check(positive_number())
      ->capture_default_str();
  putting.add_option("--values", a->values, "which values of the entity are kept with each change")
      ->check(CLI::IsMember({"keys", "old", "new", "both"}))
      ->capture_default_str();
}

struct ChangesArguments {
  std::string table, after, select;
  bool old_values = false, new_values = false, follow = false;
  std::size_t limit = 100;
};

void print_change(const GlobalOptions& options, const json& change) {
  if (options.json) {
    std::cout << change.dump() << std::endl;  // flushed, because somebody may be reading along
    return;
  }
  std::cout << time_cell(change, "version") << "  " << cell(change, "kind");
  if (change.contains("rowKey")) std::cout << "  " << cell(change, "partitionKey") << " / " << cell(change, "rowKey");
  for (const auto* values : {"old", "new"}) {
    if (change.contains(values)) std::cout << "  " << values << " " << change[values].dump();
  }
  std::cout << std::endl;
}

std::string changes_path(const ChangesArguments& a, const std::string& after, std::size_t limit) {
  return item_path("tables", a.table, "/changes") + query_of({{"after", after},
                                                              {"select", a.select},
                                                              {"old", a.old_values ? "true" : ""},
                                                              {"new", a.new_values ? "true" : ""},
                                                              {"limit", std::to_string(limit)}});
}

/// Prints the changes that exist, and the token of the place after them.
Result<int> list_changes(const GlobalOptions& options, const ChangesArguments& a) {
  auto api = TRY(ApiClient::create(options));
  json all;
  std::size_t found = 0;
  auto after = a.after;
  for (bool more = true; more && (a.limit == 0 || found < a.limit);) {
    const auto limit = a.limit == 0 ? kPage : std::min(kPage, a.limit - found);
    auto page = TRY(api.call("GET", changes_path(a, after, limit)));
    after = page.value("next", "");
    more = page.value("more", false);
    const auto changes = page.value("changes", json::array());
    found += changes.size();
    if (!options.json) {
      for (const auto& change : changes) print_change(options, change);
    } else if (all.is_null()) {
      all = std::move(page);
    } else {
      for (const auto& change : changes) all["changes"].push_back(change);
      all["next"] = after;
      all["more"] = more;
    }
  }
  if (options.json) {
    std::cout << all.dump() << "\n";
  } else {
    std::cerr << "next " << after << "\n";
  }
  return kOk;
}

/// Prints each change as it comes, until the feed ends.
Result<int> follow_changes(const GlobalOptions& options, const ChangesArguments& a) {
  auto api = TRY(ApiClient::create(options));
  auto after = a.after.empty() ? std::string("now") : a.after;
  auto heard = std::chrono::steady_clock::now();
  std::optional<Error> problem;
  while (!problem) {
    EventReader reader([&](std::string_view event, std::string_view data) {
      const auto told = json::parse(data, nullptr, false);
      if (!told.is_object()) return;
      if (event == "end") {
        problem = make_error(ErrorCode::kInvalidInput, with_command(told.value("detail", ""), a.table));
        problem->fields.emplace_back("code", told.value("code", ""));
      }
      if (event != "change") return;
      after = told.value("token", after);
      print_change(options, told);
    });
    const auto ran = api.stream(changes_path(a, after, kPage), [&](std::string_view piece) {
      heard = std::chrono::steady_clock::now();
      reader.read(piece);
    });
    const bool may_pass = ran || ran.error().code == ErrorCode::kUnavailable;
    if (!may_pass || (!ran && std::chrono::steady_clock::now() - heard > kStreamPatience)) return fail(ran.error());
    if (!problem) std::this_thread::sleep_for(kStreamAgainAfter);
  }
  return fail(std::move(*problem));
}

void add_changes(const Commands& program) {
  auto a = std::make_shared<ChangesArguments>();
  auto& listing = program.add("changes", "what changed in a table that has a feed", [a](const GlobalOptions& options) {
    return a->follow ? follow_changes(options, *a) : list_changes(options, *a);
  });
  listing.add_option("table", a->table, "the table")->required();
  listing.add_flag("--follow", a->follow, "print each change as it comes, from now on unless --after says otherwise");
  listing.add_option("--after", a->after, "oldest, now, or a token; oldest if absent");
  listing.add_flag("--old", a->old_values, "with the values before the change");
  listing.add_flag("--new", a->new_values, "with the values after the change");
  listing.add_option("--select", a->select, "of the values, only these properties, separated by commas");
  listing.add_option("--limit", a->limit, "at most this many; 0 for all that are kept")
      ->check(whole_number())
      ->capture_default_str();
}

std::string consumer_path(const std::string& table, const std::string& group, const char* ending = "") {
  return item_path("tables", table, "/consumers/") + percent_encode(group) + ending;
}

Print consumer_table() {
  return table_of({{"group", "/group"},
                   {">waiting", "/lag/changes"},
                   {">lag", "/lag/seconds", duration_of},
                   {"reader", "/reader"},
                   {"until", "/leaseUntil", time_of},
                   {"acknowledged", "/acknowledgedAt", time_of},
                   {"token", "/token"}});
}

struct ConsumerArguments {
  std::string table, group, reader, after, token;
  std::int64_t epoch = 0, limit = 100, wait = 0, lease = 30;
  bool old_values = false, new_values = false, leave = false;
};

json read_body(const ConsumerArguments& a) {
  json body{{"reader", a.reader}, {"limit", a.limit}, {"wait", a.wait}, {"leaseSeconds", a.lease}};
  if (a.epoch > 0) body["epoch"] = a.epoch;
  if (!a.token.empty()) body["acknowledge"] = a.token;
  if (a.old_values) body["old"] = true;
  if (a.new_values) body["new"] = true;
  return body;
}

json acknowledgement(const ConsumerArguments& a) {
  json body{{"epoch", a.epoch}};
  if (!a.token.empty()) body["token"] = a.token;
  if (a.leave) body["leave"] = true;
  return body;
}

/// A command about a group, with its two names.
template <class Act>
CLI::App& add_for_group(const Commands& consumers, const char* name, const char* meaning,
                        const std::shared_ptr<ConsumerArguments>& a, Act act) {
  auto& command = consumers.add(name, meaning, [a, act](const GlobalOptions& options) { return act(options, *a); });
  command.add_option("table", a->table, "the table")->required();
  command.add_option("group", a->group, "the consumer group")->required();
  return command;
}

void add_read(const Commands& consumers) {
  auto a = std::make_shared<ConsumerArguments>();
  a->reader = "tidemark";
  auto& reading = add_for_group(consumers, "read", "the next changes for the reader that has the group", a,
                                [](const GlobalOptions& options, const ConsumerArguments& given) {
                                  return call_and_print(
                                      options, "POST", consumer_path(given.table, given.group, "/read"),
                                      [&options](const json& page) {
                                        for (const auto& change : page.value("changes", json::array()))
                                          print_change(options, change);
                                        std::cerr << "epoch " << cell(page, "epoch") << ", next " << cell(page, "next")
                                                  << "\n";
                                      },
                                      read_body(given).dump());
                                });
  reading.add_option("--reader", a->reader, "a name; it has the group for itself")->capture_default_str();
  reading.add_option("--epoch", a->epoch, "from the answer before; a new reader begins without it");
  reading.add_option("--acknowledge", a->token, "a token, acknowledged before the changes are read");
  reading.add_option("--limit", a->limit, "at most this many")->check(whole_number())->capture_default_str();
  reading.add_option("--wait-s", a->wait, "how many seconds to wait for the first change");
  reading.add_option("--lease-s", a->lease, "how many seconds after the wait nobody else gets the group")
      ->capture_default_str();
  reading.add_flag("--old", a->old_values, "with the values before the change");
  reading.add_flag("--new", a->new_values, "with the values after the change");
}

void add_consumer_commands(const Commands& program) {
  const auto consumers = program.family("consumer", "stored places in the changes of a table, for workers of your own");
  auto put = std::make_shared<ConsumerArguments>();
  add_for_group(consumers, "put", "make a consumer group, or set its place", put,
                [](const GlobalOptions& options, const ConsumerArguments& a) {
                  const auto body = a.after.empty() ? json::object() : json{{"after", a.after}};
                  return call_and_print(options, "PUT", consumer_path(a.table, a.group), consumer_table(), body.dump());
                })
      .add_option("--after", put->after, "oldest, now, or a token; now for a new group if absent");
  add_for_group(consumers, "show", "a consumer group and how far behind it is", std::make_shared<ConsumerArguments>(),
                [](const GlobalOptions& options, const ConsumerArguments& a) {
                  return call_and_print(options, "GET", consumer_path(a.table, a.group), consumer_table());
                });
  add_for_group(consumers, "remove", "remove a consumer group", std::make_shared<ConsumerArguments>(),
                [](const GlobalOptions& options, const ConsumerArguments& a) {
                  return call_and_print(options, "DELETE", consumer_path(a.table, a.group), said("It is gone."));
                });
  consumers.add_for_one(
      "tables", "table", "the table",
      {{"list", "the consumer groups of a table", "GET", "/consumers", member_of("consumers", consumer_table())}});
  add_read(consumers);
  auto told = std::make_shared<ConsumerArguments>();
  auto& telling =
      add_for_group(consumers, "acknowledge", "say how far the reader has come", told,
                    [](const GlobalOptions& options, const ConsumerArguments& a) {
                      return call_and_print(options, "POST", consumer_path(a.table, a.group, "/acknowledge"),
                                            consumer_table(), acknowledgement(a).dump());
                    });
  telling.add_option("--epoch", told->epoch, "from the answer to read")->required();
  telling.add_option("--token", told->token, "everything up to it is dealt with");
  telling.add_flag("--leave", told->leave, "others may have the group at once");
}

}  // namespace

void add_feed_commands(const Commands& program) {
  add_changes(program);
  const auto feeds = program.family("feed", "whether, and for how long, the changes of a table are kept");
  add_put_feed(feeds);
  feeds.add_for_one("tables", "table", "the table",
                    {{"show", "what is kept", "GET", "/feed", feed_table()},
                     {"drop", "keep no more changes, and forget those that are kept", "DELETE", "/feed",
                      said("The feed has ended.")}});
  add_consumer_commands(program);
}

}  // namespace tidemark::cli
