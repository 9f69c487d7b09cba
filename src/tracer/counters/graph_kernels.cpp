#include "tracer/counters/graph_kernels.h"

#include <dlfcn.h>

#include "tracer/core/notice.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxGraphs = 4096, kMaxKernels = 16384, kMaxDepth = 8;

struct Driver {
  CUresult (*cuGraphGetNodes)(CUgraph, CUgraphNode*, std::size_t*) = nullptr;
  CUresult (*cuGraphNodeGetType)(CUgraphNode, CUgraphNodeType*) = nullptr;
  CUresult (*cuGraphKernelNodeGetParams_v2)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*) = nullptr;
  CUresult (*cuGraphChildGraphNodeGetGraph)(CUgraphNode, CUgraph*) = nullptr;
  CUresult (*cuKernelGetFunction)(CUfunction*, CUkernel) = nullptr;
  CUresult (*cuFuncGetName)(const char**, CUfunction) = nullptr;
};
Driver driver;
bool is_bound = false;

GraphKernels graphs[kMaxGraphs];
uint32_t graph_count = 0;

template <class F>
void Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
}

bool Bind() {
  if (!is_bound) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return false;
    Find(library, "cuGraphGetNodes", &driver.cuGraphGetNodes);
    Find(library, "cuGraphNodeGetType", &driver.cuGraphNodeGetType);
    Find(library, "cuGraphKernelNodeGetParams_v2", &driver.cuGraphKernelNodeGetParams_v2);
    Find(library, "cuGraphChildGraphNodeGetGraph", &driver.cuGraphChildGraphNodeGetGraph);
    Find(library, "cuKernelGetFunction", &driver.cuKernelGetFunction);
    Find(library, "cuFuncGetName", &driver.cuFuncGetName);
    is_bound = true;
  }
  return driver.cuGraphGetNodes != nullptr && driver.cuGraphNodeGetType != nullptr &&
         driver.cuGraphKernelNodeGetParams_v2 != nullptr;
}

void AddKernel(CUgraphNode node, GraphKernels* out) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  if (out->count == kMaxKernels) return;
  GraphKernel& kernel = out->kernels[out->count++];
  kernel = {};
  kernel.launch.symbol = "kernel of a graph";
  if (driver.cuGraphKernelNodeGetParams_v2(node, &params) != CUDA_SUCCESS) return;
  kernel.function = params.func;
  if (kernel.function == nullptr && driver.cuKernelGetFunction != nullptr)
    driver.cuKernelGetFunction(&kernel.function, params.kern);
  const char* name = nullptr;
  if (driver.cuFuncGetName != nullptr && kernel.function != nullptr &&
      driver.cuFuncGetName(&name, kernel.function) == CUDA_SUCCESS && name != nullptr)
    kernel.launch.symbol = name;
  const uint32_t grid[] = {params.gridDimX, params.gridDimY, params.gridDimZ};
  const uint32_t block[] = {params.blockDimX, params.blockDimY, params.blockDimZ};
  for (int i = 0; i < 3; ++i) {
    kernel.launch.grid[i] = grid[i];
    kernel.launch.block[i] = block[i];
  }
  kernel.launch.dynamic_shared_bytes = params.sharedMemBytes;
}

// In the order in which they were added: a node is added behind those that it waits for.
void AddNodes(CUgraph graph, uint32_t depth, GraphKernels* out) {
  std::size_t count = 0;
  if (depth == kMaxDepth || driver.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0) return;
  const std::size_t bytes = count * sizeof(CUgraphNode);
  auto* nodes = static_cast<CUgraphNode*>(MapMemory(bytes));
  if (nodes == nullptr || driver.cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    if (driver.cuGraphNodeGetType(nodes[i], &type) != CUDA_SUCCESS) continue;
    CUgraph child = nullptr;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) AddKernel(nodes[i], out);
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && driver.cuGraphChildGraphNodeGetGraph != nullptr &&
        driver.cuGraphChildGraphNodeGetGraph(nodes[i], &child) == CUDA_SUCCESS)
      AddNodes(child, depth + 1, out);
  }
  UnmapMemory(nodes, bytes);
}

GraphKernels* PlaceOf(CUgraphExec graph) {
  for (uint32_t i = 0; i < graph_count; ++i) {
    if (graphs[i].graph == graph) return &graphs[i];
  }
  return graph_count == kMaxGraphs ? nullptr : &graphs[graph_count++];
}

}  // namespace

void NoteGraph(CUgraphExec graph, CUgraph source) {
  static GraphKernel* space = nullptr;
  if (graph == nullptr || source == nullptr || !Bind()) return;
  if (space == nullptr) space = static_cast<GraphKernel*>(MapMemory(kMaxKernels * sizeof(GraphKernel)));
  GraphKernels found{graph, space, 0};
  if (space != nullptr) AddNodes(source, 0, &found);
  GraphKernels* place = PlaceOf(graph);
  if (place == nullptr) return;
  UnmapMemory(place->kernels, place->count * sizeof(GraphKernel));
  *place = {graph, nullptr, 0};
  if (found.count == 0) return;
  place->kernels = static_cast<GraphKernel*>(MapMemory(found.count * sizeof(GraphKernel)));
  if (place->kernels == nullptr) return;
  place->count = found.count;
  for (uint32_t i = 0; i < found.count; ++i) place->kernels[i] = space[i];
}

const GraphKernels* KernelsOf(CUgraphExec graph) {
  for (uint32_t i = 0; i < graph_count; ++i) {
    if (graphs[i].graph == graph) return &graphs[i];
  }
  return nullptr;
}

void ForgetGraphsAfterFork() { graph_count = 0; }

}  // namespace gprof::tracer
