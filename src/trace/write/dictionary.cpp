#include "trace/write/dictionary.h"

namespace gprof {
namespace {

uint32_t TakeId(uint32_t* next, const std::set<uint32_t>* reserved) {
  while (reserved != nullptr && reserved->count(*next) != 0) ++*next;
  return (*next)++;
}

std::vector<uint64_t> FieldsOf(trace::KernelShapeRecord shape) {
  shape.id = 0;
  std::vector<uint64_t> fields;
  trace::KernelShapeRecord::Fields(shape, [&](const trace::FieldInfo&, auto v) { fields.push_back(v); });
  return fields;
}

}  // namespace

trace::StringId Dictionary::String(std::string_view text) {
  if (text.empty()) return {};
  const auto known = string_ids_.find(text);
  if (known != string_ids_.end()) return {known->second};
  const uint32_t id = TakeId(&next_string_, reserved_ == nullptr ? nullptr : &reserved_->strings);
  texts_.emplace_back(text);
  string_ids_.emplace(texts_.back(), id);
  strings_.emplace(id, &texts_.back());
  return {id};
}

trace::ShapeId Dictionary::Shape(const trace::KernelShapeRecord& shape) {
  const auto [at, is_new] = shape_ids_.try_emplace(FieldsOf(shape), 0u);
  if (is_new) {
    at->second = TakeId(&next_shape_, reserved_ == nullptr ? nullptr : &reserved_->shapes);
    trace::KernelShapeRecord& kept = shapes_[at->second];
    kept = shape;
    kept.id = at->second;
  }
  return {at->second};
}

const std::string* Dictionary::FindString(uint32_t id) const {
  const auto at = strings_.find(id);
  return at == strings_.end() ? nullptr : at->second;
}

const trace::KernelShapeRecord* Dictionary::FindShape(uint32_t id) const {
  const auto at = shapes_.find(id);
  return at == shapes_.end() ? nullptr : &at->second;
}

}  // namespace gprof
