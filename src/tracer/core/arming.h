// A program that was prepared for being attached to (`gprof-cli env`): the library is in it, and does nothing until
// somebody asks. Then it is as if it had been attached to just now.
//
// From cuInit on, one thread sleeps for that, beside those that the driver has in every such process: it never wakes
// but for a request, has no file open and no timer.
#pragma once

namespace gprof::tracer {

// The name of a thread that starts the tracer in a program which runs already.
inline constexpr char kAttachThread[] = "gprof-attach";

// Of an armed process, and once in it. [cuInit]
void WaitForRequest();
// It is not in the child of a fork.
void ForgetArmedThread();

// nvtx/armed_modules.cpp: the NVTX calls of shared objects that were there before lead to us from now on.
void BindRememberedNvtx();

}  // namespace gprof::tracer
