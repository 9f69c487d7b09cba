// What the launcher wants of this process: variables of its environment (gprof/trace/env.h), or where the tracer came
// into a program that was running already, a file beside the name by which it was loaded.
#pragma once

namespace gprof::tracer {

// Null where it is not set. Of the environment when it is asked, of the file for ever.
const char* Setting(const char* name);

// The program was running already (run_folder.h).
bool IsAttached();
// Finds out, and reads the file. [once, before anything else]
void LookForAttachment();

}  // namespace gprof::tracer
