// The virtual machine under the libcuda double: devices, contexts, streams, memory and a timeline. Every operation
// takes a time that only its arguments decide and starts when its stream is free, so a program knows what a trace must
// show.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "hub.h"

struct CUctx_st {
  uint32_t id = 0, device = 0;
  bool is_primary = false, is_alive = true;
  CUstream null_stream = nullptr;
  std::vector<CUstream> streams;
};

struct CUstream_st {
  uint32_t id = 0;
  CUcontext context = nullptr;
  uint32_t flags = 0;
  int priority = 0;
  uint64_t ready_ns = 0;
  std::atomic<int> host_functions{0};  // launched and not yet returned
};

struct CUevent_st {
  uint32_t id = 0;
  uint64_t ready_ns = 0;
  bool is_recorded = false;
};

struct CUfunc_st {
  std::string name;
};

struct CUmod_st {
  uint32_t id = 0;
  CUcontext context = nullptr;
  std::vector<CUfunction> functions;
};

struct CUgraphNode_st {
  uint64_t id = 0;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  mock::Op op;
  CUfunction function = nullptr;  // of a kernel
  CUgraph body = nullptr;         // of a conditional node, which runs nothing itself
};

struct CUgraph_st {
  uint32_t id = 0;
  std::vector<CUgraphNode> nodes;
};

struct CUgraphExec_st {
  uint32_t id = 0;
  CUgraph_st clone;  // what instantiation makes of the graph, under the id of the executable graph
  std::vector<CUgraphNode_st> nodes;
  bool is_traced_whole = false;  // a tool wanted records of whole graphs when it was instantiated
};

struct CUmemPoolHandle_st {
  uint32_t device = 0;
  uint64_t bytes = 0, used_bytes = 0;
};

namespace mock {

inline constexpr uint32_t kOnHost = ~0u;

struct Block {
  size_t size = 0;
  uint8_t kind = 1;  // CUpti_ActivityMemoryKind
  uint32_t device = 0;
  CUmemoryPool pool = nullptr;
  uint32_t place = kOnHost;  // where managed memory is now: a device or the host
};

// Process-wide and never destroyed: programs call CUDA from static destructors.
struct Model {
  std::mutex mutex;
  std::atomic<bool> is_initialized{false}, is_torn_down{false};
  int init_pid = 0;
  int driver_version = 0, device_count = 0;
  const Observer* observer = nullptr;
  uint32_t next_context = 1, next_stream = 6, next_event = 1, next_module = 1, next_graph = 1;
  std::vector<CUcontext> primary;
  std::vector<int> primary_references;
  std::vector<CUmemoryPool> default_pools;
  std::map<uintptr_t, Block> blocks;
};

struct ThreadState {
  std::vector<CUcontext> contexts;
  Frame* frame = nullptr;
  int callback_depth = 0;
  bool is_injecting = false;
  uint32_t left_correlation =
      0;  // of a call whose exit nobody was told of, because its callback was switched off within it
  bool loses_kernels = false;  // as their kind was switched as a whole within a launch of this thread
};

Model& TheModel();
ThreadState& ThisThread();
const Hub& TheHub();
inline const Observer* TheObserver() {
  return TheModel().is_torn_down ? nullptr : __atomic_load_n(&TheModel().observer, __ATOMIC_ACQUIRE);
}

// Keeps a call of a tool's callback on the books, so that forbidden CUDA calls in it are noticed.
struct CallbackScope {
  CallbackScope() { ++ThisThread().callback_depth; }
  ~CallbackScope() { --ThisThread().callback_depth; }
};

CUresult Initialize();
CUcontext CurrentContext();
CUcontext CreateContext(uint32_t device, bool is_primary);
void DestroyContext(CUcontext context);
// Null and the two special handles mean the default stream.
// When all streams of the context are done with their work.
uint64_t ReadyNs(CUcontext context);
CUstream ResolveStream(CUstream stream);
CUstream CreateStream(CUcontext context, uint32_t flags, int priority);
void DestroyStream(CUstream stream);
uint32_t CurrentCorrelation();

// Puts `op` at the end of `stream`, tells the observer, and answers when it ends.
uint64_t Enqueue(Op op, CUstream stream, uint64_t duration_ns);
uint64_t KernelNs(Dim grid);
uint64_t CopyNs(const Op& op);
uint64_t MemsetNs(uint64_t bytes);

void AddBlock(const void* address, Block block);
bool RemoveBlock(const void* address);
Block FindBlock(const void* address);  // of pageable kind where nothing is registered
// Where a managed block is from now on; answers where it was. Nothing for other blocks.
bool MoveBlock(const void* address, uint32_t place, uint32_t* before);
// Somebody uses memory: managed memory that is elsewhere faults and comes, which a tool may hear of.
void TouchManaged(const void* address, uint64_t bytes, uint32_t place, bool is_prefetch);
void WaitForHostFunctions(CUstream stream);
void ReportSync(uint32_t type, uint64_t start_ns, uint32_t stream, uint32_t event, CUresult result);
DeviceFacts FactsOf(int ordinal);

}  // namespace mock
