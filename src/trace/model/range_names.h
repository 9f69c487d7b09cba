// Names of NVTX ranges without what counts their instances: "ProfilerStep#17" is one of "ProfilerStep#*".
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// Frameworks and programs write numbers into the names of ranges that are entered again and again. A table with a row
// for each instance says nothing, and a step that never repeats is never found, so paths are made of these names; the
// range itself keeps the name that it was given.
//   "aten::add, op_id = 17, seq = 3, sizes = [[2, 3]]"  (torch.autograd.profiler.emit_nvtx)  -> "aten::add"
//   "ProfilerStep#17", "step 17", "iteration_17", "Epoch=3"                                  -> "ProfilerStep#*", …
// A number that does not follow a word for something that is repeated is left alone: "layer_3" is not "layer_4".
std::string NameOfAllInstances(std::string_view name);

}  // namespace gprof
