#include "jobs/job_spec.h"

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "jobs/job_record.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxKeyUnits = 512;
constexpr std::size_t kMaxPropertyNameLength = 255;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Collects every problem of a submission; a getter that finds none of the right type says so and returns nothing.
class Submitted {
 public:
  explicit Submitted(const json& object) : object_(object) {}

  void problem(std::string text) { problems_.push_back(std::move(text)); }
  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }

  std::optional<std::string> text(const char* name, bool required) {
    known_.emplace_back(name);
    auto found = object_.find(name);
    if (found == object_.end()) {
      if (required) problem(std::string(name) + " is missing");
      return std::nullopt;
    }
    if (!found->is_string()) {
      problem(std::string(name) + " must be a string");
      return std::nullopt;
    }
    return found->get<std::string>();
  }

  std::optional<std::int64_t> integer(const char* name) {
    known_.emplace_back(name);
    auto found = object_.find(name);
    if (found == object_.end()) return std::nullopt;
    const bool fits =
        found->is_number_unsigned() ? found->get<std::uint64_t>() <= INT64_MAX : found->is_number_integer();
    if (!fits) {
      problem(std::string(name) + " must be a whole number");
      return std::nullopt;
    }
    return found->get<std::int64_t>();
  }

  std::string table(const char* name) {
    auto found = text(name, true);
    if (!found) return {};
    if (!is_table_name(*found)) {
      problem(std::string(name) + " must be a table name: 3 to 63 letters and digits, a letter first");
    } else if (iequals_ascii(*found, kJobTable)) {
      problem(std::string(name) + " must not be " + std::string(kJobTable) + ", the table of the jobs themselves");
    }
    return *found;
  }

  void refuse_unknown() {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        problem("unknown member '" + name.substr(0, 64) + "'");
      }
    }
  }

  std::vector<std::string>& problems() { return problems_; }

 private:
  const json& object_;
  std::vector<std::string> known_;
  std::vector<std::string> problems_;
};

std::unexpected<Error> invalid(const std::vector<std::string>& problems) {
  auto error = make_error(ErrorCode::kJobInvalid, "The job is not valid: ");
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i > 0) error.message += "; ";
    error.message += problems[i];
    error.fields.emplace_back("problem", problems[i]);
  }
  error.message += '.';
  return fail(std::move(error));
}

bool has_forbidden_key_character(std::string_view key) {
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto c = static_cast<unsigned char>(key[i]);
    if (c == '/' || c == '\\' || c == '#' || c == '?' || c < 0x20 || c == 0x7F) return true;
    // U+0080 to U+009F in UTF-8.
    if (c == 0xC2 && i + 1 < key.size() && static_cast<unsigned char>(key[i + 1]) < 0xA0) return true;
  }
  return false;
}

std::string key(Submitted& in, const char* name, bool required) {
  auto found = in.text(name, required);
  if (!found) return {};
  if (!is_valid_utf8(*found) || has_forbidden_key_character(*found)) {
    in.problem(std::string(name) + " has characters that a key cannot have");
  } else if (utf16_length(*found) > kMaxKeyUnits) {
    in.problem(std::string(name) + " is longer than 512 characters");
  }
  return *found;
}

bool is_property_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxPropertyNameLength || is_digit(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  });
}

ArchiveSpec read_archive(Submitted& in) {
  ArchiveSpec spec;
  spec.source = in.table("source");
  spec.destination = in.table("destination");
  const bool one = in.has("partitionKey") || in.has("rowKey");
  if (one) {
    EntityKey entity;
    entity.partition_key = key(in, "partitionKey", true);
    entity.row_key = key(in, "rowKey", true);
    spec.entity = std::move(entity);
  }
  spec.filter = in.text("filter", false);
  if (in.has("filter") == one) {
    in.problem(one ? "give partitionKey and rowKey, or filter, not both"
                   : "give partitionKey and rowKey for one entity, or filter for many ('' archives every entity)");
  }
  if (spec.filter) {
    auto filter = table_store::Filter::parse(*spec.filter);
    if (!filter) in.problem("filter: " + filter.error().message);
  }
  return spec;
}

IndexSpec read_index(Submitted& in) {
  IndexSpec spec;
  spec.source = in.table("source");
  spec.destination = in.table("destination");
  if (auto property = in.text("property", true)) {
    if (!is_property_name(*property)) in.problem("property must be a property name of at most 255 characters");
    if (*property == "Timestamp") in.problem("property must not be Timestamp: it changes with every write");
    spec.property = std::move(*property);
  }
  return spec;
}

void read_common(Submitted& in, JobSpec& spec) {
  if (auto attempts = in.integer("maxAttempts")) {
    if (*attempts < 1 || *attempts > kMaxAttemptsLimit) {
      in.problem("maxAttempts must be from 1 to 100");
    } else {
      spec.max_attempts = static_cast<std::uint32_t>(*attempts);
    }
  }
  if (auto chosen = in.text("idempotencyKey", false)) {
    if (chosen->empty() || chosen->size() > kMaxIdempotencyKeyLength || !is_valid_utf8(*chosen)) {
      in.problem("idempotencyKey must have 1 to 256 characters");
    }
    spec.idempotency_key = std::move(*chosen);
  }
}

/// `job_id`: where a message's jobId goes; a submission (null) must not have one.
Result<JobSpec> read_spec(const json& object, std::string* job_id) {
  if (!object.is_object()) return invalid({"it must be a JSON object"});
  Submitted in(object);
  JobSpec spec;
  if (job_id != nullptr) {
    if (auto id = in.text("jobId", false)) {
      if (!is_job_id(*id)) in.problem("jobId does not have the form of a job id");
      *job_id = std::move(*id);
    }
  }
  auto kind = in.text("kind", true);
  if (kind == "archive") {
    spec.work = read_archive(in);
  } else if (kind == "index") {
    spec.work = read_index(in);
  } else {
    if (kind) in.problem("kind must be 'archive' or 'index'");
    return invalid(in.problems());  // what the other members should be is not known
  }
  read_common(in, spec);
  in.refuse_unknown();
  const auto& [source, destination] = std::visit(
      [](const auto& work) { return std::pair<std::string, std::string>(work.source, work.destination); }, spec.work);
  if (!source.empty() && iequals_ascii(source, destination)) in.problem("source and destination must be two tables");
  if (in.problems().empty() && canonical_text(spec).size() > kMaxSpecBytes) in.problem("it is longer than 30000 bytes");
  if (!in.problems().empty()) return invalid(in.problems());
  return spec;
}

Result<json> parse_json(std::string_view text) {
  if (text.size() > 2 * kMaxSpecBytes) return invalid({"it is longer than 30000 bytes"});
  auto parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return invalid({"it is not JSON"});
  return parsed;
}

nlohmann::ordered_json ordered(const JobSpec& spec) {
  nlohmann::ordered_json out;
  out["kind"] = kind_name(spec);
  if (const auto* archive = std::get_if<ArchiveSpec>(&spec.work)) {
    out["source"] = archive->source;
    out["destination"] = archive->destination;
    if (archive->entity) {
      out["partitionKey"] = archive->entity->partition_key;
      out["rowKey"] = archive->entity->row_key;
    }
    if (archive->filter) out["filter"] = *archive->filter;
  } else if (const auto* index = std::get_if<IndexSpec>(&spec.work)) {
    out["source"] = index->source;
    out["property"] = index->property;
    out["destination"] = index->destination;
  }
  out["maxAttempts"] = spec.max_attempts;
  if (!spec.idempotency_key.empty()) out["idempotencyKey"] = spec.idempotency_key;
  return out;
}

}  // namespace

bool is_table_name(std::string_view name) {
  if (name.size() < 3 || name.size() > 63 || !is_letter(name.front())) return false;
  if (iequals_ascii(name, "tables")) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view kind_name(const JobSpec& spec) {
  return std::holds_alternative<ArchiveSpec>(spec.work) ? "archive" : "index";
}

Result<JobSpec> parse_job_spec(std::string_view json_text) {
  auto parsed = parse_json(json_text);
  if (!parsed) return fail(std::move(parsed.error()));
  return read_spec(*parsed, nullptr);
}

Result<JobSpec> job_spec_from_json(const json& object) { return read_spec(object, nullptr); }

json to_json(const JobSpec& spec) { return json(ordered(spec)); }

std::string canonical_text(const JobSpec& spec) {
  return ordered(spec).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string spec_fingerprint(const JobSpec& spec) {
  JobSpec anonymous = spec;
  anonymous.idempotency_key.clear();
  return hex_encode(sha256(canonical_text(anonymous)));
}

std::string job_message_text(std::string_view job_id, const JobSpec& spec) {
  nlohmann::ordered_json out;
  if (!job_id.empty()) out["jobId"] = job_id;
  out.update(ordered(spec));
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<JobMessage> parse_job_message(std::string_view text) {
  std::string decoded;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] != '{') {
    if (auto bytes = base64_decode(text.substr(first))) {
      decoded = std::move(*bytes);
      text = decoded;
    }
  }
  auto parsed = parse_json(text);
  if (!parsed) return fail(std::move(parsed.error()));
  JobMessage message;
  auto spec = read_spec(*parsed, &message.job_id);
  if (!spec) return fail(std::move(spec.error()));
  message.spec = std::move(*spec);
  return message;
}

}  // namespace tidemark::jobs
