// The api's routes: sessions, the audit trail, jobs, poison messages, schedules, indexes, change feeds, tables, blobs,
// queues, limits, kinds, work for processes of users, workers, health, metrics, OpenAPI. A handler reads the request,
// makes one call of a library or a store and renders the outcome; an error is rendered by ApiRoutes::serve(). Handlers
// of one area are in one file, with their table. Thread safe.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <variant>

#include "api/access/strangers.h"
#include "api/maintenance/backups.h"
#include "api/rest/entry.h"
#include "api/rest/lookout.h"
#include "api/rest/recent_figures.h"
#include "api/rest/store_watch.h"
#include "api/rest/stored_figures.h"
#include "api/rest/waits.h"
#include "common/http/http.h"
#include "common/process/metrics.h"
#include "common/service/other_hosts.h"
#include "common/service/sas_signer.h"
#include "feeds/consumers/consumer_store.h"
#include "feeds/on_change/on_change_store.h"
#include "indexes/lookup/lookup.h"
#include "jobs/audit/audit_store.h"
#include "jobs/callbacks/callback_policy.h"
#include "jobs/limits/limits.h"
#include "jobs/objects/object_store.h"
#include "jobs/poison/poison_summary.h"
#include "jobs/schedules/schedule_store.h"
#include "jobs/store/groups.h"
#include "jobs/store/job_store.h"
#include "jobs/store/worker_list.h"
#include "jobs/work/own_kind_store.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::blob_store {
class BlobBrowser;
}

namespace tidemark::api {

class WorkDesk;
class WorkNews;

/// A stream without news sends a sign of life after this time.
inline constexpr Duration kKeepAlive = std::chrono::seconds(10);

using Answer = Task<Result<http::Response>>;

/// Limits how many things of a sort are open at once.
struct Slots {
  std::size_t most = 256;
  std::shared_ptr<std::atomic<std::size_t>> open = std::make_shared<std::atomic<std::size_t>>(0);

  /// The user of a slot holds the result as long as it uses it; null: there are too many.
  [[nodiscard]] std::shared_ptr<void> take() const;
};

/// Facts about the stack, for people.
struct StackFacts {
  std::string version;
  std::string logs;       // directory of NAME.log; empty: the processes do not write there
  std::string trace_url;  // with {traceId}; empty: not known
};

/// The services of the handlers; the references must outlive it.
struct Api {
  Entry entry;
  jobs::CallbackPolicy callbacks;
  jobs::JobStore& jobs;
  jobs::PoisonStore& poison;
  queue_service::QueueClient& queues;
  table_store::TableClient& tables;
  table_store::ListingClient& listings;
  process::Metrics& metrics;
  Clock& clock;
  Random& random;
  jobs::ObjectAccess objects;
  const service::StoreLinks* stores = nullptr;
  jobs::Limits limits{tables, clock};
  jobs::ScheduleStore schedules{tables, clock};
  indexes::IndexStore indexes{tables, clock, random};
  indexes::Lookup lookup{tables, listings, objects.blobs, indexes, clock};
  feeds::ConsumerStore consumers{tables, clock};
  feeds::OnChangeStore on_changes{tables, clock, random};
  jobs::Groups groups{tables, clock};
  jobs::WorkerList workers{tables};
  jobs::OwnKindStore own_kinds{tables};
  jobs::AuditStore audit{tables, clock, random};
  std::shared_ptr<Strangers> strangers = std::make_shared<Strangers>(metrics, clock);
  std::array<const service::SasClient*, 3> sas_signers{};  // by auth::Service
  std::shared_ptr<std::atomic<bool>> stopping = std::make_shared<std::atomic<bool>>(false);
  Slots streams = {};  // for event streams; each reads its job several times a second
  std::shared_ptr<StoredFigures> stored_figures = std::make_shared<StoredFigures>();
  std::shared_ptr<RecentFigures> recent = std::make_shared<RecentFigures>();
  std::shared_ptr<Lookout> lookout = std::make_shared<Lookout>();
  std::shared_ptr<Backups> backups = {};
  std::shared_ptr<StoreWatch> watch = std::make_shared<StoreWatch>();
  std::shared_ptr<Waits> waits = std::make_shared<Waits>();
  std::shared_ptr<jobs::PoisonSummary> poison_summary = std::make_shared<jobs::PoisonSummary>(queues, clock);
  Slots late_logins = {.most = 32};  // for logins that are not yet in the audit trail
  Slots transfers = {.most = 16};    // for transfers of blobs; each holds up to 8 MiB
  const blob_store::BlobBrowser* blobs = nullptr;
  WorkDesk* work = nullptr;
  std::shared_ptr<WorkNews> news = {};
  StackFacts facts = {};

  /// Checks that the caller may have such a job run, no matter who submitted it. kAuthorizationPermissionMismatch.
  static Result<void> may_run(const jobs::JobSpec& spec, const Caller& caller);
  /// Checks that the caller may submit such a job, and that its callbacks are allowed. kJobInvalid,
  /// kAuthorizationPermissionMismatch.
  [[nodiscard]] Result<void> admit(const jobs::JobSpec& spec, const Caller& caller) const;
  [[nodiscard]] Result<void> admit(const jobs::JobBatch& batch, const Caller& caller) const;
  /// Returns the job in a body that was read, if the caller may submit it.
  [[nodiscard]] Task<Result<jobs::JobSpec>> admitted(Result<std::string> body, Caller caller) const;
  /// kJobInvalid if the job, or one that follows it, is of a kind that is neither built in nor declared.
  [[nodiscard]] Task<Result<void>> check_kinds(jobs::JobSpec spec) const;
  Answer plan(jobs::JobSpec spec);
};

/// The action of a request: its caller, and the facts for the audit trail. A handler adds the facts that it learns.
struct Action {
  Caller caller;
  std::string target = {};  // at first the text that stands for '*' in the pattern
  std::string detail = {};
  std::optional<std::int64_t> count = {};
};

/// `name` is the text that stands for '*'; for two of them, both with '/' between them.
using PlainHandler = Answer (*)(Api& api, http::Request& request, std::string name);
using ActionHandler = Answer (*)(Api& api, http::Request& request, Action& action, std::string name);

/// Whether the actions of a route, except for GET, are entered into the audit trail; refusals always are.
enum class Trail : std::uint8_t {
  kEntry,
  kEntryUnlessDry,  // the route has a parameter dryRun
  kNone,            // for frequent actions of programs, and for actions that the handler enters itself
};

struct Route {
  std::string_view method;
  std::string_view pattern;  // "v1/jobs/*/cancel"
  Role role;                 // the least role that the caller needs
  std::variant<PlainHandler, ActionHandler> handler;
  Entrance entrance = Entrance::kToken;
  Trail trail = Trail::kEntry;
  Body body = Body::kJson;
};
std::span<const Route> access_routes();
std::span<const Route> policy_routes();
std::span<const Route> queue_routes();
std::span<const Route> sas_routes();
std::span<const Route> job_routes();
std::span<const Route> poison_routes();
std::span<const Route> schedule_routes();
std::span<const Route> index_routes();
std::span<const Route> feed_routes();
std::span<const Route> consumer_routes();
std::span<const Route> on_change_routes();
std::span<const Route> limit_routes();
std::span<const Route> kind_routes();
std::span<const Route> work_routes();
std::span<const Route> maintenance_routes();
std::span<const Route> operator_routes();
std::span<const Route> data_routes();
std::span<const Route> blob_routes();
/// The routes of all areas.
const std::vector<std::span<const Route>>& all_routes();

class ApiRoutes {
 public:
  explicit ApiRoutes(Api api) : api_(std::move(api)) {}

  /// The request must outlive the task.
  Task<http::Response> serve(http::Request& request);
  /// Ends the event streams, so that their connections can close.
  void stop() { api_.stopping->store(true); }

 private:
  Answer route(http::Request& request);
  Answer carry_out(const Route& route, Action action, http::Request& request);
  Task<void> note_refusal(jobs::AuditEntry entry, Error error);
  Api api_;
  process::LineLimit refusals_{100};  // entries in a second
};

// The schemas of bodies and answers of each area, by their names in openapi.json.
nlohmann::ordered_json access_schemas();
nlohmann::ordered_json blob_schemas();
nlohmann::ordered_json consumer_schemas();
nlohmann::ordered_json data_schemas();
nlohmann::ordered_json explanation_schemas();
nlohmann::ordered_json feed_schemas();
nlohmann::ordered_json index_schemas();
nlohmann::ordered_json kind_schemas();
nlohmann::ordered_json limit_schemas();
nlohmann::ordered_json maintenance_schemas();
nlohmann::ordered_json on_change_schemas();
nlohmann::ordered_json operator_schemas();
nlohmann::ordered_json policy_schemas();
nlohmann::ordered_json queue_poison_schemas();
nlohmann::ordered_json queue_schemas();
nlohmann::ordered_json rendered_schemas();
nlohmann::ordered_json sas_schemas();
nlohmann::ordered_json schedule_schemas();
nlohmann::ordered_json shard_schemas();
nlohmann::ordered_json work_schemas();
/// All of them, with those of jobs. scripts/describe-api writes them into the document.
nlohmann::ordered_json api_schemas();
/// The OpenAPI 3 description of these routes, as JSON text.
const std::string& openapi_document();

}  // namespace tidemark::api
