// Whose an archive directory is. Files are worth what the catalog says of them (file_objects.h), so a directory belongs
// to the catalog that knows its files: to one table store, one account and one name. Both sides keep the same random
// id:
//   stamp   .tidemark/owner.json   {"id":I,"account":A,"directory":D}
//   row     TidemarkFiles          PartitionKey ".owner"   RowKey: the directory's name   Id
// Where they differ, or one is missing beside files, this is another stack's directory, or its catalog was lost, or the
// file system is not mounted: jobs do not write there, and nothing is collected. A job of kind adopt (adopt.h) makes
// the catalog again and gives the directory this owner.
#pragma once
#include "common/base/async.h"
#include "jobs/objects/file_tree.h"
#include "jobs/store/job_record.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

/// Runs a blocking call, which owns what it works on, on the executor that is for them.
template <class Call>
Task<std::invoke_result_t<Call&>> on(Executor executor, Call call) {
  auto body = [](Call inner) -> Task<std::invoke_result_t<Call&>> { co_return inner(); };
  co_return co_await asio::co_spawn(executor, body(std::move(call)), asio::use_awaitable);
}

enum class Ownership : std::uint8_t {
  kOurs = 1,
  kNobodys = 2,  // nothing was ever archived there
  kStrange = 3,  // `problem` says what to do
};
struct OwnerFound {
  Ownership whose = Ownership::kNobodys;
  std::string problem = {};
  bool stamped = false;  // by whomever
  /// A person has to say so first.
  [[nodiscard]] bool needs_take_over() const { return whose == Ownership::kStrange && stamped; }
};

class FileOwner {
 public:
  FileOwner(table_store::TableClient& tables, FileDirectory directory)
      : tables_(tables), directory_(std::move(directory)) {}
  /// Only reads.
  Task<Result<OwnerFound>> look();
  /// The same, but stamps a directory of the version before, which stamped none, if the catalog knows its files.
  Task<Result<OwnerFound>> look_and_stamp();
  /// Makes a directory of nobody's ours. kJobInvalid if it is a stranger's.
  Task<Result<void>> claim();
  /// Makes it ours, whosever it was.
  Task<Result<void>> take_over();

 private:
  struct Marks {
    std::string row;    // the id in the catalog; empty: none
    std::string stamp;  // in the directory, likewise; "?" if it cannot be read
    bool operator==(const Marks&) const = default;
  };
  Task<Result<Marks>> read_marks();
  Task<Result<OwnerFound>> judge(Marks marks);
  /// What the directory holds, if nothing says whose it is.
  Task<Result<OwnerFound>> judge_unmarked(Marks marks);
  /// What of the files that the catalog has rows for is there.
  enum class Known : std::uint8_t { kNothing, kGone, kThere };
  Task<Result<Known>> look_for_known();
  Task<Result<void>> mark(FileTree::Stamping how);
  Task<Result<std::string>> ensure_row();
  [[nodiscard]] OwnerFound strange(std::string why, bool stamped) const;

  table_store::TableClient& tables_;
  FileDirectory directory_;
};

}  // namespace tidemark::jobs
