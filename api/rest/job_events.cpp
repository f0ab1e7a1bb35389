#include "api/rest/job_events.h"

#include "api/rest/render.h"

namespace tidemark::api {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(200);
constexpr Duration kKeepAlive = std::chrono::seconds(10);

class JobEvents final : public http::BodySource {
 public:
  JobEvents(jobs::JobStore& jobs, Clock& clock, std::string job_id, std::shared_ptr<const std::atomic<bool>> stopping)
      : jobs_(jobs), clock_(clock), job_id_(std::move(job_id)), stopping_(std::move(stopping)) {}

  Task<Result<std::string>> next() override {
    auto said = clock_.now();
    while (!ended_ && !stopping_->load()) {
      if (looked_) {
        co_await sleep_for(clock_, kLook);
      }
      looked_ = true;
      auto found = co_await jobs_.find(job_id_);
      // A store that is away for a moment does not end the stream.
      if (found && !found->has_value()) co_return end("gone");
      if (found && (*found)->version != seen_) {
        seen_ = (*found)->version;
        auto text = "id: " + std::to_string(seen_) + "\nevent: job\ndata: " + json_text(to_json(**found)) + "\n\n";
        if (jobs::is_terminal((*found)->state)) text += end(std::string(jobs::state_name((*found)->state)));
        co_return text;
      }
      if (clock_.now() - said >= kKeepAlive) co_return std::string(": still " + job_id_ + "\n\n");
    }
    co_return std::string();
  }

 private:
  std::string end(const std::string& state) {
    ended_ = true;
    return "event: end\ndata: " + json_text(nlohmann::json(state)) + "\n\n";
  }

  jobs::JobStore& jobs_;
  Clock& clock_;
  std::string job_id_;
  std::shared_ptr<const std::atomic<bool>> stopping_;
  table_store::Version seen_ = 0;
  bool looked_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<http::BodySource> make_job_events(jobs::JobStore& jobs, Clock& clock, std::string job_id,
                                                  std::shared_ptr<const std::atomic<bool>> stopping) {
  return std::make_unique<JobEvents>(jobs, clock, std::move(job_id), std::move(stopping));
}

}  // namespace tidemark::api
