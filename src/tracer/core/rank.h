// Which of the processes of a parallel job this one is, as its starter says in the environment.
#pragma once

#include "gprof/trace/record.h"

namespace gprof::tracer {

void FillRank(trace::ProcessRecord* process);

}  // namespace gprof::tracer
