// Which of CUPTI's activity kinds are on: those of facts as long as the tracer runs, those of work from the first
// capture on. To disable copies and their like while the program works makes libcupti 13.0 corrupt the program's heap
// (measured: docs/tracer.md), so only kernels are switched off between captures (kernel_switch.h), and what is
// told of the rest is left out (pauses.h).
#pragma once

namespace gprof::tracer {

// Devices, contexts, streams, …: what is said once and understood by everything later.
void EnableFactKinds();

// Nothing is on any more, and CUPTI is as it was before, for a guest.
void ReleaseKinds();

// Kernels, copies, memory, …: what a capture is made of. What CUPTI refuses is said once. [one thread at a time]
void SetWorkKinds(bool on);

// Whether a graph that is launched now is recorded as a whole, and not node by node.
bool GraphsAsAWhole();

// Stops recording graphs as a whole, for good: each of their nodes is recorded from then on.
void RecordGraphNodes();

// A graph is about to be instantiated: whether graphs can be recorded as a whole depends on how all of them were.
void OnGraphInstantiated();
// There may be graphs that were instantiated before the tracer came.
void ExpectEarlierGraphs();

// The driver is up: kinds that CUPTI refuses within cuInit are enabled now, if they are wanted.
void EnableLateKinds();

}  // namespace gprof::tracer
