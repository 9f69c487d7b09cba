#include "analysis/idle/gap_causes.h"

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
    pieces_[i] = MakePiece(gaps, i, is_sequence ? &*of_all : &*of_piece);
  });
}

GapCauses::Piece GapCauses::MakePiece(const GapList& gaps, size_t number, GapExplainer* explainer) const {
  const DeviceSweep& sweep = ops_.of_device(gaps.device());
  Piece piece{gaps.Piece(number), {}, {}, {}, {}, {}, {}};
  const size_t first_word = (piece.ops.first - sweep.ops.first) / 64,
               words = (piece.ops.last - piece.ops.first + 63) / 64;
  piece.others = std::span(sweep.others).subspan(first_word, words);
  piece.launches = std::span(sweep.launches).subspan(first_word, words);
  const auto add = [&](const Gap& gap) { Add(gap, explainer->Explain(gap), &piece); };
  for (size_t word = 0; word < words; ++word) {
    const uint32_t first = piece.ops.first + static_cast<uint32_t>(word * 64);
    uint64_t unseen = sweep.waits.empty() ? 0 : sweep.waits[first_word + word];
    for (uint64_t left = piece.others[word]; left != 0; left &= left - 1) {
      const uint64_t before = (left & (~left + 1)) - 1;  // the bits of those that come earlier
      explainer->See(first, unseen & before);
      unseen &= ~before;
      gaps.ForEachBefore(first + static_cast<uint32_t>(std::countr_zero(left)), add);
    }
    explainer->See(first, unseen);
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
  size_t count = 1;
  while ((tag_[count - 1] & kLast) == 0) ++count;
  if (parts_.size() < count) parts_.resize(count);
  int64_t left_ns = gap.DurationNs();
  for (Part *part = parts_.data(), *last = part + count - 1; part <= last; ++part) {
    const uint8_t tag = *tag_++, code = tag & kCodeBits, of = tag & kOf;
    const int64_t ns = part == last ? left_ns : NextLength();
    left_ns -= ns;
    part->cause = static_cast<Cause>(std::min(code, kFirstReason));
    part->duration_ns = ns;
    part->call = of == kLaunchingCall ? causes_.ops_.CallOf(gap.after) : of == kCall ? *call_or_path_++ : kNone;
    part->path = NameId{of == kPath ? *call_or_path_++ : 0};
    part->reason = static_cast<UnknownReason>(std::max(code, kFirstReason) - kFirstReason);
  }
  return {parts_.data(), count};
}

bool GapCauses::Cursor::SkipWithout(CauseMask wanted) {
  static_assert((kCall & kPath) != 0 && (kCall & kLaunchingCall) == 0);
  CauseMask causes = 0;
  size_t count = 0, calls_and_paths = 0;
  for (bool is_last = false; !is_last; ++count) {
    const uint8_t tag = tag_[count];
    causes |= CauseMask{1} << std::min<uint8_t>(tag & kCodeBits, kFirstReason);
    calls_and_paths += (tag & kCall) != 0;
    is_last = (tag & kLast) != 0;
  }
  if ((causes & wanted) != 0) return false;
  tag_ += count;
  call_or_path_ += calls_and_paths;
  for (; count > 1; --count) NextLength();
  return true;
}

}  // namespace gprof
