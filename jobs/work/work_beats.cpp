// Signs of life: leases begin anew, progress is noted, and workers learn of cancelled jobs.
#include <map>

#include "common/base/fail_points.h"
#include "jobs/work/work.h"

namespace tidemark::jobs {
namespace {

const FailStep kBeatStep("work.beat");

bool has_news(const JobBeat& beat) { return beat.done || beat.total || beat.phase || beat.checkpoint; }

RecordChange change_of(const JobBeat& beat) {
  RecordChange change;
  change.done = beat.done;
  change.total = beat.total;
  change.phase = beat.phase;
  change.checkpoint = beat.checkpoint;
  return change;
}

/// Says what an epoch that does not hold the job any more is told.
BeatAnswer answer_to(const std::optional<JobRecord>& record, std::uint64_t epoch) {
  if (!record || record->epoch != epoch || record->end_epoch == epoch) return BeatAnswer::kLost;
  if (record->state == JobState::kCancelled) return BeatAnswer::kCancel;
  return record->state == JobState::kRunning ? BeatAnswer::kHeld : BeatAnswer::kLost;
}

Duration lease_for(const JobSpec& spec, const OwnKinds& kinds) {
  const auto* kind = find_kind(kinds, kind_name(spec));
  return kind != nullptr ? kind->lease() : OwnKind().lease();
}

}  // namespace

Task<Result<std::vector<BeatAnswer>>> Work::beat(std::vector<JobBeat> beats, const OwnKinds& kinds) {
  std::vector<BeatAnswer> answers;
  for (std::size_t begin = 0; begin < beats.size(); begin += kMostTogether) {
    const auto end = std::min(beats.size(), begin + kMostTogether);
    std::vector<std::string> ids;
    for (auto i = begin; i < end; ++i) ids.push_back(beats[i].id);
    auto records = CO_TRY(co_await services_.jobs.find_all(std::move(ids)));
    std::map<Duration, std::vector<std::size_t>> by_lease;  // places in `beats`
    std::vector<queue_service::Lease> leases(end - begin);
    for (auto i = begin; i < end; ++i) {
      const auto& record = records[i - begin];
      answers.push_back(answer_to(record, beats[i].epoch));
      if (answers[i] != BeatAnswer::kHeld) continue;
      auto held = held_by(record, beats[i].epoch);
      if (!held) {
        answers[i] = BeatAnswer::kLost;
        continue;
      }
      leases[i - begin] = std::move(held->lease);
      by_lease[lease_for(*held->spec, kinds)].push_back(i);
    }
    std::vector<ChangeOf> changes;
    std::vector<std::size_t> changed;
    for (const auto& [lease, places] : by_lease) {
      std::vector<queue_service::Lease> some;
      for (const auto i : places) some.push_back(std::move(leases[i - begin]));
      const auto renewed = CO_TRY(co_await kBeatStep.around(services_.queues.renew_all(std::move(some), lease)));
      for (std::size_t n = 0; n < places.size(); ++n) {
        const auto i = places[n];
        if (!renewed[n]) answers[i] = BeatAnswer::kLost;
        if (!renewed[n] || !has_news(beats[i])) continue;
        changes.push_back({beats[i].id, beats[i].epoch, change_of(beats[i]), std::move(records[i - begin])});
        changed.push_back(i);
      }
    }
    if (changes.empty()) continue;
    const auto outcomes = co_await services_.jobs.change_all(std::move(changes));
    for (std::size_t n = 0; n < outcomes.size(); ++n) {
      if (outcomes[n]) continue;
      // A checkpoint that was not stored must not be taken for one that was.
      if (outcomes[n].error().code != ErrorCode::kFenced) co_return fail(outcomes[n].error());
      const auto now = CO_TRY(co_await services_.jobs.find(beats[changed[n]].id));
      const auto answer = answer_to(now, beats[changed[n]].epoch);
      answers[changed[n]] = answer == BeatAnswer::kHeld ? BeatAnswer::kLost : answer;
    }
  }
  co_return answers;
}

}  // namespace tidemark::jobs
