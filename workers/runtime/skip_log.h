// The entities that a bulk job selected but did not change, by reason, with the first few keys. Kept in the checkpoint
// and shown in the job's record:  [{"reason":R,"count":N,"samples":[[pk,rk],...]}, ...]. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace tidemark::workers {

// Reasons that several kinds of job give.
inline constexpr std::string_view kMissing = "not found";
inline constexpr std::string_view kInTheWay = "another entity is in the way";
inline constexpr std::string_view kNewerEntity = "a newer entity is there";
inline constexpr std::string_view kNewerCopy = "a newer copy is there";
inline constexpr std::string_view kAnotherJob = "another job is archiving it";
inline constexpr std::string_view kRemovedMeanwhile = "removed by somebody else meanwhile";
inline constexpr std::string_view kPerhapsTwice = "removed meanwhile, perhaps by another job: its copy stays";
inline constexpr std::string_view kNoKey = "a property of the key is missing, or the key is too long";
inline constexpr std::string_view kTooLarge = "the entity would be too large";
inline constexpr std::string_view kIndexRow = "a row of an index";
inline constexpr std::string_view kForeign = "not an archived entity, or a damaged one";
inline constexpr std::string_view kNoEntity = "archived, but nothing that a table can hold";

class SkipLog {
 public:
  /// Adds `count` entities; the key is that of one of them, or of the thing that concerns them all.
  void add(std::string_view reason, const std::string& partition_key, const std::string& row_key,
           std::uint64_t count = 1);
  /// Adds entities without a key.
  void add(std::string_view reason, std::uint64_t count) { entry(reason).count += count; }
  void add(const SkipLog& other);
  void clear() { entries_.clear(); }
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] nlohmann::json to_json() const;
  /// Tolerant: a part that cannot be read counts as absent.
  static SkipLog from_json(const nlohmann::json& json);
  /// The text for the record; empty if nothing was skipped.
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    std::string reason;
    std::uint64_t count = 0;
    nlohmann::json samples = nlohmann::json::array();
  };
  Entry& entry(std::string_view reason);
  std::vector<Entry> entries_;
};

}  // namespace tidemark::workers
