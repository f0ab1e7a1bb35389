#include "table_store/rest/table_errors.h"

#include "common/protocol/xml.h"
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {
namespace {

std::string full_message(const Error& error, const std::string& request_id, Time now) {
  auto out = error.message;
  // The other services have an element for it.
  for (const auto& [name, value] : error.fields) {
    if (name == "AuthenticationErrorDetail") out += "\n" + value;
  }
  return out + "\nRequestId:" + request_id + "\nTime:" + to_iso8601_7digits(now);
}

std::string error_xml(const Error& error, const std::string& request_id, Time now) {
  protocol::XmlWriter out;
  out.begin("m:error")
      .attribute("xmlns:m", "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata")
      .element("m:code", azure_name_of(error.code));
  out.begin("m:message").attribute("xml:lang", "en-US").text(full_message(error, request_id, now));
  return out.take();
}

}  // namespace

std::string error_json(const Error& error, const std::string& request_id, Time now, const std::string& prefix) {
  std::string out = "{\"odata.error\":{\"code\":";
  append_json_string(out, azure_name_of(error.code));
  out += ",\"message\":{\"lang\":\"en-US\",\"value\":";
  append_json_string(out, prefix + full_message(error, request_id, now));
  out += "}}}";
  return out;
}

bool is_authentication_failure(ErrorCode code) {
  return code == ErrorCode::kAuthenticationFailed || code == ErrorCode::kInvalidAuthenticationInfo ||
         code == ErrorCode::kNoAuthenticationInformation;
}

http::Response error_response(const Error& error, ErrorForm form, const std::string& request_id, Time now) {
  http::Response response;
  response.status = http_status_of(error.code);
  response.set("x-ms-error-code", std::string(azure_name_of(error.code)));
  if (error.code == ErrorCode::kNoAuthenticationInformation) {
    response.set("WWW-Authenticate", "SharedKey realm=\"tidemark\"");
  }
  if (form == ErrorForm::kXml) {
    response.set("Content-Type", "application/xml");
    response.body = error_xml(error, request_id, now);
    return response;
  }
  response.set("Content-Type", is_authentication_failure(error.code)
                                   ? "application/json"
                                   : std::string(json_content_type(MetadataLevel::kMinimal)));
  response.body = error_json(error, request_id, now);
  return response;
}

}  // namespace tidemark::table_store
