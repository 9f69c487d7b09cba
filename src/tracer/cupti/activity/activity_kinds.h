// Which of CUPTI's activity kinds are on. Facts are recorded as long as the tracer runs, work only during captures.
#pragma once

namespace gprof::tracer {

// Devices, contexts, streams, …: what is said once and understood by everything later.
void EnableFactKinds();
void DisableFactKinds();

// Kernels, copies, memory, …: what a capture is made of. Off leaves CUPTI as it was before, the latest kind first.
// What CUPTI refuses is said once. [one thread at a time]
void SetWorkKinds(bool on);

// Whether a graph that is launched now is recorded as a whole, and not node by node.
bool GraphsAsAWhole();

// Stops recording graphs as a whole, for good: each of their nodes is recorded from then on.
void RecordGraphNodes();

// A graph is about to be instantiated: whether graphs can be recorded as a whole depends on how all of them were.
void OnGraphInstantiated();

// The driver is up: kinds that CUPTI refuses within cuInit are enabled now, if they are wanted.
void EnableLateKinds();

}  // namespace gprof::tracer
