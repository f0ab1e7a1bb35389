#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>

#include "api/cli/commands.h"
#include "api/cli/paged_list.h"
#include "queue_service/model/queue_parts.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

std::string if_spread(const json& parts) { return parts == 0 ? "" : text_of(parts); }
std::string paused_or_not(const json& paused) { return paused == true ? "paused" : ""; }

}  // namespace

void add_queue_commands(const Commands& program) {
  const auto table = table_of({{"queue", "/name"},
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
  const auto queues = program.family("queue", "watch, pause, resume and spread queues");
  queues.add("list", "all queues and their figures", [table](const GlobalOptions& options) {
    return list_and_print(options, "/v1/queues", "queues", kWhole, table);
  });
  queues.add_for_one("queues", "queue", "the queue's name",
                     {{"show", "the figures of one queue", "GET", "", table},
                      {"pause", "stop giving out messages; everything else still works", "POST", "/pause", table},
                      {"resume", "give out messages again", "POST", "/resume", table}});
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
