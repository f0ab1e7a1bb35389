// Checks of options that are whole numbers, with answers that a person understands.
#pragma once

namespace CLI {
class Validator;
}

namespace tidemark::cli {

CLI::Validator whole_number();     // from 0 on
CLI::Validator positive_number();  // from 1 on

}  // namespace tidemark::cli
