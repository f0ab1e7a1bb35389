#include "jobs/objects/file_owner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/fail_points.h"
#include "common/base/json.h"
#include "common/base/random.h"
#include "jobs/objects/file_names.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

constexpr const char* kOwnerRows = ".owner";
constexpr const char* kUnreadable = "?";
constexpr int kLooks = 5;
constexpr std::size_t kWalked = 1000;
constexpr std::uint32_t kRowsLookedAt = 100;

const FailPoint kOwnerRow("file.owner", "row");
const FailPoint kStamped("file.owner", "stamp");

Result<bool> has_archived(const FileTree& tree) {
  const auto walk = TRY(tree.walk(FileTree::Area::kArchive));
  while (true) {
    const auto files = TRY(walk->next(kWalked));
    if (files.empty()) return false;
    if (std::ranges::any_of(files, [](const auto& found) { return parse_file_path(found.path).has_value(); }))
      return true;
  }
}

std::string id_in(const std::optional<std::string>& stamp) {
  if (!stamp) return {};
  const auto text = json_or_discarded(*stamp);
  if (!text.is_object()) return kUnreadable;
  const auto id = text.find("id");
  return id != text.end() && id->is_string() && !id->get<std::string>().empty() ? id->get<std::string>() : kUnreadable;
}

}  // namespace

OwnerFound FileOwner::strange(std::string why, bool stamped) const {
  const auto cure = " If this stack is to have it, submit a job of kind adopt with directory '" + directory_.name +
                    "'" + (stamped ? " and takeOver" : "") + ".";
  return {Ownership::kStrange, "The directory '" + directory_.name + "' " + why + cure, stamped};
}

Task<Result<FileOwner::Marks>> FileOwner::read_marks() {
  Marks marks;
  marks.stamp =
      id_in(CO_TRY(co_await on(directory_.blocking, [tree = directory_.tree] { return tree->read_stamp(); })));
  auto row = co_await tables_.get(std::string(kFileTable), kOwnerRows, directory_.name);
  if (!row && !row.failed_with(ErrorCode::kTableNotFound)) co_return fail(std::move(row.error()));
  if (row && row->has_value()) marks.row = property_or<std::string>(**row, "Id");
  co_return marks;
}

Task<Result<OwnerFound>> FileOwner::look() {
  auto marks = CO_TRY(co_await read_marks());
  for (int look = 0; look < kLooks; ++look) {
    auto found = CO_TRY(co_await judge(marks));
    if (found.whose != Ownership::kStrange) co_return found;
    // Another process of this stack may have claimed it between two of these steps.
    auto again = CO_TRY(co_await read_marks());
    if (again == marks) co_return found;
    marks = std::move(again);
  }
  co_return fail(ErrorCode::kConditionNotMet, "The owner of directory '" + directory_.name + "' kept changing.");
}

Task<Result<OwnerFound>> FileOwner::look_and_stamp() {
  auto found = CO_TRY(co_await look());
  if (found.whose == Ownership::kOurs && !found.stamped) {
    CO_TRY(co_await mark(FileTree::Stamping::kIfNone));
  }
  co_return found;
}

Task<Result<OwnerFound>> FileOwner::judge(Marks marks) {
  const bool stamped = !marks.stamp.empty();
  if (stamped && marks.stamp == marks.row) co_return OwnerFound{Ownership::kOurs, {}, true};
  if (stamped && marks.row.empty()) {
    co_return strange("belongs to another stack, or this one has lost its catalog, table TidemarkFiles.", true);
  }
  if (stamped) co_return strange("belongs to another stack or has another name there.", true);
  co_return co_await judge_unmarked(std::move(marks));
}

Task<Result<OwnerFound>> FileOwner::judge_unmarked(Marks marks) {
  const auto known = CO_TRY(co_await look_for_known());
  if (known == Known::kNothing) {
    const bool files =
        CO_TRY(co_await on(directory_.blocking, [tree = directory_.tree] { return has_archived(*tree); }));
    if (!files) co_return OwnerFound{};
    co_return strange("has archived files that the catalog of this stack does not know.", false);
  }
  if (known == Known::kGone) {
    co_return strange("does not have the files that the catalog of this stack knows: is it mounted?", false);
  }
  if (!marks.row.empty()) co_return strange("has lost its stamp, .tidemark/owner.json: is it mounted?", false);
  co_return OwnerFound{Ownership::kOurs, {}, false};
}

Task<Result<FileOwner::Known>> FileOwner::look_for_known() {
  auto request = rows_of(directory_.name);
  request.table = std::string(kFileTable);
  request.top = kRowsLookedAt;
  auto page = co_await tables_.query(std::move(request));
  if (page.failed_with(ErrorCode::kTableNotFound)) co_return Known::kNothing;
  if (!page) co_return fail(std::move(page.error()));
  auto known = Known::kNothing;
  for (const auto& row : page->entities) {
    auto file = property_or<std::string>(row, "File");
    if (!parse_file_path(file)) continue;
    known = Known::kGone;
    const bool there =
        CO_TRY(co_await on(directory_.blocking, [tree = directory_.tree, file] { return tree->has(file); }));
    if (there) co_return Known::kThere;
  }
  co_return known;
}

Task<Result<void>> FileOwner::claim() {
  auto found = CO_TRY(co_await look_and_stamp());
  if (found.whose == Ownership::kOurs) co_return Result<void>{};
  if (found.whose == Ownership::kStrange) co_return fail(ErrorCode::kJobInvalid, std::move(found.problem));
  CO_TRY(co_await mark(FileTree::Stamping::kIfNone));
  const auto marks = CO_TRY(co_await read_marks());
  if (!marks.row.empty() && marks.row == marks.stamp) co_return Result<void>{};
  co_return fail(ErrorCode::kJobInvalid, strange("was taken by another stack just now.", true).problem);
}

Task<Result<void>> FileOwner::take_over() { return mark(FileTree::Stamping::kReplace); }

/// Writes the row first: a process that dies in between leaves an unowned directory, and the next uses the same id.
Task<Result<void>> FileOwner::mark(FileTree::Stamping how) {
  const auto id = CO_TRY(co_await ensure_row());
  const nlohmann::ordered_json stamp{{"id", id}, {"account", tables_.account()}, {"directory", directory_.name}};
  CO_TRY(co_await on(directory_.blocking, [tree = directory_.tree, text = stamp.dump(), how] {
    return tree->write_stamp(text, how, make_system_random()->guid());
  }));
  kStamped.reach();
  co_return Result<void>{};
}

Task<Result<std::string>> FileOwner::ensure_row() {
  CO_TRY(co_await ensure_table(tables_, std::string(kFileTable)));
  for (int look = 0; look < kLooks; ++look) {
    auto row = CO_TRY(co_await tables_.get(std::string(kFileTable), kOwnerRows, directory_.name));
    auto id = row.has_value() ? property_or<std::string>(*row, "Id") : std::string();
    if (!id.empty()) co_return id;
    id = make_system_random()->guid();
    const auto seen = row.has_value() ? std::optional(row->version) : std::nullopt;
    std::vector<table_store::Mutation> mutations{write_of(directory_.name, seen, {{"Id", id}})};
    const auto outcomes =
        CO_TRY(co_await tables_.mutate(std::string(kFileTable), kOwnerRows, std::move(mutations), std::nullopt));
    if (outcomes.front().kind == table_store::WriteOutcome::kApplied) {
      kOwnerRow.reach();
      co_return id;
    }
  }
  co_return fail(ErrorCode::kConditionNotMet, "The owner of directory '" + directory_.name + "' kept changing.");
}

}  // namespace tidemark::jobs
