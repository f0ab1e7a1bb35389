// The rules of jobs/delivery/retry_policy.h, under the names that the workers use.
#pragma once
#include "jobs/delivery/retry_policy.h"

namespace tidemark::workers {

using jobs::class_name;
using jobs::classify;
using jobs::counts_as_attempt;
using jobs::Decision;
using jobs::ErrorClass;
using jobs::RetryPolicy;
using jobs::Treatment;

}  // namespace tidemark::workers
