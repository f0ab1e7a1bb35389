#include "jobs/kinds/archive/archive.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

using nlohmann::ordered_json;

namespace {

constexpr const char* kDirectoryHasNone = "a directory belongs to no account: leave its account out";

/// Reads the name of a table, or an archive outside of tables.
void place_member(SpecMembers& in, const char* name, std::string& table, std::optional<ObjectArchive>& archive,
                  const About& about) {
  if (in.describes()) {
    const auto forms = ordered_json::array({text_schema({.pattern = kTablePattern}), reference("ObjectArchive")});
    in.describe(name, {{"oneOf", forms}}, about, true, members_of<ObjectArchive>());
  } else if (in.writes() && archive) {
    in.put(name, members_json(*archive));
  } else if (const auto* object = in.object(name)) {
    if (object->contains("container") == object->contains("directory")) {
      in.problem(std::string(name) + " needs a container or a directory");
    }
    in.nested(name, *object, archive.emplace());
  } else {
    in.table(name, table);
  }
}

}  // namespace

void ArchiveSpec::members(SpecMembers& in) {
  in.table("source", source, kTableToRead);
  place_member(in, "destination", destination, archive, kTableToWrite);
  if (archive && archive->table.empty()) archive->table = source;
  in.accounts(accounts);
  if (archive && !archive->directory.empty() && !accounts.destination.empty()) in.problem(kDirectoryHasNone);
  if (accounts.source == accounts.destination) in.two_tables(source, destination);
  in.selection(*this);
}

Reach ArchiveSpec::reach() const {
  return {.from = {source, {}, accounts.source},
          .to = {destination, archive, accounts.destination},
          .selection = *this,
          .step = Step::kArchive,
          .keeps_key = true};
}

void UnarchiveSpec::members(SpecMembers& in) {
  place_member(in, "source", source, archive, kTableToRead);
  in.table("destination", destination, kTableToWrite);
  if (archive && archive->table.empty()) archive->table = destination;
  in.accounts(accounts);
  if (archive && !archive->directory.empty() && !accounts.source.empty()) in.problem(kDirectoryHasNone);
  if (accounts.source == accounts.destination) in.two_tables(source, destination);
  in.selection(*this);
}

Reach UnarchiveSpec::reach() const {
  return {.from = {source, archive, accounts.source},
          .to = {destination, {}, accounts.destination},
          .selection = *this,
          .step = Step::kRestore,
          .keeps_key = true};
}

}  // namespace tidemark::jobs
