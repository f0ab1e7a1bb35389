// Poison messages of users' own queues: the contents of NAME-poison, no matter who put them there. Jobs have theirs in
// one queue, with a story of their own (jobs/poison/poison.h); here there is only the message, and a note if the queue
// moved it itself. Stateless. Errors: kPoisonNotFound, kInvalidQueryParameterValue for a queue that is itself one for
// poison, and those of the queue service.
#pragma once
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"

namespace tidemark::api {

/// Lists the queues whose poison queue is not empty, by name; the jobs' own are not among them.
Answer list_poisoned_queues(Api& api, const http::Request& request);

class QueuePoison {
 public:
  /// Returns the queue that a request names by `queue`; nothing if it means the jobs' own.
  static Result<std::optional<QueuePoison>> of(Api& api, const Parameters& parameters);

  Answer list(std::uint32_t limit, std::string continuation) const;
  Answer show(std::string id) const;
  /// {"body":TEXT} replaces the text; the message stays where it is. Here and in redrive(), the message must still have
  /// the ETag `seen`, unless that is empty (kConditionNotMet).
  Answer edit(std::string id, std::string body, std::string seen) const;
  /// Sends it back to the queue, to be tried anew; with another text if there is a body.
  Answer redrive(std::string id, std::string body, std::string seen) const;
  Answer remove(std::string id) const;

 private:
  QueuePoison(Api& api, std::string queue) : queues_(api.queues), poison_(api.poison), queue_(std::move(queue)) {}
  Task<Result<queue_service::Message>> find(std::string id) const;
  [[nodiscard]] nlohmann::json to_json(const queue_service::Message& message) const;
  queue_service::QueueClient& queues_;
  jobs::PoisonStore& poison_;
  std::string queue_;
};

}  // namespace tidemark::api
