#include "common/base/json.h"

#include <vector>

#include "common/base/text.h"

namespace tidemark {
namespace {

using nlohmann::json;

constexpr int kNumberOverflow = 406;  // the id of this error in nlohmann::json
constexpr std::size_t kShownNameBytes = 64;

/// Builds the value from the parser's events; an event that returns false ends the parsing.
class Builder final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") == std::string::npos) return refuse_number(text);
    return add(value) != nullptr;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return refuse("it has binary values"); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back()->contains(name)) return refuse("the member \"" + name + "\" is given twice");
    names_.back() = std::move(name);
    return true;
  }
  bool parse_error(std::size_t at, const std::string& token, const json::exception& error) override {
    if (error.id == kNumberOverflow) return refuse_number(token);
    return refuse("it is not JSON, from byte " + std::to_string(at) + " on");
  }

  Result<json> take() {
    if (!problem_.empty()) return fail(ErrorCode::kInvalidInput, std::move(problem_));
    return std::move(root_);
  }

 private:
  /// Adds the value to the innermost open array or object, and returns a pointer to it.
  json* add(json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    auto& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[names_.back()] = std::move(value));
  }
  bool open(json empty) {
    if (open_.size() == kMaxJsonDepth) {
      return refuse("it is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    }
    open_.push_back(add(std::move(empty)));
    names_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }
  bool refuse_number(const std::string& number) {
    const auto place = place_of_next();
    return refuse((place.empty() ? "" : place + ": ") + "the number " + number + " is too large");
  }
  /// Returns a place such as set.Left or jobs[3].maxAffected.
  [[nodiscard]] std::string place_of_next() const {
    std::string place;
    for (std::size_t level = 0; level < open_.size(); ++level) {
      const bool innermost = level + 1 == open_.size();
      if (open_[level]->is_array()) {
        place += "[" + std::to_string(open_[level]->size() - (innermost ? 0 : 1)) + "]";
      } else {
        place.append(place.empty() ? "" : ".").append(beginning_of(names_[level], kShownNameBytes));
      }
    }
    return place;
  }
  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  json root_;
  std::vector<json*> open_;         // from the outside in; only the innermost grows, so the others do not move
  std::vector<std::string> names_;  // the current member of each of them
  std::string problem_;
};

}  // namespace

Result<json> read_json(std::string_view text) {
  Builder builder;
  json::sax_parse(text, &builder);
  return builder.take();
}

json json_or_discarded(std::string_view text) {
  auto value = read_json(text);
  return value ? std::move(*value) : json(json::value_t::discarded);
}

}  // namespace tidemark
