#include "common/protocol/responses.h"

#include "common/base/encoding.h"

namespace tidemark::protocol {
namespace {
constexpr std::string_view kMetadataPrefix = "x-ms-meta-";
}

http::Response empty_response(unsigned status) {
  http::Response response;
  response.status = status;
  return response;
}

http::Response xml_response(unsigned status, std::string document) {
  auto response = empty_response(status);
  response.set("Content-Type", "application/xml");
  response.body = std::move(document);
  return response;
}

std::vector<std::pair<std::string, std::string>> read_metadata(const http::Request& request) {
  std::vector<std::pair<std::string, std::string>> metadata;
  for (const auto& [name, value] : request.headers) {
    if (!iequals_ascii(name.substr(0, kMetadataPrefix.size()), kMetadataPrefix)) continue;
    metadata.emplace_back(name.substr(kMetadataPrefix.size()), value);
  }
  return metadata;
}

void add_metadata(http::Response& response, const std::vector<std::pair<std::string, std::string>>& metadata) {
  for (const auto& [name, value] : metadata) response.set(std::string(kMetadataPrefix) + name, value);
}

}  // namespace tidemark::protocol
