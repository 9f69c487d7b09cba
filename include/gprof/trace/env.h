// The contract between launcher and tracer: every GPROF_* variable, and nothing else passes between them.
#pragma once

namespace gprof::trace {

struct EnvVariable {
  const char* name;
  const char* meaning;
};

namespace env {
inline constexpr char kOutput[] = "GPROF_OUTPUT";
inline constexpr char kTrace[] = "GPROF_TRACE";
inline constexpr char kAllApis[] = "GPROF_ALL_APIS";
inline constexpr char kFlushMs[] = "GPROF_FLUSH_MS";
inline constexpr char kGraphTrace[] = "GPROF_GRAPH_TRACE";
inline constexpr char kCupti[] = "GPROF_CUPTI";
inline constexpr char kQuiet[] = "GPROF_QUIET";
inline constexpr char kRunId[] = "GPROF_RUN_ID";
}  // namespace env

inline constexpr EnvVariable kEnvVariables[] = {
    {env::kOutput, "absolute path of the trace file; without it the tracer does nothing"},
    {env::kTrace, "what to record: a list of `cuda` and `nvtx`, both by default"},
    {env::kAllApis, "1 records cheap query calls too"},
    {env::kFlushMs, "longest time in ms that a record waits before it is in the file, 500 by default"},
    {env::kGraphTrace, "`graph` (default) or `node`: how finely CUDA graphs are recorded"},
    {env::kCupti, "path of the libcupti to use instead of the one found"},
    {env::kQuiet, "1 keeps the tracer from writing to stderr; notices are in the trace all the same"},
    {env::kRunId, "device and inode number of the trace file, so that a replaced file is noticed"},
};

}  // namespace gprof::trace
