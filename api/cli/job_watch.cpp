#include "api/cli/job_watch.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "api/cli/answers.h"
#include "api/cli/event_reader.h"
#include "api/cli/terminal.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

// If the output is not a terminal, lines go to a file, which does not need one for every page.
constexpr auto kLineEvery = std::chrono::seconds(1);

bool ended(const json& job) {
  const auto state = job.value("state", "");
  return state == "succeeded" || state == "poisoned" || state == "cancelled";
}

int exit_code_of(const json& job) { return job.value("state", "") == "succeeded" ? kOk : kJobNotSucceeded; }

/// Returns an empty text if the job does not wait.
std::string why_it_waits(const json& job) {
  const auto waiting = job.value("waiting", json::object());
  if (waiting.contains("until")) return "begins at " + time_cell(waiting, "until");
  return cell(waiting, "text");
}

/// Returns a bar where the total is known, a running count otherwise, with the rate and the remaining time.
std::string progress_line(const json& job) {
  const auto progress = job.value("progress", json::object());
  const auto done = progress.value("done", 0ULL) + progress.value("skipped", 0ULL);
  const auto total = progress.value("total", 0ULL);
  std::string line = job.value("state", "");
  if (total > 0) {
    constexpr std::uint64_t kWidth = 30;
    const auto filled = std::min<std::uint64_t>(kWidth, done * kWidth / total);
    line += " [" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " + std::to_string(done) + "/" +
            std::to_string(total);
  } else {
    line += "  " + std::to_string(done) + " done";
  }
  if (progress.contains("perSecond")) {
    line += "  " + std::to_string(static_cast<std::uint64_t>(progress.value("perSecond", 0.0))) + "/s";
  }
  if (progress.contains("secondsLeft")) line += "  " + readable_duration(progress.value("secondsLeft", 0.0)) + " left";
  const auto waiting = why_it_waits(job);
  const auto phase = waiting.empty() ? progress.value("phase", "") : waiting;
  return phase.empty() ? line : line + "  " + phase;
}

/// Shows progress on standard error.
class ProgressDisplay {
 public:
  void show(const json& job) {
    const auto line = progress_line(job);
    if (terminal_) {
      rewrite(line);
      if (ended(job)) std::cerr << "\n" << std::flush;
      return;
    }
    const auto now = SteadyClock::now();
    auto news = job.value("state", "") + why_it_waits(job);
    if (news == told_ && now - shown_ < kLineEvery) return;
    told_ = std::move(news);
    shown_ = now;
    std::cerr << line << "\n";
  }
  /// Tells that the api cannot be reached.
  void lost() {
    told_.clear();  // so that the next line is shown even if it is the same
    if (terminal_) return rewrite("reconnecting...");
    std::cerr << "reconnecting...\n";
  }

 private:
  static void rewrite(const std::string& line) {
    // A line wider than the terminal could not be rewritten.
    const auto room = terminal_width(STDERR_FILENO);
    std::cerr << "\r\033[K" << (room > 1 ? cut(line, room - 1) : line) << std::flush;
  }

  const bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  std::string told_;
  SteadyClock::time_point shown_;
};

/// Ctrl-C ends the watching, not the job: prints this, and how to follow the job again. One at a time.
class InterruptNote {
 public:
  explicit InterruptNote(const std::string& id) {
    text_ = "\nThe job goes on; to follow it again: tidemark job show " + id + " --watch\n";
    std::signal(SIGINT, [](int number) {
      // A signal handler may do no more than this, and must leave errno as it was for the interrupted code.
      const int code = errno;
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text_.data(), text_.size());
      std::signal(number, SIG_DFL);
      std::raise(number);
      errno = code;
    });
  }
  ~InterruptNote() { std::signal(SIGINT, SIG_DFL); }
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;

 private:
  static std::string text_;
};
std::string InterruptNote::text_;

/// Follows every change until the end; returns the job as it ended. `lost` is called whenever the api cannot be
/// reached.
Result<json> follow(ApiClient& api, const std::string& id, const std::function<void(const json&)>& each,
                    const std::function<void()>& lost) {
  json last;
  bool told = false;
  auto heard = SteadyClock::now();
  for (;;) {
    EventReader reader([&](std::string_view event, std::string_view data) {
      const auto job = json::parse(data, nullptr, false);
      if (event != "job" || !job.is_object()) return;
      last = job;
      heard = SteadyClock::now();
      told = false;
      each(job);
    });
    const auto ran = api.stream(item_path("jobs", id, "/events"), [&](std::string_view piece) { reader.read(piece); });
    if (last.is_object() && ended(last)) return last;
    const bool may_pass = ran || ran.error().code == ErrorCode::kUnavailable;
    const bool known = last.is_object();  // a job that was never seen may not exist, or the api may not run at all
    if (!ran && (!may_pass || !known || SteadyClock::now() - heard > kStreamPatience)) return fail(ran.error());
    if (!ran && !std::exchange(told, true)) lost();
    std::this_thread::sleep_for(kStreamAgainAfter);
  }
}

}  // namespace

std::string job_summary(const json& job) {
  const auto progress = job.value("progress", json::object());
  std::string text = job.value("id", "") + "  " + job.value("kind", "") + "  " + job.value("state", "") + "  done " +
                     std::to_string(progress.value("done", 0ULL)) + ", skipped " +
                     std::to_string(progress.value("skipped", 0ULL));
  if (job.value("attempts", 0) > 1) text += ", attempt " + std::to_string(job.value("attempts", 0));
  const auto waiting = why_it_waits(job);
  return waiting.empty() ? text : text + ", waiting: " + waiting;
}

std::string job_details(const json& job) {
  std::string text = job_summary(job) + "\n";
  constexpr std::pair<const char*, const char*> kTimes[] = {
      {"submittedAt", "submitted"}, {"notBefore", "not before"}, {"startedAt", "started"}, {"finishedAt", "finished"}};
  for (const auto& [name, shown] : kTimes) {
    if (job.contains(name)) text += std::string(shown) + ": " + time_cell(job, name) + "\n";
  }
  for (const auto* name : {"queue", "worker", "error"}) {
    if (job.contains(name)) text += std::string(name) + ": " + cell(job, name) + "\n";
  }
  for (const auto& [name, shown] : {std::pair("thenJob", "then"), std::pair("callbackJob", "its end is told by")}) {
    if (job.contains(name)) text += std::string(shown) + ": job " + cell(job, name) + "\n";
  }
  if (job.contains("result")) text += "result: " + job["result"].dump() + "\n";
  for (const auto& skip : job.value("skips", json::array())) {
    const auto samples = skip.value("samples", json::array());
    text += "skipped " + cell(skip, "count") + ": " + cell(skip, "reason") +
            (samples.empty() ? "" : ", such as " + samples.dump()) + "\n";
  }
  for (const auto& attempt : job.value("history", json::array())) {
    text += history_line(attempt) + "\n";
  }
  text += "spec: " + job.value("spec", json()).dump() + "\n";
  if (job.value("state", "") == "poisoned") {
    const auto id = job.value("id", "");
    text += "To look into it: tidemark poison show " + id + "; once it is mended: tidemark poison redrive " + id + "\n";
  }
  return text;
}

Result<json> await_job(const GlobalOptions& options, ApiClient& api, const std::string& id) {
  ProgressDisplay display;
  const InterruptNote note(id);
  return follow(
      api, id,
      [&](const json& seen) {
        if (!options.json) display.show(seen);
      },
      [&] { display.lost(); });
}

Result<int> watch_job(const GlobalOptions& options, ApiClient& api, const std::string& id) {
  const auto job = TRY(await_job(options, api, id));
  print_answer(options, job, [](const json& ended) { std::cout << job_details(ended); });
  return exit_code_of(job);
}

Result<int> follow_job(const GlobalOptions& options, const std::string& id) {
  auto api = TRY(ApiClient::create(options));
  return exit_code_of(TRY(follow(
      api, id,
      [&](const json& seen) {
        std::cout << (options.json ? seen.dump() : job_summary(seen))
                  << std::endl;  // flushed, because somebody may be reading along
      },
      [] { std::cerr << "reconnecting...\n"; })));
}

}  // namespace tidemark::cli
