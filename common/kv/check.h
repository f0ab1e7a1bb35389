// A check of a store's data: the code that walks rows and files reports damage here, and is paced here. One thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/kv/stored_engine.h"

namespace tidemark::kv {

struct Finding {
  std::string kind;   // "checksum", "record", "reference", "figure", "payload", "stray"
  std::string where;  // a file, or the subject of a row; never its contents
  std::string what;   // for people
};

/// Keeps this many findings; the rest are only counted.
inline constexpr std::size_t kMaxFindings = 1000;
/// A walk over rows keeps a snapshot, which must not get old: rows are paced as if they had this many times fewer
/// bytes.
inline constexpr std::uint64_t kRowsAreFaster = 16;

struct CheckReport {
  std::uint64_t rows = 0, files = 0, bytes = 0;
  std::uint64_t found = 0;
  std::vector<Finding> findings;
};

class CheckRun {
 public:
  /// Waits for its turn after `bytes` were read; false ends the check.
  using Pace = std::function<bool(std::uint64_t bytes)>;
  using Tell = std::function<void(const Finding&)>;
  explicit CheckRun(Pace pace = {}, Tell tell = {}) : pace_(std::move(pace)), tell_(std::move(tell)) {}

  void found(std::string_view kind, std::string where, std::string what);
  /// kCancelled when the check must end.
  Result<void> read_row(std::string_view key, std::string_view value);
  Result<void> read_bytes(std::uint64_t bytes);
  void read_file() { ++report_.files; }
  [[nodiscard]] const CheckReport& report() const { return report_; }

 private:
  Pace pace_;
  Tell tell_;
  Result<void> take_turn(std::uint64_t weight);
  std::uint64_t unpaced_ = 0;
  CheckReport report_;
};

/// Checks every file of the database as a whole, against the sum noted when it was written, or those of its blocks.
Result<void> check_files(const StoredEngine& engine, CheckRun& run);

/// Called for each row of a range, in order. A walk takes a snapshot of one moment, and reads nothing into the cache.
using CheckRow = std::function<Result<void>(std::string_view key, std::string_view value)>;
Result<void> check_rows(const Reader& rows, const KeyRange& range, CheckRun& run, const CheckRow& row,
                        std::string where = "rows");

/// Describes a row in words that may stand in a log: its kind, and the rest of its key in hex.
std::string row_name(std::string_view key);

/// Checks the rows of an engine. A store's check lists the kinds of its rows, and derives from this class to relate
/// them to each other.
class RowCheck {
 public:
  RowCheck(const Reader& rows, CheckRun& run) : rows_(rows), run_(run) {}

 protected:
  using Look = std::function<void(std::string_view key, std::string_view value)>;
  struct Kind {
    std::string_view prefixes;  // bytes, each of which begins the keys of such rows
    Look look = {};             // nothing: any value is right
    std::string stray = {};     // if this is not empty: why there must be no such rows here
  };

  /// Looks at all rows, kind after kind in the order of the list, so a Look may use the notes of those before it.
  /// Finds the rows of all other kinds.
  Result<void> walk(const std::vector<Kind>& kinds);
  /// Makes a Look that passes the record in each row on to `then`, or finds that it cannot be read: in the words of
  /// `what` or, without it, in those of the decoder.
  template <class Format, class Then = std::nullptr_t>
  [[nodiscard]] Look reads(Format format, std::string what = {}, Then then = {}) {
    return [=, this](std::string_view key, std::string_view value) {
      const auto record = [&] {
        if constexpr (requires { format.decode(value); }) {
          return format.decode(value);
        } else {
          return format(value);
        }
      }();
      if (!record) return wrong("record", key, what.empty() ? "cannot be read: " + record.error().detail : what);
      if constexpr (!std::is_null_pointer_v<Then>) then(key, *record);
    };
  }
  void wrong(std::string_view kind, std::string_view key, std::string what) {
    run_.found(kind, row_name(key), std::move(what));
  }

  const Reader& rows_;
  CheckRun& run_;
};

}  // namespace tidemark::kv
