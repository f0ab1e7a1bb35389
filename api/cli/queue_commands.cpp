#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>

#include "api/cli/commands.h"
#include "api/cli/paged_list.h"
#include "api/cli/terminal.h"
#include "queue_service/model/queue_parts.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

std::string if_spread(const json& parts) { return parts == 0 ? "" : text_of(parts); }
std::string paused_or_not(const json& paused) { return paused == true ? "paused" : ""; }

Print queue_table() {
  return table_of({{"queue", "/name"},
                   {">ready", "/ready"},
                   {">delayed", "/delayed"},
                   {">in flight", "/inFlight"},
                   {">waiting", "/waiting"},
                   {">poison", "/poison"},
                   {">oldest s", "/oldestAgeSeconds", one_decimal},
                   {">in/s", "/inPerSecond", one_decimal},
                   {">out/s", "/outPerSecond", one_decimal},
                   {">parts", "/parts", if_spread},
                   {"state", "/paused", paused_or_not}});
}

struct NewQueue {
  std::string name;
  std::optional<std::uint32_t> max_dequeue_count;
  std::vector<std::string> metadata;
};

Result<int> create_queue(const GlobalOptions& options, const NewQueue& queue) {
  auto body = json::object();
  if (queue.max_dequeue_count) body["maxDequeueCount"] = *queue.max_dequeue_count;
  for (const auto& each : queue.metadata) {
    const auto equals = each.find('=');
    if (equals == std::string::npos) return wrong_arguments(options, "--metadata must be NAME=VALUE, not " + each);
    body["metadata"][each.substr(0, equals)] = each.substr(equals + 1);
  }
  auto api = TRY(ApiClient::create(options));
  const auto made = TRY(api.call("PUT", item_path("queues", queue.name), body.empty() ? "" : body.dump()));
  print_answer(options, made, said(api.status() == kMade ? "created" : "it was there already"));
  return kOk;
}

void add_create(const Commands& queues) {
  auto a = std::make_shared<NewQueue>();
  auto& creating = queues.add("create", "make a queue; one that is there stays as it is",
                              [a](const GlobalOptions& options) { return create_queue(options, *a); });
  creating.add_option("queue", a->name, "the queue's name")->required();
  creating
      .add_option("--max-dequeue-count", a->max_dequeue_count,
                  "a message that was taken so often goes to QUEUE-poison; 0: never")
      ->check(CLI::Range(0U, queue_service::kMaxMaxDequeueCount));
  creating.add_option("--metadata", a->metadata, "NAME=VALUE, any number of times")->allow_extra_args(false);
}

/// Asks, with the number of messages, before all of them are lost.
void add_destroying(const Commands& queues, const char* name, const char* meaning, const char* question,
                    const char* method, const char* ending, const char* done) {
  auto queue = std::make_shared<std::string>();
  auto consent = std::make_shared<Consent>();
  auto& command = queues.add(name, meaning, [=](const GlobalOptions& options) -> Result<int> {
    auto api = TRY(ApiClient::create(options));
    if (!consent->given) {
      const auto figures = TRY(api.call("GET", item_path("queues", *queue)));
      const auto of_it =
          std::string(question) + *queue + " with its " + counted(figures.value("messages", 0ULL), "message");
      if (!TRY(consent->to(of_it + "?"))) return kOk;
    }
    print_answer(options, TRY(api.call(method, item_path("queues", *queue, ending))), said(done));
    return kOk;
  });
  command.add_option("queue", *queue, "the queue's name")->required();
  consent->declare(command);
}

}  // namespace

void add_queue_commands(const Commands& program) {
  const auto table = queue_table();
  const auto queues = program.family("queue", "make, watch, pause, clear and drop queues; put and take messages");
  queues.add("list", "all queues and their figures", [table](const GlobalOptions& options) {
    return list_and_print(options, "/v1/queues", "queues", kWhole, table);
  });
  queues.add_for_one("queues", "queue", "the queue's name",
                     {{"show", "the figures of one queue", "GET", "", table},
                      {"pause", "stop giving out messages; everything else still works", "POST", "/pause", table},
                      {"resume", "give out messages again", "POST", "/resume", table}});
  add_create(queues);
  add_destroying(queues, "clear", "delete all messages of a queue, also those that somebody holds", "Empty the queue ",
                 "POST", "/clear", "emptied");
  add_destroying(queues, "drop", "delete a queue with all of its messages", "Delete the queue ", "DELETE", "",
                 "deleted");
  add_message_commands(queues);
  auto name = std::make_shared<std::string>();
  auto parts = std::make_shared<std::uint32_t>(0);
  auto& spreading =
      queues.add("spread", "divide a queue over several shards, for good", [=](const GlobalOptions& options) {
        return call_and_print(options, "POST", item_path("queues", *name, "/spread"), table,
                              json{{"parts", *parts}}.dump());
      });
  spreading.add_option("queue", *name, "the queue's name")->required();
  spreading.add_option("--parts", *parts, "over how many, at most the number of the store's shards")
      ->required()
      ->check(CLI::Range(2U, queue_service::kMaxParts));
  auto wanted = std::make_shared<Extent>();
  const auto messages = table_of({{"message", "/id"},
                                  {">dequeued", "/dequeueCount"},
                                  {"put", "/insertedAt", time_of},
                                  {"visible from", "/nextVisibleAt", time_of},
                                  {"text", "/text"}});
  auto& looking = queues.add("messages", "what is in a queue, also what nobody can take now; nothing is taken",
                             [=](const GlobalOptions& options) {
                               return list_and_print(options, item_path("queues", *name, "/messages"), "messages",
                                                     *wanted, messages);
                             });
  looking.add_option("queue", *name, "the queue's name")->required();
  wanted->declare(looking);
}

}  // namespace tidemark::cli
