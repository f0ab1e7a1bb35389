// What every engine may do by the contract of TransactionBody, done to every body. Its first run is noted and thrown
// away. Then it is run over what was there before the latest transaction, as if it had been tried too early, and with a
// read that fails. The last run counts, and must do what the first one did. A body that does not ends the process, and
// says what it did.
#pragma once
#include <memory>

#include "common/kv/engine.h"

namespace tidemark::kv {

std::unique_ptr<Engine> repeat_bodies(std::unique_ptr<Engine> engine);

/// The system's clock, except that all runs of a body see the same time.
std::unique_ptr<Clock> make_repeatable_clock();

}  // namespace tidemark::kv
