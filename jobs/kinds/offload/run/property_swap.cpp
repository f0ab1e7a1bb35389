#include "jobs/kinds/offload/run/property_swap.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "jobs/kinds/archive/object_names.h"

namespace tidemark::workers {
namespace {

using jobs::BlobLink;
using jobs::kLinkSuffix;
using table_store::Entity;

constexpr std::size_t kMaxPropertyName = 255;

bool wanted(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

class Outward final : public PropertySwap {
 public:
  Outward(jobs::OffloadSpec spec, std::string job) : spec_(std::move(spec)), job_(std::move(job)) {
    root_.container = spec_.container;
    root_.prefix = spec_.prefix;
    root_.table = spec_.source;
  }
  [[nodiscard]] bool outward() const override { return true; }
  [[nodiscard]] PropertyChange change_of(const Entity& entity) const override {
    PropertyChange change;
    for (std::size_t i = 0; i < entity.properties.size(); ++i) {
      const auto& property = entity.properties[i];
      const auto bytes = jobs::blob_bytes(property.value);
      const auto link_name = property.name + std::string(kLinkSuffix);
      const bool fits = bytes && bytes->size() >= spec_.min_bytes && wanted(spec_.properties, property.name) &&
                        !property.name.ends_with(kLinkSuffix) && link_name.size() <= kMaxPropertyName &&
                        entity.find(link_name) == nullptr;
      if (!fits) continue;
      BlobLink link;
      link.container = spec_.container;
      link.name = jobs::archive_root(root_) + jobs::key_segment(entity.partition_key) + "/" +
                  jobs::key_segment(entity.row_key) + "/" + jobs::key_segment(property.name) + "-" +
                  std::to_string(entity.version) + "-" + job_;
      link.size = bytes->size();
      link.binary = std::holds_alternative<table_store::Binary>(property.value);
      link.sha256 = hex_encode(sha256(*bytes));
      change.places.push_back(i);
      change.links.push_back(std::move(link));
    }
    return change;
  }

 private:
  jobs::OffloadSpec spec_;
  std::string job_;
  jobs::ObjectArchive root_;
};

class Inward final : public PropertySwap {
 public:
  explicit Inward(jobs::InlineSpec spec) : spec_(std::move(spec)) {}
  [[nodiscard]] bool outward() const override { return false; }
  [[nodiscard]] PropertyChange change_of(const Entity& entity) const override {
    PropertyChange change;
    for (std::size_t i = 0; i < entity.properties.size(); ++i) {
      const auto& property = entity.properties[i];
      const auto* text = std::get_if<std::string>(&property.value);
      if (text == nullptr || !property.name.ends_with(kLinkSuffix)) continue;
      const auto name = property.name.substr(0, property.name.size() - kLinkSuffix.size());
      auto link = jobs::parse_link(*text);
      if (!link || name.empty() || !wanted(spec_.properties, name) || entity.find(name) != nullptr) continue;
      change.places.push_back(i);
      change.links.push_back(std::move(*link));
    }
    return change;
  }

 private:
  jobs::InlineSpec spec_;
};

}  // namespace

std::unique_ptr<const PropertySwap> swap_outward(jobs::OffloadSpec spec, std::string job_id) {
  return std::make_unique<Outward>(std::move(spec), std::move(job_id));
}

std::unique_ptr<const PropertySwap> swap_inward(jobs::InlineSpec spec) {
  return std::make_unique<Inward>(std::move(spec));
}

}  // namespace tidemark::workers
