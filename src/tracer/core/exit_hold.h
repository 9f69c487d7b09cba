// A process that is attached to may exit while CUPTI starts in a thread of ours, and the driver goes then: the exit
// waits for the start, and nothing starts any more once the process exits.
#pragma once

namespace gprof::tracer {

// False: it exits already, or cannot be held. Then nothing is to be started. [the thread that starts]
bool BeginStartBesideProgram();
void EndStartBesideProgram();
// What else is done at the exit waits for the start, too: it may have been registered later, and then it comes first.
void WaitForStartBesideProgram();
// In the child of a fork that thread is not there, and it may be attached to itself.
void ForgetStartBesideProgram();

}  // namespace gprof::tracer
