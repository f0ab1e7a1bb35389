// Checks of options that are whole numbers or durations, with messages that a person understands.
#pragma once
#include <cstdint>

namespace CLI {
class Validator;
}

namespace tidemark::cli {

CLI::Validator whole_number();     // at least 0
CLI::Validator positive_number();  // at least 1
/// For transform(): makes seconds of 30m, 1h and the like; at least `least` of them.
CLI::Validator duration(std::int64_t least);

}  // namespace tidemark::cli
