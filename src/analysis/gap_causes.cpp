#include "analysis/gap_causes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parallel.h"

namespace gprof {
namespace {

constexpr uint8_t kFirstReason = static_cast<uint8_t>(Cause::kUnknown);  // unknown causes are the last of the codes
static_assert(kFirstReason + 1 == kCauseCount);

constexpr uint32_t kLong = UINT32_MAX;  // in short_ns: the length is in long_ns

uint8_t CodeOf(const Part& part) {
  const auto code = static_cast<uint8_t>(part.cause);
  return part.cause == Cause::kUnknown ? static_cast<uint8_t>(code + static_cast<uint8_t>(part.reason)) : code;
}

}  // namespace

GapCauses::GapCauses(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops,
                     const GapList& gaps, size_t threads)
    : ops_(ops), pieces_(gaps.pieces()) {
  static_assert(kFirstReason + kUnknownReasonCount <= kCodeBits);
  // What an operation waits for depends on all before it, but only where there are waits.
  const bool is_sequence = !facts.event_waits.IsEmpty();
  std::optional<GapExplainer> of_all;
  if (is_sequence) of_all.emplace(trace, facts, recorded, ops);
  ForEachSideBySide(pieces_.size(), is_sequence ? 1 : threads, [&](size_t i) {
    std::optional<GapExplainer> of_piece;
    if (!is_sequence) of_piece.emplace(trace, facts, recorded, ops);
    GapExplainer& explainer = is_sequence ? *of_all : *of_piece;
    Piece piece;  // close to the thread that fills it
    const auto add = [&](const Gap& gap) {
      if (explainer.IsAllQueued(gap)) return piece.tags.push_back(kAllQueued);
      Add(gap, explainer.Explain(gap), &piece);
    };
    if (is_sequence) {
      gaps.ForEachOfPiece(i, add, [&](uint32_t op) { explainer.See(op); });
    } else {
      gaps.ForEachOfPiece(i, add, [](uint32_t) {});
    }
    piece.Shrink();
    pieces_[i] = std::move(piece);
  });
}

void GapCauses::Piece::Shrink() {
  tags.shrink_to_fit();
  short_ns.shrink_to_fit();
  calls_and_paths.shrink_to_fit();
}

void GapCauses::Add(const Gap& gap, std::span<const Part> parts, Piece* piece) const {
  const uint32_t launching_call = gap.after == kNone ? kNone : ops_.CallOf(gap.after);
  for (const Part& part : parts) {
    const bool is_last = &part == &parts.back();
    uint8_t tag = CodeOf(part);
    if (part.call != kNone) {
      tag |= part.call == launching_call ? kLaunchingCall : kCall;
      if (part.call != launching_call) piece->calls_and_paths.push_back(part.call);
    } else if (part.path.value != 0) {
      tag |= kPath;
      piece->calls_and_paths.push_back(part.path.value);
    }
    piece->tags.push_back(is_last ? tag | kLast : tag);
    if (is_last) continue;
    const bool is_long = part.duration_ns >= kLong;
    piece->short_ns.push_back(is_long ? kLong : static_cast<uint32_t>(part.duration_ns));
    if (is_long) piece->long_ns.push_back(part.duration_ns);
  }
}

void GapCauses::Cursor::BeginPiece(const Piece& piece) {
  tag_ = piece.tags.data(), last_tag_ = tag_ + piece.tags.size();
  short_ns_ = piece.short_ns.data(), long_ns_ = piece.long_ns.data();
  call_or_path_ = piece.calls_and_paths.data();
}

int64_t GapCauses::Cursor::NextLength() {
  const uint32_t ns = *short_ns_++;
  return ns != kLong ? ns : *long_ns_++;
}

std::span<const Part> GapCauses::Cursor::PartsFrom(uint8_t tag, const Gap& gap) {
  parts_.clear();
  int64_t left_ns = gap.DurationNs();
  for (;; tag = NextTag()) {
    const uint8_t code = tag & kCodeBits;
    const bool is_last = (tag & kLast) != 0;
    const int64_t ns = is_last ? left_ns : NextLength();
    left_ns -= ns;
    Part& part = parts_.emplace_back(Part{static_cast<Cause>(std::min(code, kFirstReason)), ns, kNone, {},
                                          static_cast<UnknownReason>(std::max(code, kFirstReason) - kFirstReason)});
    if ((tag & kOf) == kLaunchingCall) part.call = causes_.ops_.CallOf(gap.after);
    if ((tag & kOf) == kCall) part.call = *call_or_path_++;
    if ((tag & kOf) == kPath) part.path = NameId{*call_or_path_++};
    if (is_last) return parts_;
  }
}

}  // namespace gprof
