#include "jobs/spec/job_schemas.h"

#include "jobs/kinds/transaction/transaction.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

using nlohmann::ordered_json;

/// Returns "ArchiveSpec" for archive.
std::string schema_name(std::string_view kind) {
  std::string out(kind);
  out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out + "Spec";
}

template <class Spec>
ordered_json schema_of() {
  const Member kind{"kind", {{"type", "string"}, {"enum", ordered_json::array({Spec::kName})}}, true, {}, {}};
  auto members = members_of<Spec>();
  members.insert(members.begin(), kind);
  return {{"type", "object"},
          {"required", required_of(members)},
          {"allOf", ordered_json::array({reference(Spec::kSelectsEntities ? "SelectingJobMembers" : "JobMembers")})},
          {"unevaluatedProperties", false},
          {"properties", properties_of(members)}};
}

/// Describes the jobs of kinds that users have declared.
ordered_json own_schema() {
  const ordered_json kind{{"type", "string"},
                          {"pattern", kKindNamePattern},
                          {"maxLength", kMaxKindName},
                          {"not", {{"enum", Kinds::kNames}}},
                          {"description", "A kind that was declared with PUT /v1/kinds/KIND"}};
  auto members = members_of<OwnSpec>();
  members.insert(members.begin(), Member{"kind", kind, true, {}, {}});
  return {{"type", "object"},
          {"required", required_of(members)},
          {"allOf", ordered_json::array({reference("JobMembers")})},
          {"unevaluatedProperties", false},
          {"properties", properties_of(members)}};
}

/// Describes an object that has the members of T and no others.
template <class T>
ordered_json object_of(const char* description) {
  ordered_json out{{"type", "object"}, {"description", description}};
  out.update(object_schema(members_of<T>()));
  return out;
}

ordered_json shared_schemas() {
  return {{"Then",
           {{"allOf", ordered_json::array({reference("JobSpec")})},
            {"description",
             "A job without idempotencyKey that begins when this one has succeeded; jobs are nested at most 5 deep"}}},
          {"OnEnd", object_of<CallbackEndpoint>("Called once when the job, or all jobs of the group, have ended")},
          {"PropertyValues", values_schema()},
          {"ObjectArchive",
           object_of<ObjectArchive>(
               "An archive outside of tables: documents (format entity) or JSON Lines parts (format lines) in a "
               "container, or in a directory that the workers' configuration names.")},
          {"JobMembers",
           {{"type", "object"},
            {"description", "What every job has"},
            {"properties", properties_of(members_of_every_job())}}},
          {"SelectingJobMembers",
           {{"type", "object"},
            {"description", "What every job has that selects entities"},
            {"allOf", ordered_json::array({reference("JobMembers")})},
            {"properties", properties_of(members_of_selecting_jobs())}}}};
}

}  // namespace

ordered_json job_schemas() {
  ordered_json out{{"JobSpec", {{"oneOf", ordered_json::array()}}}};
  out.update(shared_schemas());
  out.update(transaction_schemas());
  Kinds::for_each([&]<class Spec>(const Spec&) {
    const auto name = schema_name(Spec::kName);
    out["JobSpec"]["oneOf"].push_back(reference(name));
    out[name] = schema_of<Spec>();
  });
  out["JobSpec"]["oneOf"].push_back(reference("OwnSpec"));
  out["OwnSpec"] = own_schema();
  return out;
}

}  // namespace tidemark::jobs
