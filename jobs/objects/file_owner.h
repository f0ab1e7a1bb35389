// The owner of an archive directory. Files count only through the catalog (file_objects.h), so a directory belongs to
// the catalog that knows its files: to one table store, one account and one name. Both sides keep the same random id:
//   stamp   .tidemark/owner.json   {"id":I,"account":A,"directory":D}
//   row     TidemarkFiles          PartitionKey ".owner"   RowKey: the directory's name   Id
// If they differ, or one is missing beside files, the directory belongs to another stack, or its catalog was lost, or
// the file system is not mounted: jobs do not write there, and nothing is collected. A job of kind adopt (adopt.h)
// rebuilds the catalog and gives the directory this owner.
#pragma once
#include "common/base/async.h"
#include "jobs/objects/file_tree.h"
#include "jobs/store/job_record.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

/// Runs a blocking call, which owns all objects that it uses, on the executor for such calls.
template <class Call>
Task<std::invoke_result_t<Call&>> on(Executor executor, Call call) {
  auto body = [](Call inner) -> Task<std::invoke_result_t<Call&>> { co_return inner(); };
  co_return co_await asio::co_spawn(executor, body(std::move(call)), asio::use_awaitable);
}

enum class Ownership : std::uint8_t {
  kOurs = 1,
  kNobodys = 2,  // nothing was ever archived there
  kStrange = 3,  // `problem` says how to solve it
};
struct OwnerFound {
  Ownership whose = Ownership::kNobodys;
  std::string problem = {};
  bool stamped = false;  // there is a stamp, of this or another stack
  /// Tells whether a person has to agree first.
  [[nodiscard]] bool needs_take_over() const { return whose == Ownership::kStrange && stamped; }
};

class FileOwner {
 public:
  FileOwner(table_store::TableClient& tables, FileDirectory directory)
      : tables_(tables), directory_(std::move(directory)) {}
  /// Looks without writing.
  Task<Result<OwnerFound>> look();
  /// Likewise, but stamps a directory of the version before, which wrote no stamps, if the catalog knows its files.
  Task<Result<OwnerFound>> look_and_stamp();
  /// Claims a directory that has no owner. kJobInvalid if it belongs to another stack.
  Task<Result<void>> claim();
  /// Takes the directory over from any owner.
  Task<Result<void>> take_over();

 private:
  struct Marks {
    std::string row;    // the id in the catalog; empty: none
    std::string stamp;  // the id in the directory; empty: none; "?" if it cannot be read
    bool operator==(const Marks&) const = default;
  };
  Task<Result<Marks>> read_marks();
  Task<Result<OwnerFound>> judge(Marks marks);
  /// Judges by the files in the directory if no mark names its owner.
  Task<Result<OwnerFound>> judge_unmarked(Marks marks);
  /// The state of the files for which the catalog has rows: there are none, they are gone, or they exist.
  enum class Known : std::uint8_t { kNothing, kGone, kThere };
  Task<Result<Known>> look_for_known();
  Task<Result<void>> mark(FileTree::Stamping how);
  Task<Result<std::string>> ensure_row();
  [[nodiscard]] OwnerFound strange(std::string why, bool stamped) const;

  table_store::TableClient& tables_;
  FileDirectory directory_;
};

}  // namespace tidemark::jobs
