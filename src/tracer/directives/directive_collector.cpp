#include "tracer/directives/directive_collector.h"

#include <atomic>

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constinit std::atomic<bool> directives_are_on{false};

// Deeper ones are counted, so that begins and ends stay pairs, and not recorded.
constexpr uint32_t kMostDepth = 16;
constinit thread_local OpenDirective open_directives[kMostDepth] = {};
constinit thread_local uint32_t depth = 0;

struct DirectiveRow {
  RowHeader header;  // flags: whether it was a wait
  int32_t device;
  uint64_t start, end;  // stamps
  uint64_t code, size_bytes;
  trace::StringId model, construct, name;
  uint32_t region, line, threads;
};
static_assert(sizeof(DirectiveRow) == 64);

trace::StringId NameOf(const char* text) { return text == nullptr ? trace::StringId{} : Names().Intern(text); }

}  // namespace

void StartDirectives() { SwitchDirectives(IsCapturing()); }

void SwitchDirectives(bool on) {
  const bool is_wanted = Config().wants_openmp || Config().wants_openacc;
  if (is_wanted) directives_are_on.store(on, std::memory_order_release);
}

void DrainDirectives(DrainRound* round) {
  if (round->depth == Depth::kEnd) StopDirectives(StopReason::kThreadsEnd);
}

void StopDirectives(StopReason why) {
  if (why != StopReason::kDriverGoes) directives_are_on.store(false, std::memory_order_release);
}

void EnterDirective(uint32_t region) {
  if (depth++ >= kMostDepth) return;
  const bool is_on = directives_are_on.load(std::memory_order_acquire);
  open_directives[depth - 1] = {is_on ? Stamp() : 0, region, 0};
}

OpenDirective* InnermostDirective() { return depth == 0 || depth > kMostDepth ? nullptr : &open_directives[depth - 1]; }

void LeaveDirective(const DirectiveDetails& details) {
  if (depth == 0 || depth-- > kMostDepth) return;
  const OpenDirective& open = open_directives[depth];
  if (open.start == 0 || !directives_are_on.load(std::memory_order_acquire)) return;
  const uint64_t end = Stamp();
  const ErrnoGuard errno_guard;
  ThreadLog* const log = own_log != nullptr ? own_log : AcquireLogWithinCall(false);
  if (log == nullptr || log->tid != CurrentTid()) return;
  DirectiveRow row{RowHeaderOf<DirectiveRow>(RowType::kDirective),
                   details.device,
                   open.start,
                   end,
                   reinterpret_cast<uintptr_t>(details.code),
                   details.size_bytes,
                   NameOf(details.model),
                   NameOf(details.construct),
                   NameOf(details.name),
                   open.region,
                   details.line,
                   open.threads};
  row.header.flags = details.is_wait ? 1 : 0;
  Append(log, row);
}

void ConvertDirectiveRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const DirectiveRow*>(header);
  trace::DirectiveRecord r;
  r.start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.end);
  r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
  r.tid = source.log->tid;
  r.model = row.model;
  r.construct = row.construct;
  r.name = row.name;
  r.code = row.code;
  r.region = row.region;
  r.line = row.line;
  r.threads = row.threads;
  r.device = row.device;
  r.size_bytes = row.size_bytes;
  r.is_wait = header->flags & 1;
  source.output->Add(r, source.cursor);
}

}  // namespace gprof::tracer
