// A schema of its own in the PostgreSQL of this process, for the kv_postgres_*_test.cpp.
#pragma once
#include "common/postgres/postgres_database.h"
#include "tests/support/temporary_postgres.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv::testing {

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = tidemark::testing::TemporaryPostgres::shared();
    if (server_ == nullptr) GTEST_SKIP() << tidemark::testing::TemporaryPostgres::kAbsent;
    options_.url = server_->url();
    options_.schema = server_->new_schema();
    options_.owner = "first";
  }
  static std::unique_ptr<PostgresEngine> open(const PostgresOptions& options) {
    auto opened = open_postgres(options);
    EXPECT_TRUE(opened.has_value()) << opened.error().message << " | " << opened.error().detail;
    return opened ? std::move(*opened) : nullptr;
  }
  std::unique_ptr<PostgresEngine> open_as(const std::string& owner) {
    auto options = options_;
    options.owner = owner;
    return open(options);
  }
  Error open_failure() {
    auto opened = open_postgres(options_);
    EXPECT_FALSE(opened.has_value());
    return opened ? Error{} : opened.error();
  }
  /// Opens another client's session.
  std::unique_ptr<detail::Connection> session() { return std::move(*detail::connect(options_)); }
  /// Returns the one number that a statement returns.
  std::int64_t number(const char* sql) {
    auto rows = session()->run({{"asked", sql}}, std::nullopt);
    EXPECT_TRUE(rows.has_value()) << rows.error().detail;
    return rows && rows->size() > 0 ? rows->number(0, 0) : -1;
  }
  std::int64_t groups() { return number("SELECT number FROM groups"); }

  tidemark::testing::TemporaryPostgres* server_ = nullptr;
  PostgresOptions options_;
};

inline Result<void> increment(Transaction& txn) {
  const auto n = TRY(txn.get("n"));
  txn.put("n", std::to_string(std::stoi(n.value_or("0")) + 1));
  return {};
}

}  // namespace tidemark::kv::testing
