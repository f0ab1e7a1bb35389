// Does to every body everything that an engine may do by the contract of TransactionBody. The body's first run is noted
// and thrown away. Then it is run over the contents before the latest transaction, as if it had been tried too early,
// and with a read that fails. The last run counts, and must do the same as the first one. A body that does not ends the
// process, with a report of the difference.
#pragma once
#include <memory>

#include "common/kv/engine.h"

namespace tidemark::kv {

std::unique_ptr<Engine> repeat_bodies(std::unique_ptr<Engine> engine);

/// The system's clock, except that all runs of a body see the same time.
std::unique_ptr<Clock> make_repeatable_clock();

}  // namespace tidemark::kv
