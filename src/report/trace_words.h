// What a trace is about and what is wrong with it, in words: the parts that `report` and `info` share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Whether the trace is whole, and a line for each finding, "- message", with the advice below it.
std::string RenderHealth(const TraceHead& trace, const std::vector<Finding>& findings, const Terminal& terminal);

std::string ReasonText(trace::LossReason reason);
std::string LevelText(trace::NoticeLevel level);

// How the process ended: "clean", "salvaged", "not clean"; "stopped" where its recording did, and it may live on.
std::string EndText(const Process& process);
// "exit", "exec", …; empty without an end record.
std::string EndReasonText(const Process& process);
std::string TriggerText(trace::CaptureTrigger trigger);

// "ranks 0-3 of 4 (torchrun)"; empty where no process has a rank.
std::string RanksText(const TraceHead& trace);
// What was asked to be recorded, and when; of several processes each once.
std::string CaptureModeText(const TraceHead& trace);
// "3 captures, 1.20 s of 5.00 s"; empty for a trace that was recorded from beginning to end.
std::string CapturesText(const TraceHead& trace);

// Why a recorder wrote the trace, "step 'train' took 93 ms, …"; empty where it was recorded from the start.
std::string SnapshotReason(const TraceHead& trace);
// When kernels were recorded, of a run or a snapshot in windows with the base level between them: "in 3 windows, 1.20 s
// of 5.00 s: at 0 ns to 400.00 ms, …; ranges, waits and graph launches for another 3.60 s". Empty for others.
std::string KernelTimeText(const TraceHead& trace);
// How long the base level was recorded outside of windows, on the clock.
int64_t BaseNs(const TraceHead& trace);

// Both of the captures and of what was asked for: "2 captures, 1.20 s of 5.00 s: CUDA; from step 3", "the last 2.00 s:
// CUDA".
std::string RecordedText(const TraceHead& trace);

// Whether the tracer was not in the process: all that is known was seen from outside.
bool IsSeen(const Process& process);

// A column that is not all zero, empty or without a value: others are not worth the room that another could have.
bool SaysSomething(const Table& table, std::size_t column);

std::string FormatCell(const Cell& cell, Unit unit);

// The cells of a table as text. Names of kernels that are longer than `longest_name` bytes are shortened so that no two
// kernels read alike; 0: none is.
std::vector<std::vector<std::string>> FormatRows(const Table& table, std::size_t longest_name);

// "Label     text", the text wrapped beside its label.
std::string LabeledLine(const std::string& label, const std::string& text, const Terminal& terminal);

// no_gpu_work.cpp: why a trace has no GPU work. That nobody recorded it is not that there was none.

// One sentence each, the most telling first; empty when there is GPU work.
std::vector<std::string> WhyNoGpuWork(const Trace& trace);

// A notice that is among them where there is no GPU work, as in `trace` there is none.
bool IsReasonForNoGpuWork(const TraceHead& trace, const Notice& notice);

}  // namespace gprof
