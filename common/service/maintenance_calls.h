// The calls by which the api has a store make its part of a backup, and check its data. All stores answer them
// (common/rpc/call.h).
//
// A backup is one cut through all stores:
//   begin    each store writes its memory to files and removes no file from now on
//   hold     each store lets no write reach the disk; when the last one has answered, that is the cut
//   cut      each store notes its files, by hard links, and writes resume there: they come after the cut, and so does
//            every write that another store makes because of them, since that one is held until its own cut
//   copy     each store copies, links and sums up the files that it noted, for as long as that takes
//   end      each store forgets these files
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.h"
#include "common/kv/check.h"

namespace tidemark::service {

/// How long the api waits for an answer that a store gives at once, and for the beginning of a backup: a store first
/// finishes removals that are under way, and writes its memory to files.
inline constexpr Duration kCallPatience = std::chrono::seconds(10);
inline constexpr Duration kBeginPatience = std::chrono::minutes(5);
/// The requester of a backup is taken for dead if no call comes for so long before the copying begins. A store that has
/// begun waits for the slowest one, and then for the calls that go to all of them.
inline constexpr Duration kBackupPatience = kBeginPatience + 6 * kCallPatience;

/// Identifies the data of a store.
struct DataIdentity {
  std::string part;  // "table"
  std::uint32_t format = 0;
  std::string owner;
};

struct CopyState {
  bool done = false;
  std::string trouble;  // why it failed; `done` is set as well
  std::string list_sha256;
  std::uint64_t files = 0, bytes = 0, new_files = 0, new_bytes = 0;
};

struct FoundThing {
  std::string kind, where, what;
};
struct CheckState {
  bool running = false;
  std::uint64_t round = 0;  // how many have begun
  std::string trouble;      // why the last one ended early
  std::uint64_t rows = 0, files = 0, bytes = 0, found = 0;
  std::vector<FoundThing> findings;
};

namespace calls {

struct Identify {
  static constexpr std::string_view kMethod = "maintenance.identify";
  using Reply = DataIdentity;
  std::string id;
};
struct BeginBackup {
  static constexpr std::string_view kMethod = "maintenance.begin_backup";
  using Reply = void;
  std::string id;
  std::string directory;  // of the unfinished backup; absolute
  std::string previous;   // a complete backup, or empty
};
struct HoldWrites {
  static constexpr std::string_view kMethod = "maintenance.hold_writes";
  using Reply = void;
  std::string id;
  std::uint32_t at_most_ms = 0;
};
/// How long writes were held, in microseconds.
struct CutBackup {
  static constexpr std::string_view kMethod = "maintenance.cut_backup";
  using Reply = std::uint64_t;
  std::string id;
};
struct CopyBackup {
  static constexpr std::string_view kMethod = "maintenance.copy_backup";
  using Reply = void;
  std::string id;
};
struct ReadCopyState {
  static constexpr std::string_view kMethod = "maintenance.read_copy_state";
  using Reply = CopyState;
  std::string id;
};
struct EndBackup {
  static constexpr std::string_view kMethod = "maintenance.end_backup";
  using Reply = void;
  std::string id;
};

/// Begins a round at full speed. Returns the number of the round.
struct BeginCheck {
  static constexpr std::string_view kMethod = "maintenance.begin_check";
  using Reply = std::uint64_t;
  std::string id;
};
struct ReadCheckState {
  static constexpr std::string_view kMethod = "maintenance.read_check_state";
  using Reply = CheckState;
  std::string id;
};

}  // namespace calls
}  // namespace tidemark::service
