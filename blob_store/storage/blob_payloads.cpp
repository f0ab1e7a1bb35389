// The use of payloads and contents of a shard by processes that do not serve it: they write files into the folder that
// all processes share, and read them there. The process that serves the shard registers and keeps what they use.
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/served_calls.h"
#include "common/process/failures.h"

namespace tidemark::blob_store {
namespace {

constexpr Duration kLookAfterLent = std::chrono::seconds(1);

}  // namespace

/// The collector of a shard that has just come here tries again as soon as it knows.
Task<Result<void>> BlobService::abandon_elsewhere(const Shard& shard, std::vector<PayloadId> abandoned) {
  if (serves(shard)) co_return fail(ErrorCode::kServerBusy);
  co_return co_await call(calls::AbandonPayloads{shard.number, std::move(abandoned)});
}

PayloadWriter BlobService::new_payload(const BlobRef& ref) {
  auto& shard = of(ref);
  PayloadRegister pending;
  if (serves(shard)) {
    pending.add = [this, &shard] { return register_pending(shard.engine, Ids(shard.number), clock_); };
    pending.refusal = [&shard] { return shard.engine.failure(); };
  } else {
    pending.add = [this, &shard] { return call(calls::RegisterPayload{shard.number, peers()->process()}); };
    pending.refusal = [] { return std::nullopt; };
  }
  return {std::move(pending), clock_, files_};
}

Task<Result<std::uint64_t>> BlobService::register_payload(std::size_t number, std::string process) {
  auto& shard = shards_[number];
  const auto payload = CO_TRY(co_await register_pending(shard.engine, Ids(number), clock_));
  shard.lent.lend(std::move(process), payload);
  look_after_lent(shard);
  co_return payload;
}

Result<void> BlobService::abandon_payloads(std::size_t number, const std::vector<std::uint64_t>& payloads) {
  for (const auto payload : payloads) {
    if (payload == 0 || Ids::shard_of(payload) != number) return fail(ErrorCode::kInvalidInput);
  }
  for (const auto payload : payloads) shards_[number].collector.abandon(payload);
  return {};
}

Result<void> BlobService::keep_content(std::size_t number, std::uint64_t content, std::string process,
                                       std::uint64_t reader) {
  auto& shard = shards_[number];
  shard.lent.lend({std::move(process), reader}, Readers::Ticket(shard.readers, content));
  look_after_lent(shard);
  return {};
}

Result<void> BlobService::let_go(std::size_t number, std::string process, std::uint64_t reader) {
  shards_[number].lent.let_go({std::move(process), reader});
  return {};
}

void BlobService::look_after_lent(Shard& shard) {
  if (!shard.lends.exchange(true)) process::spawn_in_background(background_, "blob.look_after_lent", look_after(shard));
}

Task<Result<void>> BlobService::look_after(Shard& shard) {
  const auto lives = [this](const std::string& process) { return peers() != nullptr && peers()->lives(process); };
  const auto is_pending = [&](PayloadId payload) {
    const auto row = shard.engine.get(blob_keys::pending(payload));
    return !row || row->has_value();  // an error says nothing
  };
  while (true) {
    const auto ticket = stopped_.ticket();
    if (stopping_ || co_await stopped_.wait(ticket, clock_, kLookAfterLent)) co_return Result<void>();
    if (const auto lost = shard.lent.look(lives, is_pending); !lost.empty()) {
      // After an error, the payloads are found again.
      if (co_await shard.collector.give_up(lost)) shard.collector.kick();
    }
    if (!shard.lent.empty()) continue;
    shard.lends = false;
    if (shard.lent.empty() || shard.lends.exchange(true)) co_return Result<void>();
  }
}

namespace {

Task<Result<void>> tell_to_let_go(BlobService& service, calls::LetGo call) {
  const auto told = co_await service.call(std::move(call));
  static_cast<void>(told.has_value());  // if the message is lost, the other process forgets the reader in the end
  co_return Result<void>();
}

}  // namespace

/// The service may be gone before its last reader.
class BlobService::RightElsewhere final : public ReadingRight {
 public:
  RightElsewhere(BlobService& service, std::size_t shard, std::uint64_t reader)
      : ReadingRight(service.clock_), service_(service.self_), shard_(shard), reader_(reader) {}
  RightElsewhere(const RightElsewhere&) = delete;
  RightElsewhere& operator=(const RightElsewhere&) = delete;
  ~RightElsewhere() override {
    const auto locked = service_.lock();
    if (!locked || (*locked)->stopping_) return;
    auto& service = **locked;
    process::spawn_in_background(service.background_, "blob.let_go",
                                 tell_to_let_go(service, {shard_, service.peers()->process(), reader_}));
  }

 private:
  const std::weak_ptr<BlobService*> service_;
  const std::size_t shard_;
  const std::uint64_t reader_;
};

/// A reply may be lost, so the owner is told to let go after an error, too.
Task<Result<std::shared_ptr<const ReadingRight>>> BlobService::right_elsewhere(std::size_t shard,
                                                                               std::uint64_t content) {
  const auto reader = next_reader_.fetch_add(1);
  auto right = std::make_shared<const RightElsewhere>(*this, shard, reader);
  CO_TRY(co_await call(calls::KeepContent{shard, content, peers()->process(), reader}));
  co_return std::move(right);
}

}  // namespace tidemark::blob_store
