#include "tracer/counters/request/nvtx_filter.h"

#include <cstring>

#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// A filter with what its expressions became.
class Matcher {
 public:
  Matcher(const NvtxFilter& filter, const regex_t* expressions) : filter_(filter), expressions_(expressions) {}

  bool Matches(const NvtxState& state) const {
    if (!filter_.is_stack) return AreAllOpen(state);
    OpenRange stack[RangeStack::kMost];
    uint32_t count = 0;
    for (uint32_t i = 0; i < state.pushed_count && count < RangeStack::kMost; ++i) {
      if (IsOfDomain(state.pushed[i])) stack[count++] = state.pushed[i];
    }
    return MatchesStack(stack, count);
  }

 private:
  // The first expression is that of the domain.
  bool IsText(uint32_t expression, const char* wanted, trace::StringId id) const {
    const trace::Text text = Names().TextOf(id);
    if (!filter_.has_expressions)
      return std::strlen(wanted) == text.size && std::memcmp(wanted, text.data, text.size) == 0;
    char name[kMaxNameBytes + 1];
    const std::size_t size = text.size < kMaxNameBytes ? text.size : kMaxNameBytes;
    std::memcpy(name, text.data, size);
    name[size] = 0;
    return regexec(&expressions_[expression], name, 0, nullptr, 0) == 0;
  }

  bool IsOfDomain(const OpenRange& range) const {
    if (filter_.domain[0] == 0) return range.domain.value == 0;
    return range.domain.value != 0 && IsText(0, filter_.domain, range.domain);
  }

  bool IsOf(uint32_t part, const OpenRange& range) const {
    return IsText(part + 1, filter_.parts[part].text, range.name);
  }

  // is_reached[i]: the parts so far may end before range i of the stack. Each part is compared once with each range,
  // where a search that goes back at every gap would take time exponential in their number.
  bool MatchesStack(const OpenRange* stack, uint32_t count) const {
    bool is_reached[RangeStack::kMost + 1] = {};
    for (uint32_t i = 0; i <= count; ++i) is_reached[i] = i == 0 || !filter_.is_from_bottom;
    for (uint32_t part = 0; part < filter_.part_count; ++part) TakePart(part, stack, count, is_reached);
    if (filter_.is_to_top) return is_reached[count];
    for (uint32_t i = 0; i <= count; ++i) {
      if (is_reached[i]) return true;
    }
    return false;
  }

  void TakePart(uint32_t part, const OpenRange* stack, uint32_t count, bool* is_reached) const {
    const NvtxPart::Kind kind = filter_.parts[part].kind;
    if (kind == NvtxPart::Kind::kAny) {
      for (uint32_t i = 1; i <= count; ++i) is_reached[i] |= is_reached[i - 1];
      return;
    }
    for (uint32_t i = count; i > 0; --i)
      is_reached[i] = is_reached[i - 1] && (kind == NvtxPart::Kind::kOne || IsOf(part, stack[i - 1]));
    is_reached[0] = false;
  }

  bool IsAmong(uint32_t part, const OpenRange* ranges, uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (IsOfDomain(ranges[i]) && IsOf(part, ranges[i])) return true;
    }
    return false;
  }

  bool AreAllOpen(const NvtxState& state) const {
    for (uint32_t part = 0; part < filter_.part_count; ++part) {
      if (!IsAmong(part, state.pushed, state.pushed_count) && !IsAmong(part, state.started, state.started_count))
        return false;
    }
    return true;
  }

  const NvtxFilter& filter_;
  const regex_t* expressions_;
};

}  // namespace

NvtxState NvtxStateNow() {
  constexpr uint32_t kMostStarted = 64;
  static OpenRange started[kMostStarted];
  NvtxState state;
  if (const RangeStack* stack = PushedRanges(); stack != nullptr) {
    state.pushed = stack->ranges;
    state.pushed_count = stack->count;
  }
  state.started = started;
  state.started_count = StartedRanges(started, kMostStarted);
  return state;
}

trace::StringId PathOf(const NvtxState& state) {
  char path[kMaxNameBytes];
  std::size_t size = 0;
  const auto add = [&](const char* text, std::size_t bytes) {
    if (size + bytes > sizeof path) return;
    std::memcpy(path + size, text, bytes);
    size += bytes;
  };
  for (uint32_t i = 0; i < state.pushed_count; ++i) {
    const trace::Text domain = Names().TextOf(state.pushed[i].domain), name = Names().TextOf(state.pushed[i].name);
    if (i > 0) add("/", 1);
    if (domain.size > 0) add(domain.data, domain.size);
    if (domain.size > 0) add("@", 1);
    add(name.data, name.size);
  }
  return size == 0 ? trace::StringId{} : Names().Intern(path, size);
}

NvtxFilter* NvtxFilters::Add(bool excludes) {
  if (count_ == kMost) return nullptr;
  filters_[count_].excludes = excludes;
  return &filters_[count_++];
}

bool NvtxFilters::Prepare(const char** bad) {
  for (uint32_t i = 0; i < count_; ++i) {
    const NvtxFilter& filter = filters_[i];
    if (!filter.has_expressions || expressions_[i] != nullptr) continue;
    expressions_[i] = static_cast<regex_t*>(MapMemory((filter.part_count + 1) * sizeof(regex_t)));
    if (expressions_[i] == nullptr) return false;
    for (uint32_t part = 0; part <= filter.part_count; ++part) {
      *bad = part == 0 ? filter.domain : filter.parts[part - 1].text;
      if (regcomp(&expressions_[i][part], *bad, REG_EXTENDED | REG_NOSUB) != 0) return false;
    }
  }
  return true;
}

bool NvtxFilters::Takes(const NvtxState& state) const {
  bool has_included = false, is_included = false;
  for (uint32_t i = 0; i < count_; ++i) {
    const bool matches = Matcher(filters_[i], expressions_[i]).Matches(state);
    if (filters_[i].excludes && matches) return false;
    has_included |= !filters_[i].excludes;
    is_included |= !filters_[i].excludes && matches;
  }
  return is_included || !has_included;
}

}  // namespace gprof::tracer
