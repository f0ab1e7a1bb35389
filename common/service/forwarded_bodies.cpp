#include "common/service/forwarded_bodies.h"

#include <algorithm>

#include "common/base/random.h"

namespace tidemark::service {
namespace {

/// A client that takes longer than this to send or take a piece is too slow for its own connection.
constexpr Duration kIdle = std::chrono::minutes(5);
constexpr Duration kLookForSender = std::chrono::seconds(1);
constexpr Duration kMayBeNew = std::chrono::seconds(3);  // a process this young may not be known yet
/// The longest wait for a piece to be written or published before the next piece is wanted. It is less than the time
/// that the process that sends the pieces waits.
constexpr Duration kLongestStep = std::chrono::seconds(110);
/// Several pieces of a source are sent at once, up to this size.
constexpr std::size_t kAskedBytes = 512UL << 10;

std::unexpected<Error> unknown() { return fail(ErrorCode::kServerBusy); }

Task<Result<std::string>> some_of(http::BodySource& source) {
  auto bytes = CO_TRY(co_await source.next());
  while (!bytes.empty() && bytes.size() < kAskedBytes) {
    const auto more = CO_TRY(co_await source.next());
    if (more.empty()) break;
    bytes += more;
  }
  co_return bytes;
}

/// Waits for the sender. Returns false if it is gone or has been silent for too long.
Task<bool> await_sender(Signal& signal, Signal::Ticket ticket, Clock& clock, const std::function<bool()>& lives) {
  for (Duration waited{}; waited < kIdle && (waited < kMayBeNew || lives()); waited += kLookForSender) {
    if (co_await signal.wait(ticket, clock, kLookForSender)) co_return true;
  }
  co_return false;
}

}  // namespace

/// A request that is being served, and the piece of its body that has arrived.
class ForwardedBodies::Upload final : public http::BodyReader {
 public:
  Upload(std::string name, forwarded::Request from, Clock& clock, const Lives& lives)
      : name_(std::move(name)),
        from_(std::move(from)),
        clock_(clock),
        lives_([this, &lives] { return lives(from_.sender); }) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& sender() const { return from_.sender; }
  [[nodiscard]] http::Request request() { return forwarded::request_of(from_, *this); }

  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return from_.length; }
  Task<Result<std::string>> read_all(std::size_t limit) override;
  Task<Result<std::string>> read_some(std::size_t limit) override;
  [[nodiscard]] std::uint64_t bytes_read() const override {
    const MutexLock lock(mutex_);
    return read_;
  }

  /// Takes a piece of the body. kInternalError: it is not the next piece.
  Result<void> give(forwarded::Piece piece);
  /// Waits until a piece is wanted, or there is an answer, which may be an error.
  Task<Result<forwarded::Progress>> progress();
  void answer(Result<forwarded::Response> response);
  /// Ends the upload: its answer was sent, or nobody waits for it any more.
  void end();
  Task<void> wait_for_end() {
    const auto ticket = ended_signal_.ticket();
    if (!ended()) co_await await_sender(ended_signal_, ticket, clock_, lives_);
  }

 private:
  [[nodiscard]] bool ended() const {
    const MutexLock lock(mutex_);
    return ended_;
  }
  /// Takes up to `limit` bytes of the piece; nothing if it has not arrived yet.
  std::optional<Result<std::string>> taken(std::size_t limit);

  const std::string name_;
  const forwarded::Request from_;
  Clock& clock_;
  const std::function<bool()> lives_;
  Signal given_, wanted_, ended_signal_;
  mutable Mutex mutex_;
  std::string piece_ GUARDED_BY(mutex_);
  bool last_ GUARDED_BY(mutex_) = false;
  bool hungry_ GUARDED_BY(mutex_) = false;  // the next piece is wanted
  bool ended_ GUARDED_BY(mutex_) = false;
  std::uint64_t pieces_ GUARDED_BY(mutex_) = 0;
  std::uint64_t read_ GUARDED_BY(mutex_) = 0;
  std::optional<Result<forwarded::Response>> answer_ GUARDED_BY(mutex_);
};

std::optional<Result<std::string>> ForwardedBodies::Upload::taken(std::size_t limit) {
  const MutexLock lock(mutex_);
  if (ended_) return fail(ErrorCode::kServerBusy);
  if (piece_.empty() && !last_) {
    hungry_ = true;
    return std::nullopt;
  }
  std::string taken;
  if (piece_.size() <= limit) {
    taken = std::exchange(piece_, {});
  } else {
    taken = piece_.substr(0, limit);
    piece_.erase(0, limit);
  }
  read_ += taken.size();
  // The next piece arrives while this one is processed.
  hungry_ = piece_.empty() && !last_;
  return taken;
}

Task<Result<std::string>> ForwardedBodies::Upload::read_some(std::size_t limit) {
  for (;;) {
    const auto ticket = given_.ticket();
    auto some = taken(limit);
    wanted_.notify_all();
    if (some) co_return std::move(*some);
    if (!co_await await_sender(given_, ticket, clock_, lives_)) co_return fail(ErrorCode::kOperationTimedOut);
  }
}

Task<Result<std::string>> ForwardedBodies::Upload::read_all(std::size_t limit) {
  std::string whole;
  for (;;) {
    const auto piece = CO_TRY(co_await read_some(limit + 1 - whole.size()));
    if (piece.empty()) co_return whole;
    whole += piece;
    if (whole.size() > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
  }
}

Result<void> ForwardedBodies::Upload::give(forwarded::Piece piece) {
  {
    const MutexLock lock(mutex_);
    if (piece.number != pieces_ || last_ || !piece_.empty()) {
      return fail(error_for_log(ErrorCode::kInternalError, "a piece of a body that is not wanted"));
    }
    ++pieces_;
    piece_ = std::move(piece.bytes);
    last_ = piece.last;
    hungry_ = false;
  }
  given_.notify_all();
  return {};
}

Task<Result<forwarded::Progress>> ForwardedBodies::Upload::progress() {
  const auto give_up = clock_.monotonic() + kLongestStep;
  for (;;) {
    const auto ticket = wanted_.ticket();
    {
      const MutexLock lock(mutex_);
      if (answer_ && !*answer_) co_return fail(answer_->error());
      if (answer_) co_return forwarded::Progress{name_, std::move(**answer_)};
      if (ended_) co_return unknown();
      if (hungry_) co_return forwarded::Progress{name_, {}};
    }
    const auto left = give_up - clock_.monotonic();
    if (left <= Duration::zero()) co_return fail(ErrorCode::kOperationTimedOut);
    co_await wanted_.wait(ticket, clock_, left);
  }
}

void ForwardedBodies::Upload::answer(Result<forwarded::Response> response) {
  {
    const MutexLock lock(mutex_);
    answer_ = std::move(response);
  }
  wanted_.notify_all();
}

void ForwardedBodies::Upload::end() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  given_.notify_all();
  wanted_.notify_all();
  ended_signal_.notify_all();
}

/// The rest of a response. The mutex of the bodies guards all members.
struct ForwardedBodies::Download {
  std::string name, sender;
  std::unique_ptr<http::BodySource> source;  // null while it makes a piece
  std::uint64_t number = 0;                  // of the next piece
  Signal moved = {};
};

ForwardedBodies::ForwardedBodies(Clock& clock, Executor executor, Serve serve, Lives lives)
    : clock_(clock),
      executor_(std::move(executor)),
      serve_(std::move(serve)),
      lives_(std::move(lives)),
      prefix_(make_system_random()->guid() + "-") {}

std::string ForwardedBodies::new_name() { return prefix_ + std::to_string(++names_); }

Task<Result<forwarded::Progress>> ForwardedBodies::begin(forwarded::Request request) {
  std::shared_ptr<Upload> upload;
  {
    const MutexLock lock(mutex_);
    if (ended_) co_return unknown();
    upload = std::make_shared<Upload>(new_name(), std::move(request), clock_, lives_);
    uploads_[upload->name()] = upload;
  }
  spawn(executor_, serve(upload));
  co_return co_await progress_of(std::move(upload));
}

Task<Result<forwarded::Progress>> ForwardedBodies::take(forwarded::Piece piece) {
  std::shared_ptr<Upload> upload;
  {
    const MutexLock lock(mutex_);
    const auto found = uploads_.find(piece.upload);
    if (found == uploads_.end()) co_return unknown();
    upload = found->second;
  }
  CO_TRY(upload->give(std::move(piece)));
  co_return co_await progress_of(std::move(upload));
}

/// Ends the upload once there is an answer: nothing more is asked about it.
Task<Result<forwarded::Progress>> ForwardedBodies::progress_of(std::shared_ptr<Upload> upload) {
  auto progress = co_await upload->progress();
  if (!progress || progress->response) upload->end();
  co_return progress;
}

Task<void> ForwardedBodies::serve(std::shared_ptr<Upload> upload) {
  auto request = upload->request();
  upload->answer(co_await answer_to(request, upload->sender()));
  co_await upload->wait_for_end();
  const MutexLock lock(mutex_);
  uploads_.erase(upload->name());
}

Task<Result<forwarded::Response>> ForwardedBodies::answer_to(http::Request& request, std::string sender) {
  try {
    co_return co_await keep(co_await serve_(request), std::move(sender));
  } catch (const std::exception& thrown) {
    co_return fail(error_for_log(ErrorCode::kInternalError, thrown.what()));
  }
}

Task<Result<forwarded::Response>> ForwardedBodies::keep(http::Response response, std::string sender) {
  auto source = std::exchange(response.source, nullptr);
  auto told = forwarded::told(std::move(response));
  if (!source) co_return told;
  told.streamed = true;
  told.body = CO_TRY(co_await some_of(*source));
  if (told.body.empty() || told.body.size() == told.length) co_return told;
  auto download = std::make_shared<Download>();
  download->source = std::move(source);
  download->sender = std::move(sender);
  {
    const MutexLock lock(mutex_);
    if (ended_) co_return unknown();
    download->name = told.rest = new_name();
    downloads_[download->name] = download;
  }
  spawn(executor_, forget_idle(std::move(download)));
  co_return told;
}

Task<Result<std::string>> ForwardedBodies::next(forwarded::Next asked) {
  std::shared_ptr<Download> download;
  std::unique_ptr<http::BodySource> source;
  {
    const MutexLock lock(mutex_);
    const auto found = downloads_.find(asked.rest);
    if (found == downloads_.end()) co_return unknown();
    download = found->second;
    if (asked.number != download->number || !download->source) {
      co_return fail(error_for_log(ErrorCode::kInternalError, "a piece of a body that is not the next one"));
    }
    ++download->number;
    source = std::move(download->source);
  }
  auto bytes = co_await some_of(*source);
  {
    const MutexLock lock(mutex_);
    const bool over = ended_ || !bytes || bytes->empty();
    if (over) downloads_.erase(asked.rest);
    if (!over) download->source = std::move(source);
  }
  download->moved.notify_all();
  co_return bytes;
}

Task<void> ForwardedBodies::forget_idle(std::shared_ptr<Download> download) {
  const auto lives = [&] { return lives_(download->sender); };
  for (bool asked = true; asked;) {
    const auto ticket = download->moved.ticket();
    {
      const MutexLock lock(mutex_);
      if (!downloads_.contains(download->name)) co_return;
    }
    asked = co_await await_sender(download->moved, ticket, clock_, lives);
  }
  const MutexLock lock(mutex_);
  downloads_.erase(download->name);
}

void ForwardedBodies::drop(const std::string& name) {
  std::shared_ptr<Upload> upload;
  std::shared_ptr<Download> download;
  {
    const MutexLock lock(mutex_);
    if (const auto found = uploads_.find(name); found != uploads_.end()) upload = found->second;
    if (const auto found = downloads_.extract(name)) download = found.mapped();
  }
  if (upload) upload->end();
  if (download) download->moved.notify_all();
}

void ForwardedBodies::end() {
  std::map<std::string, std::shared_ptr<Upload>> uploads;
  std::map<std::string, std::shared_ptr<Download>> downloads;
  std::vector<std::unique_ptr<http::BodySource>> sources;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    uploads = uploads_;
    downloads.swap(downloads_);
    for (const auto& [name, download] : downloads) sources.push_back(std::move(download->source));
  }
  for (const auto& [name, upload] : uploads) upload->end();
  for (const auto& [name, download] : downloads) download->moved.notify_all();
}

}  // namespace tidemark::service
