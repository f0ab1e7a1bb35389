// Checks of options that are whole numbers, with messages that a person understands.
#pragma once

namespace CLI {
class Validator;
}

namespace tidemark::cli {

CLI::Validator whole_number();     // at least 0
CLI::Validator positive_number();  // at least 1

}  // namespace tidemark::cli
