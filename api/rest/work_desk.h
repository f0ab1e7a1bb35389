// Gives out and takes back jobs of users' own kinds. Requests that arrive together are dealt with together: the claims
// of many callers take messages of a kind's version in one call, and the ends of many callers are written in one. A
// caller for whom there is no job waits, and is served when one arrives. The desk keeps nothing that another api would
// need: all state is in the stores (jobs/work). Everything runs on one strand; the public functions may be called from
// anywhere.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/rest/work_facts.h"
#include "common/process/metrics.h"
#include "jobs/work/claim_notes.h"
#include "jobs/work/work.h"

namespace tidemark::api {

/// The most jobs of one claim, beat or end.
inline constexpr std::size_t kMostClaimed = 100;
inline constexpr std::size_t kMostWorkKinds = 20;

class WorkDesk : public std::enable_shared_from_this<WorkDesk> {
 public:
  struct Asked {
    std::string worker;
    std::vector<jobs::KindVersion> kinds;
    std::size_t count = 1;  // 1..kMostClaimed
    Duration wait{};
    std::string request_id;      // empty: none
    std::function<bool()> gone;  // the client is not there any more
  };
  struct Given {
    std::vector<jobs::ClaimedJob> jobs;
    bool quiet = false;
  };
  struct Beaten {
    std::vector<jobs::BeatAnswer> answers;
    bool quiet = false;
  };

  WorkDesk(jobs::WorkServices services, process::Metrics& metrics, const Executor& executor);

  /// Claims jobs, or waits for the first. kInvalidInput: a kind that is not declared. kServerBusy: too many wait.
  Task<Result<Given>> claim(Asked asked);
  Task<Result<Beaten>> beat(std::string worker, std::vector<jobs::JobBeat> beats);
  /// Ends jobs; the outcomes are in the order of `ends`.
  Task<std::vector<Result<jobs::JobRecord>>> end(std::vector<jobs::WorkEnd> ends);
  /// Returns the present facts.
  Task<Result<std::shared_ptr<const WorkFacts>>> facts(bool fresh = false);
  /// Ends all waits.
  void stop();

 private:
  /// A caller who wants jobs.
  struct Ask {
    Asked asked;
    std::string row;  // of its note; empty: it has none
    std::vector<jobs::ClaimedJob> jobs;
    std::size_t untried = 0;  // lanes that have not looked for it yet
    bool assigned = false;    // messages were taken for it
    bool over = false;
    Signal changed;
    [[nodiscard]] bool is_gone() const { return asked.gone && asked.gone(); }
    /// A caller that has jobs is answered a little later, and must not get more meanwhile.
    [[nodiscard]] bool wants_jobs() const { return !assigned && !over && jobs.empty(); }
  };
  using AskPtr = std::shared_ptr<Ask>;
  struct WorkQueue {
    std::string name;
    bool filled = true;  // it may have messages; otherwise it is watched
    bool watched = false;
    Duration absent_until{};  // there was no such queue
  };
  /// The callers for one version of a kind, and its queues.
  struct Lane {
    jobs::KindVersion of;
    std::array<WorkQueue, 3> queues;  // high, normal, low
    std::deque<AskPtr> asks;
    std::deque<std::pair<std::size_t, queue_service::Message>> arrived;  // with the place of their queue
    bool running = false;
    std::size_t giving = 0;  // batches that are being claimed
    std::uint32_t round = 0;
    Signal changed;
  };
  using LanePtr = std::shared_ptr<Lane>;
  struct Assignment {
    AskPtr ask;
    std::vector<queue_service::Message> messages;
  };
  struct EndAsk {
    std::vector<jobs::WorkEnd> ends;
    std::vector<Result<jobs::JobRecord>> outcomes;
    bool done = false;
    Signal changed;
  };

  Task<Result<Given>> claim_here(Asked asked);
  Task<Result<Beaten>> beat_here(std::string worker, std::vector<jobs::JobBeat> beats);
  Task<std::vector<Result<jobs::JobRecord>>> end_here(std::vector<jobs::WorkEnd> ends);
  Task<void> await_jobs(AskPtr ask);
  Task<void> release_all(std::vector<jobs::ClaimedJob> jobs);
  void begin(const AskPtr& ask);
  LanePtr lane_of(const jobs::KindVersion& of);
  static Task<void> run(std::shared_ptr<WorkDesk> self, LanePtr lane);
  static Task<void> watch(std::shared_ptr<WorkDesk> self, LanePtr lane, std::size_t place);
  static Task<void> give(std::shared_ptr<WorkDesk> self, LanePtr lane, std::size_t place,
                         std::vector<Assignment> assignments);
  static Task<void> run_ends(std::shared_ptr<WorkDesk> self);
  /// Takes messages from the first queue that has any; returns them with the place of their queue.
  Task<std::pair<std::size_t, std::vector<queue_service::Message>>> take(LanePtr lane, std::size_t most);
  /// Divides the messages among the callers that wait.
  static std::vector<Assignment> assign(Lane& lane, std::vector<queue_service::Message>& messages);
  static void prune(Lane& lane);
  Task<Result<void>> note(const std::vector<Assignment>& assignments);
  Task<void> give_back(std::string queue, queue_service::Message message);
  [[nodiscard]] const jobs::OwnKind* declared(const jobs::KindVersion& of) const;
  [[nodiscard]] queue_service::KeyLimits limits_of(const jobs::KindVersion& of) const;
  void note_worker(const std::string& name, const std::vector<jobs::KindVersion>* kinds, std::size_t count,
                   std::size_t running);
  static Task<void> write_worker(std::shared_ptr<WorkDesk> self, jobs::WorkerInfo info, bool whole);
  void count(const char* name, const char* help, const std::string& kind, const std::string& outcome,
             std::size_t amount);

  jobs::WorkServices services_;
  jobs::Work work_;
  jobs::ClaimNotes notes_;
  jobs::WorkerList workers_;
  WorkFactReader facts_;
  process::Metrics& metrics_;
  Executor strand_;
  std::shared_ptr<const WorkFacts> known_;
  std::map<jobs::KindVersion, LanePtr> lanes_;
  std::deque<std::shared_ptr<EndAsk>> ending_;
  std::size_t enders_ = 0;
  std::size_t waiting_ = 0;
  struct SeenWorker {
    Duration written{};  // when its row was
    Time began{};
    std::map<jobs::KindVersion, Duration> kinds;  // that it has claimed, and when it did so last
  };
  std::map<std::string, SeenWorker> seen_;
  bool stopping_ = false;
};

}  // namespace tidemark::api
