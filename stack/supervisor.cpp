#include "stack/supervisor.h"

#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <iomanip>
#include <ostream>

namespace tidemark::stack {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Duration kLookAtLogs = std::chrono::milliseconds(200);
constexpr int kColumn = 13;  // the longest name of a process
constexpr std::array kColours{"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m"};
constexpr std::size_t kTimeLength = std::string_view("2026-01-31T22:00:00.000Z").size();
constexpr std::size_t kLongestLevel = 10;
constexpr std::size_t kMostAtOnce = 1UL << 20;  // bytes of a log

std::string seconds_text(Duration duration) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

bool is_store(const std::string& name) { return std::ranges::find(kStores, name) != kStores.end(); }

}  // namespace

void CommonLog::line(const std::string& name, const std::string& text) {
  const auto* const colour = kColours[std::hash<std::string>{}(name) % kColours.size()];
  if (in_colour_) out_ << colour;
  out_ << std::left << std::setw(kColumn) << name << " |";
  if (in_colour_) out_ << "\x1b[0m";
  // The programs put their name between the level and the message: "TIME info table_store ready".
  const auto own_name = " " + name.substr(0, name.find('-')) + " ";
  const auto at = text.find(own_name);
  const bool repeats = at != std::string::npos && at < kTimeLength + kLongestLevel;
  out_ << " " << (repeats ? text.substr(0, at) + text.substr(at + own_name.size() - 1) : text) << std::endl;
}

Supervisor::Supervisor(const DataFolder& folder, const Options& options, CommonLog& log, Duration drain)
    : folder_(folder), options_(options), log_(log), drain_(drain) {
  const auto set = blocked_signals();
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Supervisor::watch(Process process, Running running) {
  auto& watched = watched_.emplace_back();
  watched.process = std::move(process);
  std::error_code error;  // the lines of the start only tell how it is configured
  watched.shown = std::filesystem::file_size(folder_.log(watched.process.name), error);
  watched.running = std::move(running);
  watched.since = Steady::now();
}

int Supervisor::run() {
  for (;;) {
    auto wait = kLookAtLogs;
    std::vector<int> handles{signals_.get()};
    for (const auto& watched : watched_) {
      if (watched.running) handles.push_back(watched.running->handle.get());
      if (!watched.running) wait = std::min(wait, std::chrono::duration_cast<Duration>(watched.since - Steady::now()));
    }
    await_any(handles, wait);
    if (take_signals()) return stop(0);
    show_logs();
    for (auto& watched : watched_) {
      if (watched.running && watched.running->ended() && !note_end(watched)) return stop(1);
      if (!watched.running && Steady::now() >= watched.since && !revive(watched)) return stop(1);
      if (!watched.announced && folder_.ready(watched.process.name)) {
        watched.announced = true;
        say(watched.process.name + " is ready again");
      }
    }
  }
}

bool Supervisor::note_end(Watched& watched) {
  const auto& name = watched.process.name;
  const auto ended_by = reap(*watched.running);
  show_logs();
  watched.running.reset();
  const auto ran = std::chrono::duration_cast<Duration>(Steady::now() - watched.since);
  return try_later(watched, ran, name + " has ended" + (ended_by ? ": " + *ended_by : ""));
}

bool Supervisor::try_later(Watched& watched, Duration ran, const std::string& how) {
  const auto& name = watched.process.name;
  const auto pause = watched.revival.ended(ran);
  if (!pause) {
    say(how + ", " + std::to_string(Revival::kMostInARow + 1) +
        " times in a row. It is not started again; the end of " + folder_.log(name).string() + ":");
    for (const auto& line : folder_.end_of_log(name)) say("  " + line);
    return false;
  }
  say(how + "; it is started again" + (*pause > Duration::zero() ? " in " + seconds_text(*pause) : ""));
  watched.since = Steady::now() + *pause;
  return true;
}

bool Supervisor::revive(Watched& watched) {
  // Somebody else may have started it meanwhile.
  auto running = find_running(folder_, watched.process.name);
  if (!running) {
    auto started = start(folder_, options_, watched.process);
    if (!started) {
      say(started.error().message);
      return try_later(watched, Duration::zero(), watched.process.name + " cannot be started");
    }
    running = std::move(*started);
  }
  watched.running = std::move(running);
  watched.since = Steady::now();
  watched.announced = false;
  return true;
}

void Supervisor::show_logs() {
  std::vector<std::pair<std::string, std::string>> lines;  // with the names of their processes
  for (auto& watched : watched_) {
    for (auto& line : new_lines(watched)) lines.emplace_back(watched.process.name, std::move(line));
  }
  // They begin with the time.
  std::ranges::stable_sort(lines, {}, [](const auto& line) { return line.second.substr(0, kTimeLength); });
  for (const auto& [name, line] : lines) log_.line(name, line);
}

std::vector<std::string> Supervisor::new_lines(Watched& watched) const {
  std::vector<std::string> lines;
  const auto path = folder_.log(watched.process.name);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size == watched.shown) return lines;
  if (size < watched.shown) watched.shown = 0;  // somebody has emptied it
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(watched.shown));
  std::string text(std::min<std::size_t>(kMostAtOnce, size - watched.shown), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  std::string_view left = text;
  for (auto end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
    lines.emplace_back(left.substr(0, end));
    watched.shown += end + 1;
    left.remove_prefix(end + 1);
  }
  if (left.size() == kMostAtOnce) watched.shown += kMostAtOnce;  // a line without an end
  return lines;
}

bool Supervisor::take_signals() {
  bool told_to_stop = false;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGHUP) {
      told_to_stop = true;
      continue;
    }
    for (const auto& watched : watched_) {
      if (watched.running) send_signal(*watched.running, SIGHUP);
    }
  }
  return told_to_stop;
}

int Supervisor::stop(int code) {
  const auto begun = Steady::now();
  say("stopping; workers and api first");
  for (const bool stores : {false, true}) {
    std::vector<const Running*> ending;
    for (const auto& watched : watched_) {
      if (watched.running && is_store(watched.process.name) == stores) ending.push_back(&*watched.running);
    }
    end_all(
        ending, drain_ / 2, [this] { say("waiting for jobs and requests in progress"); },
        [this] { return take_signals(); });
  }
  show_logs();
  folder_.forget_processes();
  say("stopped in " + seconds_text(std::chrono::duration_cast<Duration>(Steady::now() - begun)));
  return code;
}

}  // namespace tidemark::stack
