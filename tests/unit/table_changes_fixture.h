// A followed table and its followers, for the table_changes_*_test.cpp files.
#pragma once
#include "common/kv/key_codec.h"
#include "table_fixture.h"

namespace tidemark::table_store {

using enum MutationKind;

inline Property text(std::string name, std::string value) { return {std::move(name), Value(std::move(value))}; }

inline Mutation copy_of(std::string row, Version source, std::vector<Property> properties,
                        std::optional<Origin> origin = {}) {
  auto out = change(kInsertOrReplace, std::move(row), std::move(properties));
  out.source_version = source;
  out.origin = std::move(origin);
  return out;
}

inline Following following_of(std::string follower, std::vector<std::string> properties = {"City"}) {
  Following out;
  out.follower = std::move(follower);
  out.properties = std::move(properties);
  return out;
}

/// Returns "p/r [before, before] now", where a value is that of the property City.
inline std::string told(const ChangedEntity& entity) {
  const auto city = [](const std::vector<Property>& properties) {
    for (const auto& property : properties) {
      if (property.name == "City") return std::get<std::string>(property.value);
    }
    return std::string("-");
  };
  auto out = entity.partition_key + "/" + entity.row_key + " [";
  for (const auto& before : entity.before) out += (out.back() == '[' ? "" : ", ") + city(before);
  return out + "] " + (entity.now ? city(entity.now->properties) : "gone");
}

inline std::vector<std::string> told(const ChangesPage& page) {
  std::vector<std::string> out;
  for (const auto& entity : page.entities) out.push_back(told(entity));
  return out;
}

struct ChangesFixture : TableFixture {
  using TableFixture::TableFixture;
  Result<FollowerStatus> follow(Following following, bool anew = false, std::string table = "people") {
    return run_task(service->follow("acct", std::move(table), std::move(following), anew));
  }
  /// Returns a bound of which each shard has this share.
  [[nodiscard]] std::uint64_t shared(std::uint64_t bound) const { return bound * disks.size(); }
  /// Returns a position with this version on the shard of a partition, and nothing on the others.
  [[nodiscard]] Position at(Version version, const std::string& pk = "p") const {
    Position out{std::vector<Version>(disks.size())};
    out.shards[shard_of(pk)] = version;
    return out;
  }
  /// Returns a position's version on the shard of a partition.
  [[nodiscard]] Version of(const Position& position, const std::string& pk = "p") const {
    return position.of(shard_of(pk));
  }
  Result<ChangesPage> read(std::string follower, Position after = {}, std::uint32_t limit = 1000, NotesRead skip = {}) {
    return run_task(
        service->changed_entities("acct", "people", std::move(follower), std::move(after), skip, limit, Duration()));
  }
  /// Returns the changes that the follower is told from its position on.
  std::vector<std::string> news(std::string follower) {
    auto page = read(std::move(follower));
    EXPECT_TRUE(page.has_value());
    return page ? told(*page) : std::vector<std::string>{};
  }
  Result<void> acknowledge(std::string follower, Position position) {
    return run_task(service->acknowledge("acct", "people", std::move(follower), std::move(position)));
  }
  Result<void> acknowledge(std::string follower, Version version) {
    return acknowledge(std::move(follower), at(version));
  }
  FollowerStatus status(const std::string& follower) {
    const auto all = service->followers("acct", "people");
    EXPECT_TRUE(all.has_value());
    for (const auto& one : *all) {
      if (one.following.follower == follower) return one;
    }
    ADD_FAILURE() << "there is no follower " << follower;
    return {};
  }
  Version put(std::string row, std::string city, std::string pk = "p") {
    auto done = mutate(std::vector{change(kInsertOrReplace, std::move(row), {text("City", std::move(city))})}, {}, pk);
    EXPECT_TRUE(done.has_value());
    return done ? done->outcomes[0].version : 0;
  }
  /// Returns the number of rows of a kind on all shards.
  std::size_t rows(char kind) {
    std::size_t count = 0;
    for (const auto* each : engines()) {
      const auto snapshot = each->snapshot();
      for (auto cursor = snapshot->scan(kv::under(kv::key(kind))); cursor->valid(); cursor->next()) ++count;
    }
    return count;
  }
};

}  // namespace tidemark::table_store
