// Answers in the form of the storage services, and metadata, which is sent in headers. Pure.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "common/http/http.h"

namespace tidemark::protocol {

http::Response empty_response(unsigned status);
http::Response xml_response(unsigned status, std::string document);

/// Returns the metadata in the x-ms-meta-* headers; names keep their case and order.
std::vector<std::pair<std::string, std::string>> read_metadata(const http::Request& request);
void add_metadata(http::Response& response, const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace tidemark::protocol
