// Messages of any queue: put, looked at, taken, changed and deleted.
#include <CLI/CLI.hpp>

#include <iostream>

#include "api/cli/commands.h"
#include "api/cli/numbers.h"
#include "common/base/encoding.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMostAtOnce = queue_service::kMaxMessagesPerGet;
constexpr const char* kVisibilityHelp = "how long nobody else can take it";

/// Prints a line about each message, and its text below.
void print_messages(const json& messages) {
  if (messages.empty()) std::cout << "no message that can be taken now\n";
  for (const auto& each : messages) {
    std::cout << cell(each, "id");
    if (each.contains("lease")) std::cout << "  lease " << cell(each, "lease");
    std::cout << "  put " << time_cell(each, "insertedAt") << ", dequeued " << cell(each, "dequeueCount");
    if (each.contains("group")) std::cout << ", group " << cell(each, "group");
    std::cout << "\n" << cell(each, "text") << "\n";
  }
}

struct NewMessage {
  std::string queue, file, group, idempotency_key;
  std::optional<std::string> text;
  std::int64_t visible_in = 0, time_to_live = 0;
};

Result<std::string> text_to_put(const NewMessage& message) {
  if (message.text) return *message.text;
  return read_file(message.file.empty() ? "-" : message.file);
}

Result<int> put_message(const GlobalOptions& options, const NewMessage& message) {
  if (message.text && !message.file.empty()) return wrong_arguments(options, "give either a text or --file");
  json body{{"text", TRY(text_to_put(message))}};
  if (!is_valid_utf8(body["text"].get_ref<const std::string&>())) {
    return fail(ErrorCode::kInvalidInput, "the text is not UTF-8: encode it, such as with base64");
  }
  if (message.visible_in > 0) body["visibleInSeconds"] = message.visible_in;
  if (message.time_to_live != 0) body["timeToLiveSeconds"] = message.time_to_live;
  if (!message.group.empty()) body["group"] = message.group;
  if (!message.idempotency_key.empty()) body["idempotencyKey"] = message.idempotency_key;
  return call_and_print(
      options, "POST", item_path("queues", message.queue, "/messages"),
      [](const json& placed) { std::cout << cell(placed, "id") << "\n"; }, body.dump());
}

void add_put_message(const Commands& queues) {
  auto a = std::make_shared<NewMessage>();
  auto& putting = queues.add("put", "put a message at the end of a queue; prints its id",
                             [a](const GlobalOptions& options) { return put_message(options, *a); });
  putting.add_option("queue", a->queue, "the queue's name")->required();
  putting.add_option("text", a->text, "the message's text; without it, what --file has");
  putting.add_option("--file", a->file, "a file with the text; - for standard input, which is the default");
  putting.add_option("--visible-in", a->visible_in, "how long nobody can take it")->transform(duration(0));
  putting.add_option("--time-to-live", a->time_to_live, "how long it is kept; -1: for ever; default: 7 days")
      ->transform(duration(-1));
  putting.add_option("--group", a->group, "one message of a group is in flight at a time, in the order of their puts");
  putting.add_option("--idempotency-key", a->idempotency_key, "putting it again within a day gives the same message");
}

/// Looks through the queue in its order for messages that could be taken now.
Result<int> peek(const GlobalOptions& options, const std::string& queue, std::size_t count) {
  auto api = TRY(ApiClient::create(options));
  auto found = json::array();
  std::string continuation;
  bool more = false;
  do {
    const auto query = query_of({{"limit", "1000"}, {"continuation", continuation}});
    auto page = TRY(api.call("GET", item_path("queues", queue, "/messages") + query));
    for (auto& each : page["messages"]) {
      if (!each.value("visible", false)) continue;
      more = found.size() == count;
      if (more) break;
      found.push_back(std::move(each));
    }
    continuation = page.value("continuation", "");
  } while (!continuation.empty() && !more);
  print_answer(options, {{"messages", found}}, member_of("messages", print_messages));
  if (more && !options.json) {
    std::cerr << "(" << found.size()
              << " shown; there are more: --count shows more of them, and `tidemark queue messages " << queue
              << " --all` all)\n";
  }
  return kOk;
}

Result<int> take_messages(const GlobalOptions& options, const std::string& queue, const json& order) {
  auto api = TRY(ApiClient::create(options));
  const auto taken = TRY(api.call("POST", item_path("queues", queue, "/take"), order.dump()));
  print_answer(options, taken, member_of("messages", print_messages));
  if (!options.json && !taken.value("messages", json::array()).empty()) {
    std::cerr << "to delete one: tidemark queue delete " << queue << " ID --lease N\n";
  }
  return kOk;
}

void add_peek_and_get(const Commands& queues) {
  struct Arguments {
    std::string queue;
    std::size_t count = 1;
    std::uint32_t visibility = 30;
  };
  auto a = std::make_shared<Arguments>();
  auto& peeking = queues.add("peek", "print the next messages that can be taken; nothing is taken",
                             [a](const GlobalOptions& options) { return peek(options, a->queue, a->count); });
  peeking.add_option("queue", a->queue, "the queue's name")->required();
  peeking.add_option("--count", a->count, "how many")->check(positive_number())->capture_default_str();
  auto& getting = queues.add(
      "get", "take messages: each has a lease, with which it is deleted or changed", [a](const GlobalOptions& options) {
        return take_messages(options, a->queue, {{"count", a->count}, {"visibilitySeconds", a->visibility}});
      });
  getting.add_option("queue", a->queue, "the queue's name")->required();
  getting.add_option("--count", a->count, "at most so many")
      ->check(CLI::Range(std::size_t{1}, std::size_t{kMostAtOnce}))
      ->capture_default_str();
  getting.add_option("--visibility", a->visibility, kVisibilityHelp)->transform(duration(1))->capture_default_str();
}

struct Held {
  std::string queue, id;
  std::uint64_t lease = 0;

  void declare(CLI::App& command) {
    command.add_option("queue", queue, "the queue's name")->required();
    command.add_option("message", id, "the message's id")->required();
    command.add_option("--lease", lease, "the number that `queue get` printed")->required()->check(positive_number());
  }
  [[nodiscard]] std::string path() const {
    return item_path("queues", queue, "/messages/" + percent_encode(id) + "?lease=" + std::to_string(lease));
  }
};

void add_delete_message(const Commands& queues) {
  auto held = std::make_shared<Held>();
  held->declare(queues.add("delete", "delete a message that was taken", [held](const GlobalOptions& options) {
    return call_and_print(options, "DELETE", held->path(), said("deleted"));
  }));
}

void add_update_message(const Commands& queues) {
  struct Arguments {
    Held held;
    std::optional<std::string> text;
    std::string file;
    std::uint32_t visibility = 30;
  };
  auto a = std::make_shared<Arguments>();
  auto& updating = queues.add(
      "update", "change the text of a message that was taken, keep it for longer, or give it back",
      [a](const GlobalOptions& options) -> Result<int> {
        if (a->text && !a->file.empty()) return wrong_arguments(options, "give either --text or --file");
        json body{{"visibilitySeconds", a->visibility}};
        if (a->text) body["text"] = *a->text;
        if (!a->file.empty()) body["text"] = TRY(read_file(a->file));
        return call_and_print(
            options, "PATCH", a->held.path(),
            [](const json& placed) { std::cout << "visible from " << time_cell(placed, "nextVisibleAt") << "\n"; },
            body.dump());
      });
  a->held.declare(updating);
  updating.add_option("--text", a->text, "the new text; without it, the text stays");
  updating.add_option("--file", a->file, "a file with the new text; - for standard input");
  updating.add_option("--visibility", a->visibility, "how long from now it stays taken; 0 gives it back")
      ->transform(duration(0))
      ->capture_default_str();
}

}  // namespace

void add_message_commands(const Commands& queues) {
  add_put_message(queues);
  add_peek_and_get(queues);
  add_delete_message(queues);
  add_update_message(queues);
}

}  // namespace tidemark::cli
