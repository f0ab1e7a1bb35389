// A stored access policy of a container, queue or table. A shared access signature can refer to it by name.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tidemark {

struct StoredPolicy {
  std::string id;
  std::optional<std::string> start, expiry, permission;  // as the client set them
};
using StoredPolicies = std::vector<StoredPolicy>;

}  // namespace tidemark
