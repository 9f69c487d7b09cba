#include "analysis/gap_causes.h"

namespace gprof {

GapCauses::GapCauses(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops,
                     const GapList& gaps) {
  parts_.reserve(gaps.size());
  GapExplainer explainer(trace, facts, recorded, ops);
  gaps.ForEach([&](const Gap& gap) { Add(explainer.Explain(gap)); }, [&](uint32_t op) { explainer.See(op); });
}

void GapCauses::Add(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    const bool has_path = part.call == kNone;
    parts_.push_back(
        {part.duration_ns, has_path ? part.path.value : part.call, part.cause, part.reason, has_path, false});
  }
  parts_.back().is_last = true;
}

const std::vector<Part>& GapCauses::Cursor::Next() {
  parts_.clear();
  for (bool is_last = false; !is_last;) {
    const PackedPart& packed = causes_.parts_[next_++];
    parts_.push_back({packed.cause, packed.duration_ns, packed.has_path ? kNone : packed.call_or_path,
                      NameId{packed.has_path ? packed.call_or_path : 0}, packed.reason});
    is_last = packed.is_last;
  }
  return parts_;
}

}  // namespace gprof
