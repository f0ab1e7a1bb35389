// The members of limits, for the routes of limits and of kinds. Pure.
#pragma once
#include <string>

#include "jobs/limits/limits.h"
#include "jobs/spec/own_kinds.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {

void rate_members(jobs::SpecMembers& in, jobs::LimitChange& change);
void show_rates(jobs::SpecMembers& to, const jobs::Limit& limit);
/// Says that there is no such kind, built in or declared, and which one may be meant.
std::string no_such_kind(const std::string& name, const jobs::OwnKinds& own);

}  // namespace tidemark::api
