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
    pieces_[i] = MakePiece(gaps, i, is_sequence, is_sequence ? &*of_all : &*of_piece);
  });
}

GapCauses::Piece GapCauses::MakePiece(const GapList& gaps, size_t number, bool is_sequence,
                                      GapExplainer* explainer) const {
  Piece piece{gaps.Piece(number), {}, {}, {}, {}, {}};
  const std::span<const uint32_t> idle_ns = gaps.ShortIdleBefore(piece.ops.first, piece.ops.last);
  piece.others.resize((idle_ns.size() + 63) / 64);
  const auto add = [&](const Gap& gap) { Add(gap, explainer->Explain(gap), &piece); };
  const auto add_before = [&](size_t i) {
    piece.others[i / 64] |= uint64_t{1} << i % 64;
    gaps.ForEachBefore(piece.ops.first + static_cast<uint32_t>(i), add);
  };
  const bool may_be_queued = gaps.has_window() && gaps.is_throughout() && explainer->MayBeQueued(gaps.device());
  const auto is_queued = [&](size_t i) {
    return idle_ns[i] == 0 || (may_be_queued && idle_ns[i] != GapList::kLong &&
                               explainer->IsAllQueued(piece.ops.first + static_cast<uint32_t>(i), idle_ns[i]));
  };
  for (size_t i = 0; is_sequence && i < idle_ns.size(); ++i) {
    if (!is_queued(i)) add_before(i);
    explainer->See(piece.ops.first + static_cast<uint32_t>(i));
  }
  // Where nothing is to be seen a loop without calls does most of the work.
  for (size_t i = 0; !is_sequence && i < idle_ns.size(); ++i) {
    while (i < idle_ns.size() && is_queued(i)) ++i;
    if (i < idle_ns.size()) add_before(i);
  }
  gaps.ForEachAtEndOf(number, add);
  piece.Shrink();
  return piece;
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

int64_t GapCauses::Cursor::NextLength() {
  const uint32_t ns = *short_ns_++;
  return ns != kLong ? ns : *long_ns_++;
}

std::span<const Part> GapCauses::Cursor::Next(const Gap& gap) {
  parts_.clear();
  int64_t left_ns = gap.DurationNs();
  for (;;) {
    const uint8_t tag = *tag_++, code = tag & kCodeBits;
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
