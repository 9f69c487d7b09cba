// Launches that no operation is known of.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/join/join.h"
#include "trace/load/list_slices.h"
#include "trace/model/api_class.h"

namespace gprof {
namespace {

enum class CallRole : uint8_t { kOther, kLaunch, kCaptureBegin, kCaptureEnd };

// What a call without operations means; calls that failed mean nothing, and so do launches that never returned.
CallRole RoleOf(const PackedCalls::Traits& f, std::string_view function) {
  if (f.result != 0) return CallRole::kOther;
  const StreamCapture border = StreamCaptureOf(function);
  if (border != StreamCapture::kNeither) {
    return border == StreamCapture::kBegin ? CallRole::kCaptureBegin : CallRole::kCaptureEnd;
  }
  return IsLaunch(f.api_class) && f.is_unfinished == 0 ? CallRole::kLaunch : CallRole::kOther;
}

// has_loose_bodies: see LinkedOps.
std::vector<CallRole> RolesOfTraits(const UnjoinedTrace& unjoined, const std::vector<uint8_t>& has_loose_bodies) {
  const PackedCalls& calls = unjoined.trace.api_calls;
  std::vector<CallRole> roles;
  for (uint32_t i = 0; i < calls.TraitsCount(); ++i) {
    const PackedCalls::Traits& traits = calls.TraitsAt(i);
    const bool may_have_no_op = traits.api_class == ApiClass::kGraphLaunch &&
                                traits.process < has_loose_bodies.size() && has_loose_bodies[traits.process] != 0;
    roles.push_back(may_have_no_op ? CallRole::kOther : RoleOf(traits, unjoined.names.Text(traits.function)));
  }
  return roles;
}

// Calls that made nodes of graphs, in order.
std::vector<uint32_t> NodeMakers(const Trace& t) {
  std::vector<uint32_t> makers;
  for (const GraphNode& node : t.graph_nodes) {
    if (node.api != kNone) makers.push_back(node.api);
  }
  std::sort(makers.begin(), makers.end());
  return makers;
}

// Neighbours of a thread; no call of another piece was made by one of these.
struct LaunchPiece {
  Trace::Slice calls;
  bool is_first_of_thread = false;
  uint64_t ops = 0;                               // of its calls
  uint64_t before_border = 0, after_border = 0;   // launches without an operation
  bool has_border = false, is_capturing = false;  // a capture began or ended in it; and it goes on at the end
};

std::vector<LaunchPiece> CutAtOutermost(const Trace& t) {
  std::vector<LaunchPiece> pieces;
  for (const Trace::Slice slice : t.thread_api_calls) {
    for (uint32_t first = slice.first; first < slice.last;) {
      LaunchPiece& piece = pieces.emplace_back();
      uint32_t last = slice.last - first < 2 * kPieceItems ? slice.last : first + kPieceItems;
      while (last < slice.last && t.api_calls.Parent(last) != kNone) ++last;
      piece.is_first_of_thread = first == slice.first;
      piece.calls = {std::exchange(first, last), last};
    }
  }
  return pieces;
}

class LaunchCounter {
 public:
  LaunchCounter(const Trace& trace, const std::vector<CallRole>& roles, const std::vector<uint32_t>& makers)
      : pauses_(trace.gpu_pauses),
        calls_(trace.api_calls),
        items_(trace.api_calls.items().data()),
        roles_(roles),
        makers_(makers) {
    for (const CallRole role : roles) usual_ops_.push_back(UsualOps(role));
  }

  void Run(LaunchPiece* piece) {
    FindCandidates(piece);
    bool is_capturing = false;  // launches into a stream that is captured become nodes of a graph, nothing runs
    for (auto at = found_.rbegin(); at != found_.rend(); ++at) {
      const CallRole role = roles_[calls_.TraitsIndex(*at)];
      if (role != CallRole::kLaunch) {
        is_capturing = role == CallRole::kCaptureBegin;
        piece->has_border = true;
        continue;
      }
      if (IsInGpuPause(*at)) continue;
      const uint32_t parent = calls_.Parent(*at);
      const bool is_inner = parent != kNone && IsLaunch(calls_[parent].api_class);
      if (!is_capturing && !is_inner) ++(piece->has_border ? piece->after_border : piece->before_border);
    }
    piece->is_capturing = is_capturing;
  }

 private:
  // With so many operations a call that nothing is around needs no closer look: no item has what borders ask for.
  static uint16_t UsualOps(CallRole role) {
    constexpr uint16_t kNoItemHas = 0x100;
    return role == CallRole::kOther ? 0 : role == CallRole::kLaunch ? 1 : kNoItemHas;
  }

  // Calls that may be launches without an operation, and those that begin and end the capture of a stream: backwards,
  // so that calls are met before the one that made them, which their operation is that of, too.
  void FindCandidates(LaunchPiece* piece) {
    const auto [first, last] = piece->calls;
    const uint16_t* const usual_ops = usual_ops_.data();
    uint64_t all_ops = 0;
    found_.clear();
    has_effect_.assign(last - first, false);
    for (auto maker = std::lower_bound(makers_.begin(), makers_.end(), first); maker != makers_.end() && *maker < last;
         ++maker) {
      has_effect_[*maker - first] = true;
    }
    const PackedCalls::Item* const begin = items_ + first;
    for (const PackedCalls::Item* item = items_ + last; item != begin;) {
      --item;
      // As good as all of them: nothing is around it, and it is no launch or one with operations.
      if (!item->MayHaveParent() && item->op_count >= usual_ops[item->traits]) [[likely]] {
        all_ops += item->op_count;
        continue;
      }
      const auto i = static_cast<uint32_t>(item - items_);
      const CallRole role = roles_[item->traits];
      const uint32_t ops = calls_[i].op_count, parent = calls_.Parent(i);
      all_ops += ops;
      const bool is_matched = ops != 0 || has_effect_[i - first];
      if (is_matched && parent != kNone) has_effect_[parent - first] = true;
      if (role != CallRole::kOther && !(role == CallRole::kLaunch && is_matched)) found_.push_back(i);
    }
    piece->ops = all_ops;
  }

  // Its operation is in the hands of the program's own profiler.
  bool IsInGpuPause(uint32_t call) const {
    if (pauses_.empty()) return false;
    const ApiCall c = calls_[call];
    return std::any_of(pauses_.begin(), pauses_.end(), [&c](const GpuPause& pause) {
      return pause.process == c.process && pause.start_ns <= c.start_ns && c.start_ns <= pause.end_ns;
    });
  }

  const std::vector<GpuPause>& pauses_;
  const PackedCalls& calls_;
  const PackedCalls::Item* const items_;
  const std::vector<CallRole>& roles_;
  const std::vector<uint32_t>& makers_;
  std::vector<uint16_t> usual_ops_;  // by traits
  std::vector<bool> has_effect_;     // by call of the piece
  std::vector<uint32_t> found_;
};

void CountOpsAgain(Trace& t) {
  for (uint32_t i = 0; i < t.api_calls.size(); ++i) {
    if (t.api_calls[i].op_count != 0) t.api_calls.Change(i, [](ApiCall& c) { c.op_count = 0; });
  }
  for (const PackedOps::Item& op : t.ops.items()) {
    if (op.HasCall()) t.api_calls.CountOp(op.Call());
  }
}

std::vector<LaunchPiece> CountInPieces(const UnjoinedTrace& unjoined, const LinkedOps& linked, std::size_t cores) {
  const Trace& t = unjoined.trace;
  const std::vector<CallRole> roles = RolesOfTraits(unjoined, linked.has_loose_bodies);
  const std::vector<uint32_t> makers = NodeMakers(t);
  std::vector<LaunchPiece> pieces = CutAtOutermost(t);
  ShareOut(pieces.size(), cores, [&](const auto& take) {
    LaunchCounter counter(t, roles, makers);
    for (std::size_t i = take(); i < pieces.size(); i = take()) counter.Run(&pieces[i]);
  });
  return pieces;
}

// Launches without an operation behind calls that begin the capture of a stream, up to the next border of one.
uint64_t CountCaptured(const UnjoinedTrace& unjoined) {
  const PackedCalls& calls = unjoined.trace.api_calls;
  const std::vector<CallRole> roles = RolesOfTraits(unjoined, {});
  uint64_t captured = 0;
  for (const uint32_t border : unjoined.capture_calls) {
    if (roles[calls.TraitsIndex(border)] != CallRole::kCaptureBegin) continue;
    const uint32_t last = unjoined.trace.thread_api_calls[calls.TraitsAt(calls.TraitsIndex(border)).thread].last;
    for (uint32_t i = border + 1; i < last; ++i) {
      const CallRole role = roles[calls.TraitsIndex(i)];
      if (role == CallRole::kCaptureBegin || role == CallRole::kCaptureEnd) break;
      captured += role == CallRole::kLaunch && calls[i].op_count == 0 ? 1 : 0;
    }
  }
  return captured;
}

// As good as always; nothing has to be looked for then. What is launched while a stream is captured need not have one.
bool HaveAllAnOperation(const UnjoinedTrace& unjoined, const LinkedOps& linked) {
  const std::vector<uint8_t> are_launches = AreLaunches(unjoined);
  uint64_t launches = 0;
  for (std::size_t i = 0; i < unjoined.calls_of_traits.size(); ++i) {
    launches += are_launches[i] != 0 ? unjoined.calls_of_traits[i] : 0;
  }
  if (!linked.has_loose_bodies.empty()) return false;
  return launches == linked.launches || launches == linked.launches + CountCaptured(unjoined);
}

}  // namespace

std::vector<uint8_t> AreLaunches(const UnjoinedTrace& unjoined) {
  std::vector<uint8_t> are_launches;
  for (const CallRole role : RolesOfTraits(unjoined, {})) are_launches.push_back(role == CallRole::kLaunch ? 1 : 0);
  return are_launches;
}

void CountUnmatchedLaunches(UnjoinedTrace& unjoined, const LinkedOps& linked, std::size_t cores) {
  if (cores == 1 && HaveAllAnOperation(unjoined, linked)) return;
  std::vector<LaunchPiece> pieces = CountInPieces(unjoined, linked, cores);
  uint64_t ops = 0;
  for (const LaunchPiece& piece : pieces) ops += piece.ops;
  if (ops != linked.with_call) {  // two cores counted at the same call at the same time
    CountOpsAgain(unjoined.trace);
    pieces = CountInPieces(unjoined, linked, cores);
  }
  bool is_capturing = false;
  for (const LaunchPiece& piece : pieces) {
    is_capturing = is_capturing && !piece.is_first_of_thread;
    unjoined.trace.health.unmatched_launches += piece.after_border + (is_capturing ? 0 : piece.before_border);
    if (piece.has_border) is_capturing = piece.is_capturing;
  }
  // Their work is known not to have ended.
  const auto is_launched = [](const InProgress& work) { return work.IsGpuWork() && work.api != kNone; };
  const auto pending = static_cast<uint64_t>(std::ranges::count_if(unjoined.trace.in_progress, is_launched));
  uint64_t& unmatched = unjoined.trace.health.unmatched_launches;
  unmatched -= std::min(unmatched, pending);
}

}  // namespace gprof
