// The caller's identity at the api, the audit trail of all callers, and signatures for others.
#include <CLI/CLI.hpp>

#include <iostream>
#include <map>

#include "api/cli/commands.h"
#include "api/cli/numbers.h"
#include "api/cli/paged_list.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

struct Wanted {
  std::string since, actor, operation, target;
  Extent extent{.most = 100};
};

Print audit_table() {
  return table_of({{"time", "/at", time_of},
                   {"who", "/actor"},
                   {"from", "/address"},
                   {"operation", "/operation"},
                   {"target", "/target"},
                   {"outcome", "/outcome"},
                   {">status", "/status"},
                   {">count", "/count"},
                   {"reason", "/reason"},
                   {"detail", "/detail"}});
}

void add_audit(const Commands& program) {
  auto wanted = std::make_shared<Wanted>();
  auto& command = program.add("audit", "who did what through the api, newest first", [wanted](const GlobalOptions& to) {
    const auto query = query_of({{"since", wanted->since},
                                 {"actor", wanted->actor},
                                 {"operation", wanted->operation},
                                 {"target", wanted->target}});
    return list_and_print(to, "/v1/audit" + query, "entries", wanted->extent, audit_table());
  });
  accept_local_time(*command.add_option("--since", wanted->since, "not older than this time"));
  command.add_option("--actor", wanted->actor, "the name of a token");
  command.add_option("--operation", wanted->operation, "such as jobs.cancel");
  command.add_option("--target", wanted->target, "what it was done to, such as the id of a job");
  wanted->extent.declare(command);
}

/// The arguments of `tidemark sas`, as members of the order.
struct Order {
  std::map<std::string, std::string> texts;
  std::uint64_t seconds = 3600;
};

/// The letters of the rights that the stores know, in the order in which a URL has them.
const char* letters_for(const std::string& kind) {
  if (kind == "table") return "letters of raud: read, add, update, delete";
  if (kind == "queue") return "letters of raup: read, add, update, process";
  if (kind == "container") return "letters of racwdxyltfmei, such as rl: read and list";
  if (kind == "blob") return "letters of racwdxytmei, such as rw: read and write";
  return "letters of rwdxylacuptfi, such as rl: read and list";
}

void add_sas_of(const Commands& sas, const std::string& kind, const char* meaning) {
  auto order = std::make_shared<Order>();
  const auto print = [](const json& answer) { std::cout << answer.value("url", "") << "\n"; };
  auto& command = sas.add(kind.c_str(), meaning, [order, kind, print](const GlobalOptions& options) {
    json body{{"kind", kind}};
    for (const auto& [name, text] : order->texts) body[name] = text;
    if (!body.contains("expiresAt")) body["expiresIn"] = order->seconds;
    return call_and_print(options, "POST", "/v1/sas", print, body.dump());
  });
  const auto text = [&](const char* flag, const char* member, const char* means) {
    return command.add_option_function<std::string>(
        flag, [order, member](const std::string& value) { order->texts[member] = value; }, means);
  };
  const bool account = kind == "account";
  if (!account) text("name", "name", kind == "blob" ? "CONTAINER/BLOB" : "its name")->required();
  if (account) text("--services", "services", "letters of bqt: blobs, queues, tables")->required();
  if (account) text("--resource-types", "resourceTypes", "letters of sco: service, container, object")->required();
  text("--permissions", "permissions", letters_for(kind))->required();
  command.add_option("--expires-in", order->seconds, "how long it lasts")
      ->transform(duration(1))
      ->capture_default_str();
  accept_local_time(*text("--expires-at", "expiresAt", "when it ends, instead"));
  accept_local_time(*text("--starts-at", "startsAt", "when it begins; without it, now"));
  text("--ip", "ip", "only from this IPv4 address, or FROM-TO");
  text("--protocol", "protocol", "https or https,http");
  if (kind != "table") return;
  text("--start-partition-key", "startPartitionKey", "only from this key on");
  text("--start-row-key", "startRowKey", "in the first partition, only from this key on");
  text("--end-partition-key", "endPartitionKey", "only to this key");
  text("--end-row-key", "endRowKey", "in the last partition, only to this key");
}

void add_sas(const Commands& program) {
  const auto sas = program.family("sas", "shared access signatures: limited rights without the account's key");
  add_sas_of(sas, "table", "for the entities of a table");
  add_sas_of(sas, "queue", "for the messages of a queue");
  add_sas_of(sas, "container", "for the blobs of a container");
  add_sas_of(sas, "blob", "for one blob");
  add_sas_of(sas, "account", "for all of an account; needs the role admin");
}

}  // namespace

void add_access_commands(const Commands& program) {
  add_audit(program);
  add_sas(program);
  const auto who = table_of({{"name", "/name"}, {"role", "/role"}, {"by", "/via"}});
  program.family("session", "who you are to the api")
      .add("show", "name and role of the token",
           [who](const GlobalOptions& to) { return call_and_print(to, "GET", "/v1/session", who); });
}

}  // namespace tidemark::cli
