// The owner of an on-change declaration (feeds/on_change). It reads the change feed and tells each change that matches,
// or makes its job: in order within a partition or a lane of jobs, side by side for several. The place up to which all
// changes were told is written under the owner's fence, so an owner that was replaced moves nothing. A change that was
// told before its place was written is told again, with the same id. A change that cannot be told in as many attempts
// as the declaration allows, or that was kept without the values that the declaration needs, stops the owner until a
// person decides how to go on. Runs on one strand.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "feeds/on_change/on_change_store.h"
#include "queue_service/client/queue_client.h"
#include "table_store/model/filter.h"
#include "workers/indexes/index_rows.h"
#include "workers/kinds/callback.h"
#include "workers/on_change/rule_jobs.h"
#include "workers/on_change/shared_pages.h"
#include "workers/runtime/keeper.h"
#include "workers/runtime/retry_policy.h"

namespace tidemark::workers {

struct OnChangeServices {
  table_store::TableClient& tables;
  queue_service::QueueClient& queues;
  jobs::JobStore& jobs;
  feeds::OnChangeStore& store;
  Clock& clock;
  Random& random;
  const CallbackServices* callbacks = nullptr;  // null: this worker sends no callbacks
  RetryPolicy retries = {};
  std::shared_ptr<SharedPages> pages = nullptr;  // of all owners of the worker; null: this one reads by itself
};

class OnChangeOwner : public std::enable_shared_from_this<OnChangeOwner> {
 public:
  static std::shared_ptr<OnChangeOwner> create(OnChangeServices services, feeds::OnChange on_change,
                                               std::uint64_t epoch);
  void start(Executor strand);
  /// Takes over the changes that a person has made; the definition itself stays.
  void update(const feeds::OnChange& on_change);
  /// Ends after the step under way.
  void stop();
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  OnChangeOwner(OnChangeServices services, feeds::OnChange on_change, std::uint64_t epoch);
  static Task<void> run(std::shared_ptr<OnChangeOwner> self);
  Task<Result<void>> serve();
  Task<Result<void>> begin();
  Task<Result<void>> heed_wishes();
  Task<Result<void>> step();
  Task<Result<void>> read_page();
  Task<Result<void>> tell_page();
  /// Returns the changes of the page that are to be dealt with now, in lanes that keep their order.
  Task<Result<std::vector<std::vector<std::size_t>>>> lanes();
  [[nodiscard]] std::string lane_of(const table_store::Change& change, bool in_one) const;
  /// Passes by all changes of an entity but the last one that makes a job.
  void collapse(const std::vector<std::vector<std::size_t>>& lanes);
  [[nodiscard]] Result<bool> wants(const table_store::Change& change) const;
  Task<Result<void>> make_job(std::size_t number);
  Task<Result<void>> tell_in_order(std::vector<std::size_t> numbers);
  Task<Result<void>> tell(std::size_t number);
  Task<Result<void>> post(const table_store::Change& change, const std::string& token);
  Task<Result<void>> put(const table_store::Change& change, const std::string& token);
  [[nodiscard]] std::string id_of(const table_store::Change& change) const;
  Task<Result<void>> fail_with(Error error);
  Task<Result<void>> stop_for(Error error);
  Task<Result<void>> flush();
  /// Checks the values of a change: a feed that was declared again may have kept less than the declaration needs.
  [[nodiscard]] Result<void> check_values(const table_store::Change& change) const;
  /// Returns the token of the place behind the first `count` changes of the page.
  [[nodiscard]] std::string token_behind(std::size_t count) const;
  [[nodiscard]] std::string text_of(const table_store::Change& change, const std::string& token, bool values) const;

  OnChangeServices services_;
  feeds::OnChange on_change_;
  std::uint64_t epoch_;
  Fences fences_;
  table_store::Filter filter_;
  std::optional<RuleJobs> rule_;  // of a declaration whose target is a job
  feeds::OnChangeProgress progress_;
  SharedPages::Page page_ = std::make_shared<const table_store::FeedPage>();
  std::vector<bool> done_;                   // which of the page's changes are finished
  std::size_t read_ = 0;                     // how many of them are behind the place
  std::uint32_t stalls_ = 0;                 // put-offs in a row
  std::optional<Duration> unwritten_since_;  // the progress was not written since; nothing: it is as written
  std::uint32_t failures_ = 0;
  bool stopping_ = false;
  bool ended_ = false;
  Signal wake_;
};

struct OnChangeKind {
  using Thing = feeds::OnChange;
  using Owner = OnChangeOwner;
  using Services = OnChangeServices;
  static constexpr const char* kTask = "worker.on_change";
};
using OnChangeKeeper = Keeper<OnChangeKind>;

}  // namespace tidemark::workers
