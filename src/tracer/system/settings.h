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
// Where requests come of a process that is prepared for being attached to (core/arming.h); null: it is not.
const char* ArmedFolder();
// From here on settings are those of that file, which is removed. False: there is none of the user's or root's.
bool TakeSettings(const char* path);

}  // namespace gprof::tracer
