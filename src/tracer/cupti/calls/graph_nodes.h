// Which code made the nodes of CUDA graphs: an operation of a graph launch names its node, and the node's row says
// which thread made it when, and so within which call and NVTX range.
#pragma once

#include "tracer/cupti/library/cupti_api.h"

namespace gprof::tracer {

// Whatever is captured: a graph is often built long before it is launched in a capture.
void ListenToGraphNodes(CUpti_SubscriberHandle subscriber);

bool IsGraphNodeCallback(CUpti_CallbackId cbid);
void OnGraphNode(const CUpti_ResourceData& data);

}  // namespace gprof::tracer
