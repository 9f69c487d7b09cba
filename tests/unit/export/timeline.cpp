#include "timeline.h"

#include <algorithm>
#include <filesystem>

#include "../analysis/trace_maker.h"
#include "analysis/result/display_names.h"
#include "base/text.h"

namespace gprof::test {
namespace {

std::string CategoryOf(const GpuOp& op) {
  switch (op.kind) {
    case OpKind::kKernel:
      return "kernel";
    case OpKind::kMemcpy:
    case OpKind::kPeerCopy:
      return "gpu_memcpy";
    case OpKind::kMemset:
      return "gpu_memset";
    case OpKind::kGraph:
      return "gpu_graph";
  }
  return "";
}

std::string NameOf(const Trace& trace, const GpuOp& op) {
  return op.kind == OpKind::kKernel ? Utf8(KernelName(trace, op.name)) : "";
}

}  // namespace

void Timeline::Sort() {
  std::sort(events.begin(), events.end());
  std::sort(arrows.begin(), arrows.end());
}

Timeline TimelineOf(const Trace& trace) {
  Timeline timeline;
  for (const GpuOp& op : trace.ops) {
    timeline.events.push_back({CategoryOf(op), NameOf(trace, op), op.start_ns, op.end_ns});
    if (op.api != kNone) timeline.arrows.push_back({trace.api_calls[op.api].start_ns, op.start_ns});
  }
  for (const ApiCall& call : trace.api_calls) {
    const bool is_driver = call.domain == trace::ApiDomain::kDriver;
    timeline.events.push_back(
        {is_driver ? "cuda_driver" : "cuda_runtime", Utf8(trace.Text(call.function)), call.start_ns, call.end_ns});
  }
  for (const NvtxRange& range : trace.ranges)
    timeline.events.push_back({"user_annotation", Utf8(trace.Text(range.name)), range.start_ns, range.end_ns});
  for (const NvtxMark& mark : trace.marks)
    timeline.events.push_back({"mark", Utf8(trace.Text(mark.name)), mark.time_ns, mark.time_ns});
  for (const OsCall& call : trace.os_calls)
    timeline.events.push_back({"os_call", Utf8(trace.Text(call.function)), call.start_ns, call.end_ns});
  for (const MpiCall& call : trace.mpi_calls)
    timeline.events.push_back({"mpi_call", Utf8(trace.Text(call.function)), call.start_ns, call.end_ns});
  for (const Collective& call : trace.collectives)
    timeline.events.push_back({"collective", Utf8(trace.Text(call.function)), call.start_ns, call.end_ns});
  for (const Directive& call : trace.directives)
    timeline.events.push_back({"directive", Utf8(trace.Text(call.construct)), call.start_ns, call.end_ns});
  timeline.Sort();
  return timeline;
}

std::string Written(const Trace& trace, void (*write)(const Trace&, const ExportOptions&, OutputStream&)) {
  std::string bytes;
  OutputStream out([&](std::string_view block) { bytes += block; }, false);
  write(trace, ExportOptions(), out);
  out.Finish();
  return bytes;
}

std::vector<std::string> RecordedTraces() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(GPROF_SOURCE_DIR "/tests/data")) {
    if (entry.path().extension() == ".trace") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Trace HostileTrace() {
  TraceMaker maker;
  using namespace std::string_view_literals;
  const std::string_view names[] = {"\"quotes\" and \\ and </script>"sv,
                                    "line\nbreak\ttab\r"sv,
                                    "\0\x01\x1f\x7f"sv,
                                    "\xFF\xFE\xC3"sv,
                                    "\xED\xA0\x80\xC0\x80\xE2\x82"sv,
                                    "caf\xC3\xA9 \xF0\x9F\x98\x80"sv,
                                    ""sv};
  const std::string long_name(10'000, 'x');
  int64_t time_ns = 1000;
  const auto add = [&](std::string_view name) {
    maker.AddRange(time_ns, time_ns + 90, name);
    const uint32_t call = maker.AddCall(time_ns + 10, time_ns + 20, name);
    maker.AddKernel(time_ns + 30, time_ns + 40, call, name);
    maker.Call(call).op_count = 1;
    time_ns += 100;
  };
  for (const std::string_view name : names) add(name);
  add(long_name);
  maker.AddRange(10, 20, "of nobody").is_push_pop = false;
  maker.ranges().back().thread = kNone;
  maker.trace().processes[0].name = maker.Name("pro\"cess\n\xFF");
  maker.trace().threads[0].name = maker.Name("thr\"ead\\\xFF");
  maker.trace().devices[0].name = maker.Name("G\"PU\x01");
  return maker.Finish();
}

}  // namespace gprof::test
