#include "jobs/kinds/purge/purge.h"

#include "jobs/kinds/reach.h"

namespace tidemark::jobs {

Reach PurgeSpec::reach() const { return {}; }

}  // namespace tidemark::jobs
