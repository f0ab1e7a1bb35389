// The description of the api, openapi.json: its schemas, and the names of its operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "api/rest/api_routes.h"

namespace tidemark::api {
namespace {

using nlohmann::ordered_json;

TEST(Description, HasTheSchemasThatMembersGive) {
  const auto document = ordered_json::parse(openapi_document());
  const auto& written = document.at("components").at("schemas");
  const auto made = api_schemas();
  for (const auto& [name, schema] : made.items()) {
    EXPECT_EQ(written.value(name, ordered_json()), schema) << name << ": run scripts/describe-api, and build again";
  }
}

TEST(Description, GivesEachOperationANameAndATag) {
  const auto document = ordered_json::parse(openapi_document());
  std::set<std::string> names;
  for (const auto& [path, item] : document.at("paths").items()) {
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") continue;
      const auto name = operation.value("operationId", "");
      EXPECT_THAT(name, testing::MatchesRegex("[a-z]+[A-Z][A-Za-z]+")) << method << " " << path;
      EXPECT_TRUE(names.insert(name).second) << name << " names two operations";
      EXPECT_EQ(operation.value("tags", ordered_json()).size(), 1U) << name;
    }
  }
}

}  // namespace
}  // namespace tidemark::api
