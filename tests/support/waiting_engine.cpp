#include "tests/support/waiting_engine.h"

#include <future>
#include <stdexcept>

#include "common/base/random.h"
#include "common/postgres/postgres_engine.h"

namespace tidemark::kv {
namespace {

class WaitingEngine final : public Engine {
 public:
  explicit WaitingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  std::shared_ptr<const Reader> snapshot() const override { return engine_->snapshot(); }
  Result<std::optional<std::string>> get(std::string_view key) const override { return engine_->get(key); }
  void submit(TransactionBody body, Completion done) override {
    wait([&](Completion told) { engine_->submit(std::move(body), std::move(told)); }, std::move(done));
  }
  void refuse_writes(std::optional<Error> why) override { engine_->refuse_writes(std::move(why)); }
  std::optional<Error> failure() const override { return engine_->failure(); }
  void erase_ranges(std::vector<KeyRange> ranges, Completion done) override {
    wait([&](Completion told) { engine_->erase_ranges(std::move(ranges), std::move(told)); }, std::move(done));
  }
  std::size_t queue_depth() const override { return engine_->queue_depth(); }
  EngineMemory memory() const override { return engine_->memory(); }

 private:
  template <class Start>
  static void wait(Start start, Completion done) {
    std::promise<Result<void>> told;
    auto outcome = told.get_future();
    start(Completion([&told](Result<void> result) { told.set_value(std::move(result)); }));
    done(outcome.get());
  }

  const std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Engine> open_waiting_postgres(const std::string& directory, const std::string& schema) {
  PostgresOptions options;
  options.url = "host=" + directory + " user=postgres dbname=postgres";
  options.schema = schema;
  options.owner = make_system_random()->guid();
  auto engine = open_postgres(options);
  if (!engine) throw std::runtime_error("the engine on PostgreSQL: " + engine.error().message);
  return std::make_unique<WaitingEngine>(std::move(*engine));
}

}  // namespace tidemark::kv
