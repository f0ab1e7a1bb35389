#include "tests/simulation/blob_people.h"

#include <numeric>
#include <set>

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

constexpr const char* kContainer = "box";
constexpr std::uint64_t kLongestPiece = 4000;

std::vector<std::string> names_of(std::size_t blobs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < blobs; ++i) names.push_back("blob" + std::to_string(i));
  return names;
}

}  // namespace

BlobPeople::BlobPeople(Network& network, Life& life, const std::vector<int>& stores, std::size_t blobs,
                       BlobNotes& notes, BlobOracle& oracle, std::uint64_t seed)
    : life_(life),
      blobs_(names_of(blobs)),
      notes_(notes),
      oracle_(oracle),
      dice_(seed),
      link_(network, life, stores, false),
      client_(link_, kAccount) {
  for (const auto store : stores) each_.emplace_back(plain_links_.emplace_back(network, life, store, true), kAccount);
}

void BlobPeople::start() { spawn(life_.executor(), begin(*this)); }

void BlobPeople::look_at_all() {
  for (auto& store : each_) spawn(life_.executor(), look_at_all_of(*this, store));
}

Task<void> BlobPeople::nap(Duration longest) {
  auto sleep = sleep_for(life_.clock(), dice_.between(1ms, longest));
  co_await std::move(sleep);
}

Task<void> BlobPeople::begin(BlobPeople& self) {
  while (!self.life_.dead()) {
    const auto made = co_await self.client_.ensure_container(kContainer);
    if (made) break;
    co_await self.nap(100ms);
  }
  self.notes_.ready = true;
  for (const auto& blob : self.blobs_) spawn(self.life_.executor(), write(self, blob));
  for (int i = 0; i < 3; ++i) spawn(self.life_.executor(), read_at_random(self));
}

BlobPeople::Operation BlobPeople::next(const std::string& blob) {
  Operation operation;
  operation.blob = blob;
  const auto choice = dice_.below(100);
  if (choice < 20) {
    operation.number = oracle_.begun(blob, std::nullopt);
  } else {
    operation.staged = choice < 50;
    const auto count = operation.staged ? 1 + dice_.below(3) : 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      operation.pieces.push_back(std::to_string(dice_.next()) + std::string(dice_.below(kLongestPiece), 'x'));
    }
    const auto whole = std::accumulate(operation.pieces.begin(), operation.pieces.end(), std::string());
    operation.number = oracle_.begun(blob, whole);
  }
  operation.id = blob + "-" + std::to_string(operation.number);
  return operation;
}

Task<void> BlobPeople::write(BlobPeople& self, std::string blob) {
  ++self.notes_.busy;
  while (!self.notes_.stop && !self.life_.dead()) {
    co_await self.nap(200ms);
    co_await operate(self, self.next(blob));
  }
  --self.notes_.busy;
}

/// Carries out an operation. Each attempt takes it over, as another worker would, after so short a wait that the
/// attempt before may still be running.
Task<void> BlobPeople::operate(BlobPeople& self, Operation operation) {
  for (std::uint64_t epoch = 1; !self.life_.dead(); ++epoch) {
    const auto attempt = std::make_shared<Attempt>();
    spawn(self.life_.executor(), try_once(self, operation, epoch, attempt));
    const auto patience = self.life_.clock().monotonic() + self.dice_.between(100ms, 2s);
    while (!attempt->over && self.life_.clock().monotonic() < patience) co_await self.nap(20ms);
    if (attempt->ledger) {
      co_return self.oracle_.acknowledged(operation.blob, operation.number, *attempt->ledger);
    }
  }
}

Task<void> BlobPeople::try_once(BlobPeople& self, Operation operation, std::uint64_t epoch,
                                std::shared_ptr<Attempt> attempt) {
  ++self.notes_.busy;
  const auto opened = co_await self.client_.open_operation(operation.id, epoch, 0);
  if (opened && opened->closed) attempt->ledger = *opened;
  if (opened && !opened->closed) {
    if (epoch > 1 && self.dice_.chance(5000)) {
      spawn(self.life_.executor(), come_late(self, operation, epoch - 1));
    }
    const auto done = co_await self.carry_out(operation, epoch);
    const auto closed = done ? co_await self.client_.close_operation(operation.id, epoch, 0)
                             : Result<OperationLedger>(fail(done.error()));
    if (closed) attempt->ledger = *closed;
  }
  attempt->over = true;
  --self.notes_.busy;
}

/// Tries a different write under the fence of an attempt that was overtaken.
Task<void> BlobPeople::come_late(BlobPeople& self, Operation operation, std::uint64_t epoch) {
  ++self.notes_.busy;
  co_await self.nap(500ms);
  const auto name = operation.blob;
  operation.pieces = {"late"};
  operation.staged = false;
  const auto outcome = co_await self.carry_out(operation, epoch);
  self.oracle_.overtaken(name, outcome);
  --self.notes_.busy;
}

Task<Result<WriteOutcome>> BlobPeople::carry_out(const Operation& operation, std::uint64_t epoch) {
  blob_store::FencedWrite write{{operation.id, epoch, kWritten}, static_cast<std::int64_t>(operation.number)};
  if (operation.pieces.empty()) co_return co_await client_.erase(kContainer, operation.blob, write);
  if (!operation.staged) {
    co_return co_await client_.put(kContainer, operation.blob, {}, operation.pieces.front(), write);
  }
  for (std::uint32_t i = 0; i < operation.pieces.size(); ++i) {
    const Fence fence{operation.id, epoch, {}};
    CO_TRY(co_await client_.stage(kContainer, operation.blob, i, operation.pieces[i], fence));
  }
  const auto count = static_cast<std::uint32_t>(operation.pieces.size());
  co_return co_await client_.publish(kContainer, operation.blob, count, {}, write);
}

Task<void> BlobPeople::read_at_random(BlobPeople& self) {
  ++self.notes_.busy;
  while (!self.notes_.stop && !self.life_.dead()) {
    co_await self.nap(60ms);
    if (self.dice_.chance(1000)) {
      co_await list(self, self.client_);
    } else {
      co_await read(self, self.client_, self.blobs_[self.dice_.below(self.blobs_.size())]);
    }
  }
  --self.notes_.busy;
}

Task<bool> BlobPeople::read(BlobPeople& self, blob_store::BlobClient& store, std::string blob) {
  const auto asked = self.oracle_.now();
  const auto found = co_await store.read(kContainer, blob, 0, std::nullopt);
  if (!found) co_return false;
  self.oracle_.shown(blob, asked, *found ? BlobState((*found)->bytes) : std::nullopt);
  co_return true;
}

Task<bool> BlobPeople::list(BlobPeople& self, blob_store::BlobClient& store) {
  const auto asked = self.oracle_.now();
  const auto listed = co_await store.list(kContainer, "", "");
  if (!listed) co_return false;
  const std::set<std::string> names(listed->names.begin(), listed->names.end());
  for (const auto& blob : self.blobs_) self.oracle_.listed(blob, asked, names.contains(blob));
  co_return true;
}

Task<void> BlobPeople::look_at_all_of(BlobPeople& self, blob_store::BlobClient& store) {
  ++self.notes_.busy;
  for (const auto& blob : self.blobs_) {
    while (!co_await read(self, store, blob) && !self.life_.dead()) co_await self.nap(100ms);
  }
  while (!co_await list(self, store) && !self.life_.dead()) co_await self.nap(100ms);
  --self.notes_.busy;
}

}  // namespace tidemark::simulation
