// The bodies that come to this process, or go from it, piece by piece, because another process passes on a request that
// is served here. Only the piece that is on its way is in memory, and no piece is asked for before the previous one was
// taken. A body that nobody asks for any more is forgotten, and at once if the other process is gone. Thread safe;
// coroutines resume on the caller's executor.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "common/service/forwarded_messages.h"

namespace tidemark::service {

class ForwardedBodies {
 public:
  using Serve = std::function<Task<http::Response>(http::Request&)>;
  /// Tells whether the process with this name lives.
  using Lives = std::function<bool(const std::string& process)>;
  ForwardedBodies(Clock& clock, Executor executor, Serve serve, Lives lives);

  /// Begins to serve a request whose body follows. Returns when the first piece is wanted, or with the answer.
  Task<Result<forwarded::Progress>> begin(forwarded::Request request);
  /// Takes the next piece of the body, and returns likewise. kServerBusy: the request is not known any more.
  Task<Result<forwarded::Progress>> take(forwarded::Piece piece);
  /// Makes the message for a response. It has the first piece of a streamed body; the rest is kept here.
  Task<Result<forwarded::Response>> keep(http::Response response, std::string sender);
  /// Returns the next piece. kServerBusy: the body is not known any more.
  Task<Result<std::string>> next(forwarded::Next asked);
  void drop(const std::string& name);
  /// Ends all bodies that are under way. Must be called before the objects that serve them are destroyed.
  void end();

 private:
  class Upload;
  struct Download;
  Task<void> serve(std::shared_ptr<Upload> upload);
  Task<Result<forwarded::Response>> answer_to(http::Request& request, std::string sender);
  static Task<Result<forwarded::Progress>> progress_of(std::shared_ptr<Upload> upload);
  Task<void> forget_idle(std::shared_ptr<Download> download);
  std::string new_name() REQUIRES(mutex_);

  Clock& clock_;
  const Executor executor_;
  const Serve serve_;
  const Lives lives_;
  const std::string prefix_;  // of the names: tells them from those of an earlier process
  mutable Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::uint64_t names_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<Upload>> uploads_ GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Download>> downloads_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::service
