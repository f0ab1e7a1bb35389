// The registry of the kinds of job: a name, how its members are read, how they are written. The n-th is the n-th
// alternative of JobWork. A new kind: its struct in job_spec.h, a row here, a file under workers/jobs and a case in
// workers/runtime/registry.cpp. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <span>

#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {

struct Kind {
  std::string_view name;
  JobWork (*read)(SpecReader& in);
  void (*write)(const JobWork& work, nlohmann::ordered_json& out);
  bool selects_entities = false;  // takes maxAffected and maxPerSecond
};

std::span<const Kind> kinds();
const Kind* find_kind(std::string_view name);

}  // namespace tidemark::jobs
