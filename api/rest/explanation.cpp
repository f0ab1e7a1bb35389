// The story of an entity as the api shows it.
#include "api/explain/explain.h"
#include "api/rest/render.h"

namespace tidemark::api {
namespace {

using jobs::SpecMembers;
using nlohmann::json;

constexpr jobs::Names<jobs::Relation, 3> kRelations{{{jobs::Relation::kWouldTake, "wouldTake"},
                                                     {jobs::Relation::kGaveUp, "gaveUp"},
                                                     {jobs::Relation::kNamed, "named"}}};
constexpr std::array<std::string_view, 3> kStoresOfPlaces{"table", "container", "directory"};
constexpr jobs::About kAboutAccount{.meaning = "account, if it is not that of the jobs"};

std::optional<Time> time_of(std::optional<table_store::Version> version) {
  return version && *version != 0 ? std::optional(Time(Ticks(*version))) : std::nullopt;
}

void show_archive(SpecMembers& to, const jobs::Location& location) {
  to.shows_json("archive", jobs::reference("ObjectArchive"),
                location.archive ? json(json_of(*location.archive)) : json());
}

/// Shows a table or, for an archive outside of tables, the archive.
void show_location(SpecMembers& to, const jobs::Location& location) {
  to.shows_unless_empty("account", location.account, kAboutAccount);
  to.shows("table", location.archive ? std::nullopt : std::optional(location.table),
           {.meaning = "where it finds the entity, unless that is an archive outside of tables"});
  show_archive(to, location);
}

struct ShownLinkedBlob {
  jobs::LinkedBlob blob;
  void members(SpecMembers& to) const {
    to.shows("property", blob.property);
    to.shows("container", blob.link.container);
    to.shows("name", blob.link.name);
    to.shows("bytes", blob.link.size);
    to.shows("present", blob.present);
  }
};

struct ShownPlace {
  jobs::EntityPlace place;
  void members(SpecMembers& to) const {
    const auto& location = place.location;
    const auto* record = place.record ? &*place.record : nullptr;
    to.shows("store", std::string(store_of(location)), {.one_of = kStoresOfPlaces});
    to.shows("name", name_of(location));
    to.shows_unless_empty("account", location.account, kAboutAccount);
    to.shows("partitionKey", place.key.partition_key,
             {.meaning = "the entity's own key, or that of a copy, which a job's template makes"});
    to.shows("rowKey", place.key.row_key);
    to.shows("present", place.present);
    to.shows("timestamp", time_of(place.version));
    to.shows("sourceTimestamp", place.source_version ? std::optional(Time(Ticks(*place.source_version))) : std::nullopt,
             {.meaning = "of a copy: the Timestamp of its original"});
    to.shows_unless_empty("job", place.job, {.meaning = "of a copy: the job that wrote it"});
    to.shows("jobKind", record != nullptr ? std::optional(record->kind) : std::nullopt);
    to.shows("jobState", jobs::kJobStates, record != nullptr ? std::optional(record->state) : std::nullopt);
    to.shows("jobFinishedAt", record != nullptr ? record->finished_at : std::nullopt);
    to.shows_unless_empty("problem", place.problem, {.meaning = "why something here could not be read"});
    show_blobs(to);
    show_objects(to);
  }

 private:
  void show_blobs(SpecMembers& to) const {
    auto blobs = shown_all<ShownLinkedBlob>(place.blobs);
    const bool any = !blobs.empty();
    to.shows("blobs", any ? std::optional(std::move(blobs)) : std::nullopt,
             {.meaning = "properties whose values are in blobs, and whether those are as the links say"});
  }
  void show_objects(SpecMembers& to) const {
    show_archive(to, place.location);
    const bool archived = place.location.archive.has_value();
    to.shows("objects", archived ? std::optional(place.objects) : std::nullopt,
             {.meaning = "documents or parts of an archive that hold the entity, in any version"});
    to.shows("mayBeIn", archived ? std::optional(place.may_be_in) : std::nullopt,
             {.meaning = "parts that may hold it, too, and were not read; only the first ones"});
  }
};

struct ShownEntityJob {
  jobs::EntityJob job;
  void members(SpecMembers& to) const {
    to.shows("relation", kRelations, job.relation,
             {.meaning = "wouldTake: queued or running, and selects it; gaveUp: poisoned, would take it if sent back; "
                         "named: ended, and was for this key alone"});
    to.shows("id", job.record.id);
    to.shows("kind", job.record.kind);
    to.shows("state", jobs::kJobStates, job.record.state);
    to.shows("submittedAt", job.record.submitted_at);
    to.shows("finishedAt", job.record.finished_at);
    show_location(to, job.from);
  }
};

struct ShownEntitySchedule {
  jobs::EntitySchedule schedule;
  void members(SpecMembers& to) const {
    to.shows("name", schedule.name);
    to.shows("kind", schedule.kind);
    to.shows("dueTime", schedule.due);
    show_location(to, schedule.from);
  }
};

struct Looked {
  std::uint64_t jobs = 0, schedules = 0, places = 0;
  void members(SpecMembers& to) const {
    to.shows("jobs", jobs);
    to.shows("schedules", schedules);
    to.shows("places", places);
  }
};

struct ShownExplanation {
  jobs::Explanation explanation;
  static constexpr const char* kSchema = "Explanation";
  void members(SpecMembers& to) const {
    const auto asked = explanation.places.empty() ? jobs::EntityPlace() : explanation.places.front();
    to.shows("table", asked.location.table);
    to.shows("partitionKey", asked.key.partition_key);
    to.shows("rowKey", asked.key.row_key);
    to.shows("places", shown_all<ShownPlace>(explanation.places));
    to.shows("jobs", shown_all<ShownEntityJob>(explanation.jobs));
    to.shows("schedules", shown_all<ShownEntitySchedule>(explanation.schedules));
    to.shows("looked", Looked{explanation.looked_at_jobs, explanation.looked_at_schedules, explanation.places.size()});
    to.shows("complete", explanation.complete, {.meaning = "false: there was more to look at than this"});
  }
};

}  // namespace

json to_json(const jobs::Explanation& explanation) { return json_of(ShownExplanation{explanation}); }

nlohmann::ordered_json explanation_schemas() {
  nlohmann::ordered_json out;
  jobs::add_answers<ShownExplanation>(out);
  return out;
}

}  // namespace tidemark::api
