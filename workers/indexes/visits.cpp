#include "workers/indexes/visits.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/json.h"
#include "workers/indexes/index_kinds.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::Position;
using table_store::Version;

constexpr std::size_t kMost = 100;
constexpr std::size_t kAtOnce = 100;
constexpr std::size_t kMaxTextBytes = 30'000;

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

const table_store::Value* value_in(const std::vector<table_store::Property>& properties, const std::string& name) {
  const auto found = std::ranges::find(properties, name, &table_store::Property::name);
  return found == properties.end() ? nullptr : &found->value;
}

/// Returns a number for one shard, and a list of numbers for several.
json json_of(const Position& position) {
  if (position.shards.size() <= 1) return position.of(0);
  return position.shards;
}

Position position_in(const json& value) {
  if (value.is_number()) return {{value.get<Version>()}};
  return value.is_array() ? Position{value.get<std::vector<Version>>()} : Position{};
}

}  // namespace

bool concerns_others(const ChangedEntity& changed, const std::vector<std::string>& taken) {
  if (!changed.now || changed.appeared) return true;
  const auto differs = [&](const auto& before, const std::string& name) {
    const auto* was = value_in(before, name);
    const auto* is = value_in(changed.now->properties, name);
    return was == nullptr || is == nullptr ? was != is : !same_value(*was, *is);
  };
  return std::ranges::any_of(changed.before, [&](const auto& before) {
    return std::ranges::any_of(taken, [&](const auto& name) { return differs(before, name); });
  });
}

void Visits::add(const std::vector<ChangedEntity>& changed, const std::vector<std::string>& taken,
                 const Position& since) {
  for (const auto& entity : changed) {
    if (!concerns_others(entity, taken)) continue;
    const jobs::EntityKey key{entity.partition_key, entity.row_key};
    const auto found = std::ranges::find(waiting_, key, &Waiting::referred);
    if (found == waiting_.end()) {
      waiting_.push_back({key, {}, since});
    } else if (!found->at.empty() && found->again.none()) {
      found->again = since;
    }
  }
}

bool Visits::full() const { return waiting_.size() >= kMost; }

bool Visits::waits_for(const jobs::EntityKey& referred) const {
  return std::ranges::find(waiting_, referred, &Waiting::referred) != waiting_.end();
}

Position Visits::reached(Position position) const {
  for (const auto& waiting : waiting_) position = earlier_of(position, waiting.since);
  return position;
}

std::vector<Referrers::Visit> Visits::next() const {
  std::vector<Referrers::Visit> out;
  for (std::size_t i = 0; i < std::min(waiting_.size(), kAtOnce); ++i) {
    out.push_back({waiting_[i].referred, waiting_[i].at});
  }
  return out;
}

/// Visits that made progress move behind the others, so that an entity with very many referring entities does not hold
/// up the others.
void Visits::done(std::vector<Referrers::Visit> visits) {
  std::vector<Waiting> later;
  std::deque<Waiting> rest;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    auto& waiting = waiting_[i];
    if (i >= visits.size() || (visits[i].at == waiting.at && !visits[i].done)) {
      rest.push_back(std::move(waiting));
      continue;
    }
    if (visits[i].done && waiting.again.none()) continue;
    waiting.at = visits[i].done ? std::string() : std::move(visits[i].at);
    if (visits[i].done) waiting.since = std::exchange(waiting.again, {});
    later.push_back(std::move(waiting));
  }
  for (auto& waiting : later) rest.push_back(std::move(waiting));
  waiting_ = std::move(rest);
}

std::string Visits::text(const Position& position) const {
  auto waiting = json::array();
  for (const auto& each : waiting_) {
    waiting.push_back({each.referred.partition_key, each.referred.row_key, each.at, json_of(each.since),
                       each.again.none() ? json(0) : json_of(each.again)});
  }
  auto text = text_of({{"position", json_of(position)}, {"waiting", std::move(waiting)}});
  // Without the waiting list, the changes since reached() are read again.
  return text.size() <= kMaxTextBytes ? text : text_of({{"position", json_of(reached(position))}});
}

Position Visits::read(const std::string& text) {
  waiting_.clear();
  const auto value = json_or_discarded(text);
  if (!value.is_object()) return {};
  for (const auto& each : value.value("waiting", json::array())) {
    if (!each.is_array() || each.size() != 5) continue;
    waiting_.push_back({{each[0], each[1]}, each[2], position_in(each[3]), position_in(each[4])});
  }
  return position_in(value.value("position", json(0)));
}

}  // namespace tidemark::workers
