// Immutable parts of many lines as one side of a move. Entities read from a table are gathered to a batch of up to
// kBatchEntities or kBatchBytes, cut by partition or time, and each cut becomes one part, published whole.
//   crash     The note has the parts of the batch. A later delivery finishes those that were published: it removes
//             their entities from the source where these are still of that version.
//   changed   An entity that changed between its part and its removal is retracted: the part is written again without
//             it, as the next version. So the newest version of a key is in one place once the job is quiet.
//   restored  Likewise: the part is written again without the restored entities, and erased with its last entity.
// A key that was archived, created anew and archived again is in two parts, and only its newest version is restored. To
// know it, the job first reads the keys and versions of the whole archive (up to kMaxIndexedLines of them; beyond that
// only everything can be restored at once, and the table keeps the newest). The other versions of a key are dropped
// from their parts before it is put into the table, so that no crash lets an older version come back in its place.
#pragma once
#include <array>
#include <map>
#include <span>

#include "workers/kinds/archive/object_side.h"

namespace tidemark::workers {

inline constexpr std::size_t kBatchEntities = 10'000;
inline constexpr std::size_t kBatchBytes = 16UL << 20;
inline constexpr std::size_t kMaxIndexedLines = 4'000'000;

class PartSide final : public ObjectSide {
 public:
  using ObjectSide::ObjectSide;

  Task<Result<Page>> read(std::string continuation) override;
  Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) override;
  Task<Result<void>> before_put(std::vector<Entity> entities) override;
  Task<Result<RemoveOutcome>> remove(std::vector<Entity> entities) override;
  [[nodiscard]] bool removes_pages() const override { return true; }
  Task<Result<void>> finish_page() override;
  [[nodiscard]] bool keeps_versions() const override { return true; }

  [[nodiscard]] bool wants_more(const std::vector<Entity>& page) const override;
  std::vector<Unit> units(std::vector<Entity> entities) override;
  [[nodiscard]] nlohmann::json note(const std::vector<Unit>& units) const override;
  Task<Result<Unfinished>> unfinished(nlohmann::json note) override;
  [[nodiscard]] bool always_notes() const override { return true; }
  Task<Result<PutOutcome>> put(Unit unit) override;
  Task<Result<bool>> retract(std::string unit_name, std::vector<Entity> changed) override;
  Task<Result<void>> take_back(std::string unit_name, std::vector<jobs::EntityKey> keys) override;

 private:
  struct Part {
    std::string name;
    std::int64_t version = 0;
    std::vector<Entity> entities;
  };
  /// The digest of a key, so that millions of them fit into memory.
  using KeyDigest = std::array<char, 16>;
  static KeyDigest digest_of(const Entity& entity);
  struct Line {
    KeyDigest key;
    std::int64_t version = 0;
    std::uint32_t part = 0;  // index into parts_
    auto operator<=>(const Line&) const = default;
  };

  /// Returns nothing if there is no such part; no entities and version 0 if no job has written it.
  Task<Result<std::optional<Part>>> load(std::string name);
  /// Returns the next page of names of parts below `root`.
  Task<Result<jobs::ObjectNames>> part_names(std::string root, std::string from);
  /// Finds out, once, which keys have several versions.
  Task<Result<void>> learn_newest();
  /// Returns the lines with the entity's key, the newest last, if there are several.
  [[nodiscard]] std::span<const Line> lines_of(const Entity& entity) const;
  [[nodiscard]] bool obsolete(const Entity& entity) const;
  /// Writes the part again without these versions and older ones of their keys; erases it if nothing is left.
  Task<Result<void>> drop(std::string name, std::vector<Entity> entities);
  Task<Result<WriteOutcome>> replace(Part part, std::vector<Entity> kept);
  Task<Result<WriteOutcome>> publish(std::string name, std::vector<Entity> entities, std::int64_t version,
                                     std::optional<std::int64_t> replaces);

  std::uint64_t next_number_ = 0;
  bool learned_ = false;
  std::vector<Line> several_;       // the lines of keys that have more than one; sorted
  std::vector<std::string> parts_;  // the parts of the lines
  std::vector<std::string>
      read_from_;                 // the parts of the page that was read last, first the part with the newest version
  std::vector<Entity> obsolete_;  // entities of the part that was read last
};

}  // namespace tidemark::workers
