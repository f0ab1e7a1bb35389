// Reads the Debian package index (the output of `apt-cache dumpavail`) as entities: PartitionKey = section ('/' becomes
// '-', since keys cannot hold it), RowKey = package, the other fields as typed properties named without their dashes.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>
#include <istream>

namespace tidemark::cli {

/// Calls `each` for every package; stops and returns false when it returns false.
bool read_package_index(std::istream& input, const std::function<bool(nlohmann::json)>& each);

}  // namespace tidemark::cli
