// Looks for an entity key in all places that jobs connect: the tables and archives where they put it under the same
// key, and those where a copy of it would be, under the key that the job's template makes for it. One search; used from
// one strand, references must outlive it. The number of places and the amount read from each are bounded.
#pragma once
#include <set>

#include "api/explain/explain.h"

namespace tidemark::jobs {

class EntityPlaces {
 public:
  EntityPlaces(JobStore& store, table_store::TableClient& tables, ObjectAccess access)
      : store_(store), tables_(tables), access_(std::move(access)) {}

  /// Adds a job that may have moved or copied the entity.
  void connect(Reach reach);
  Task<Result<void>> search(std::string table, EntityKey key);

  /// Tells whether the job finds the entity in its present state and selects it.
  [[nodiscard]] bool selected_by(const Reach& reach) const;
  /// Tells whether the job names the entity's key, which need not exist.
  [[nodiscard]] bool named_by(const Reach& reach) const;
  [[nodiscard]] bool written_by(const std::string& operation, const Location& there) const;
  /// Tells whether the entity exists there at all.
  [[nodiscard]] bool present_at(const Location& location) const;
  [[nodiscard]] bool complete() const { return complete_; }
  /// Returns the tables among the places that were found.
  [[nodiscard]] std::vector<std::string> tables() const;
  std::vector<EntityPlace> take() { return std::move(places_); }

 private:
  using Entity = table_store::Entity;
  [[nodiscard]] bool any_at(const Location& location, const std::function<bool(const Entity&)>& fits) const;
  void add(const Location& location, const EntityKey& key, bool copy);
  /// Adds the places that jobs connect with this one under the same key.
  void follow_moves(std::size_t from);
  /// Adds the places of the copies of an original at this place.
  void follow_copies(std::size_t from);
  /// Returns the entity at the place; if there is none, the original's newest version elsewhere.
  [[nodiscard]] const Entity* original_at(std::size_t place) const;
  Task<Result<void>> look(std::size_t place);
  Task<Result<void>> look_into_table(std::size_t place);
  Task<void> look_at_blobs(std::size_t place);
  void give_up_on_blobs(const Error& error);
  Task<Result<void>> look_into_archive(std::size_t place);
  Task<Result<void>> look_into_catalog(std::size_t place);

  JobStore& store_;
  table_store::TableClient& tables_;
  ObjectAccess access_;
  std::vector<Reach> reaches_;
  std::set<std::string> known_reaches_;
  std::vector<EntityPlace> places_;
  struct Found {
    bool copy = false;  // this place and those that it leads to concern a copy of the entity
    std::optional<Entity> entity;
  };
  std::vector<Found> found_;  // one for each place
  bool complete_ = true;
};

}  // namespace tidemark::jobs
