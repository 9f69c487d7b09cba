// What the model knows of threads between their calls: where their code was, when they ran, what they waited for in the
// operating system.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/events.h"
#include "gprof/fields.h"
#include "gprof/trace/record.h"

namespace gprof {

// The words of enumerations, by number: what tables have in the place of those.
constexpr std::array<std::string_view, 6> WordsOf(trace::ModuleKind) {
  return {"not known", "file", "Python function", "vDSO", "kernel", "generated code"};
}
constexpr std::array<std::string_view, 5> WordsOf(trace::SampleKind) {
  return {"not known", "perf", "signal", "Python", "Python, waiting"};
}
constexpr std::array<std::string_view, 17> WordsOf(trace::OsObject) {
  return {"none",    "mutex", "rwlock", "condition", "semaphore", "barrier", "GIL",    "futex",  "thread",
          "process", "file",  "pipe",   "socket",    "device",    "timer",   "memory", "several"};
}

// Code that frames lie in: a file in memory, or a Python function.
struct Module {
  int64_t time_ns = 0;          // when it was seen first, 0 when not known
  uint64_t address = 0;         // to be added to the offset of a frame
  uint64_t size_bytes = 0;      // in memory
  uint64_t inode = 0;           // of its file, 0 when not known
  uint32_t process = kNone;     // that has it in memory
  NameId path;                  // the file
  NameId build_id;              // hexadecimal
  NameId name;                  // of a Python function
  NameId line_table;            // of a Python function, the bytes
  uint32_t first_line = 0;      // of a Python function
  uint32_t python_version = 0;  // 0x030b is 3.11
  trace::ModuleKind module_kind = trace::ModuleKind::kUnknown;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kKnownTime}, m.time_ns);
    v(FieldOf{"address", Role::kKnown}, m.address);
    v(FieldOf{"size_bytes", Role::kKnown}, m.size_bytes);
    v(FieldOf{"inode", Role::kKnown}, m.inode);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"path"}, m.path);
    v(FieldOf{"build_id"}, m.build_id);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"line_table", Role::kBytes}, m.line_table);
    v(FieldOf{"first_line", Role::kKnown}, m.first_line);
    v(FieldOf{"python_version", Role::kKnown}, m.python_version);
    v(FieldOf{"module_kind"}, m.module_kind);
  }
};

struct Frame {
  uint64_t offset = 0;      // as the file has it; without a module the address
  uint32_t module = kNone;  // index into modules
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"offset"}, m.offset);
    v(FieldOf{"module", Role::kModule}, m.module);
  }
};

// Lines of a file that a compiler of the program generated, as torch.compile does.
struct GeneratedLines {
  NameId file;
  uint32_t first_line = 0, last_line = 0;
  NameId source_file;        // empty: not known
  uint32_t source_line = 0;  // 0: not known
  NameId function;           // of that line
  NameId place;              // its modules, outermost first: "A / B"
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"file"}, m.file);
    v(FieldOf{"first_line"}, m.first_line);
    v(FieldOf{"last_line"}, m.last_line);
    v(FieldOf{"source_file"}, m.source_file);
    v(FieldOf{"source_line", Role::kKnown}, m.source_line);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"place"}, m.place);
  }
};

// A stack is its innermost frame and the stack that called it.
struct StackNode {
  uint32_t parent = kNone;  // index into stacks, less than that of the node
  uint32_t frame = kNone;   // index into frames
  bool is_cut = false;      // frames around it are missing
  bool is_guessed = false;  // the frame was found without unwind tables
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"parent", Role::kStack}, m.parent);
    v(FieldOf{"frame", Role::kFrame}, m.frame);
    v(FieldOf{"is_cut"}, m.is_cut);
    v(FieldOf{"is_guessed"}, m.is_guessed);
  }
};

// The function at a frame, or one of several that were inlined there.
struct Symbol {
  uint64_t function_offset = 0;  // of its first byte, 0 when not known
  uint32_t frame = kNone;        // index into frames
  uint32_t depth = 0;            // 0 the innermost function
  NameId name, file;
  uint32_t line = 0;  // 0 when not known
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"function_offset", Role::kKnown}, m.function_offset);
    v(FieldOf{"frame", Role::kFrame}, m.frame);
    v(FieldOf{"depth"}, m.depth);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"file"}, m.file);
    v(FieldOf{"line", Role::kKnown}, m.line);
  }
};

// Where a thread was at a moment.
struct CpuSample {
  int64_t time_ns = 0;
  int64_t weight_ns = 0;  // time that it stands for
  uint32_t process = kNone, thread = kNone;
  uint32_t stack = kNone;  // index into stacks
  uint32_t cpu = kNone;    // number of the processor, kNone when not known
  trace::SampleKind sample_kind = trace::SampleKind::kUnknown;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"weight_ns"}, m.weight_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"stack", Role::kStack}, m.stack);
    v(FieldOf{"cpu", Role::kOrNone}, m.cpu);
    v(FieldOf{"sample_kind"}, m.sample_kind);
  }
};

// A thread was off the processor.
struct ThreadSwitch {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = kNone, thread = kNone;
  uint32_t cpu = kNone;        // that it left, as in CpuSample
  bool is_preempted = false;   // it could have gone on, and another ran; otherwise it waited
  bool is_unfinished = false;  // it had not run again
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"cpu", Role::kOrNone}, m.cpu);
    v(FieldOf{"is_preempted"}, m.is_preempted);
    v(FieldOf{"is_unfinished"}, m.is_unfinished);
  }
};

// A call of the operating system that took long.
struct OsCall {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t object = 0;  // number of a lock, file descriptor, id; 0 for none
  uint64_t size_bytes = 0;
  int64_t result = 0;
  uint32_t process = kNone, thread = kNone;
  uint32_t other_thread = kNone;  // that it waited for: holder of the lock, or waker
  uint32_t stack = kNone;         // index into stacks
  NameId function;
  NameId path;         // file or address, name of a lock
  uint32_t error = 0;  // errno, 0 for none
  trace::OsObject object_kind = trace::OsObject::kNone;
  bool is_unfinished = false;    // the process ended inside it
  uint32_t waker_stack = kNone;  // from which the other thread released the lock or ended the wait
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"object", Role::kKnown}, m.object);
    v(FieldOf{"size_bytes", Role::kKnown}, m.size_bytes);
    v(FieldOf{"result"}, m.result);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"other_thread", Role::kThread}, m.other_thread);
    v(FieldOf{"stack", Role::kStack}, m.stack);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"path"}, m.path);
    v(FieldOf{"error", Role::kKnown}, m.error);
    v(FieldOf{"object_kind"}, m.object_kind);
    v(FieldOf{"is_unfinished"}, m.is_unfinished);
    v(FieldOf{"waker_stack", Role::kStack}, m.waker_stack);
  }
};

// A call of MPI.
struct MpiCall {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t sent_bytes = 0;      // what the process hands over, 0 when not known
  uint64_t received_bytes = 0;  // what it has room for, 0 when not known
  uint32_t process = kNone, thread = kNone;
  NameId function;
  uint32_t communicator = 0;       // 1 MPI_COMM_WORLD, others as the process came to use them, 0 none or not known
  uint32_t communicator_size = 0;  // its processes, 0 when not known
  int32_t peer = -1;               // rank of the other process or of the root, -1 none, -2 any
  int32_t tag = -1;                // of a message, -1 none
  uint32_t error = 0;              // what the call returned, 0 for success
  bool is_unfinished = false;      // the process ended inside it
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"sent_bytes", Role::kKnown}, m.sent_bytes);
    v(FieldOf{"received_bytes", Role::kKnown}, m.received_bytes);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"communicator", Role::kKnown}, m.communicator);
    v(FieldOf{"communicator_size", Role::kKnown}, m.communicator_size);
    v(FieldOf{"peer"}, m.peer);
    v(FieldOf{"tag"}, m.tag);
    v(FieldOf{"error", Role::kKnown}, m.error);
    v(FieldOf{"is_unfinished"}, m.is_unfinished);
  }
};

// An operation that a rank gave to NCCL.
struct Collective {
  int64_t start_ns = 0, end_ns = 0;  // when it was asked for, and when its kernel had been launched
  uint64_t communicator = 0;         // the same in all its ranks
  uint64_t sequence = 0;             // how many of the function came before; 0 for sends and receives
  uint64_t size_bytes = 0;           // what one rank gives; of scattering what it receives
  uint32_t process = kNone, thread = kNone;
  NameId function, datatype, algorithm, protocol;
  NameId communicator_name;
  uint32_t ranks = 0, nodes = 0;  // of the communicator, 0 not known
  int32_t rank = -1;              // within the communicator
  int32_t peer = -1;              // the root, or the other rank of a send or receive; -1 none
  uint32_t channels = 0;
  bool is_captured = false;  // into a CUDA graph
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"communicator", Role::kKnown}, m.communicator);
    v(FieldOf{"sequence"}, m.sequence);
    v(FieldOf{"size_bytes"}, m.size_bytes);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"datatype"}, m.datatype);
    v(FieldOf{"algorithm"}, m.algorithm);
    v(FieldOf{"protocol"}, m.protocol);
    v(FieldOf{"communicator_name"}, m.communicator_name);
    v(FieldOf{"ranks", Role::kKnown}, m.ranks);
    v(FieldOf{"nodes", Role::kKnown}, m.nodes);
    v(FieldOf{"rank"}, m.rank);
    v(FieldOf{"peer"}, m.peer);
    v(FieldOf{"channels", Role::kKnown}, m.channels);
    v(FieldOf{"is_captured"}, m.is_captured);
  }
};

// What NCCL's proxy thread sent or received through the network for an operation, on one channel. The four waits are
// those of the oldest step that was not done: they do not overlap, and what is left of the time had no step.
struct NcclTransfer {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t communicator = 0, sequence = 0;  // as those of the operation (Collective); 0 not known
  uint64_t size_bytes = 0;
  int64_t gpu_ns = 0;      // for the GPU to fill a buffer; of what is received to empty it
  int64_t peer_ns = 0;     // until the peer took data; of what is received 0
  int64_t network_ns = 0;  // on its way; of what is received: had not arrived, sent or not
  int64_t flush_ns = 0;    // what had arrived was made visible to the GPU
  uint32_t process = kNone, thread = kNone;
  NameId function;  // as that of the operation
  int32_t rank = -1, peer = -1;
  uint32_t channel = 0, steps = 0;
  bool is_send = false;
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"communicator", Role::kKnown}, m.communicator);
    v(FieldOf{"sequence"}, m.sequence);
    v(FieldOf{"size_bytes"}, m.size_bytes);
    v(FieldOf{"gpu_ns"}, m.gpu_ns);
    v(FieldOf{"peer_ns"}, m.peer_ns);
    v(FieldOf{"network_ns"}, m.network_ns);
    v(FieldOf{"flush_ns"}, m.flush_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"rank"}, m.rank);
    v(FieldOf{"peer"}, m.peer);
    v(FieldOf{"channel"}, m.channel);
    v(FieldOf{"steps"}, m.steps);
    v(FieldOf{"is_send"}, m.is_send);
  }
};

// A construct of OpenMP or OpenACC that a thread was in.
struct Directive {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t code = 0;        // address that it returns to, 0 not known
  uint64_t size_bytes = 0;  // that were moved
  uint32_t process = kNone, thread = kNone;
  NameId model;          // OpenMP, OpenACC
  NameId construct;      // such as parallel, implicit barrier, target, launch
  NameId name;           // source file, kernel or variable
  uint32_t region = 0;   // number of the parallel region in its process, 0 none
  uint32_t line = 0;     // of the source file, 0 not known
  uint32_t threads = 0;  // of a parallel region, 0 not known
  int32_t device = -1;   // as the runtime counts them, -1 none
  bool is_wait = false;  // for other threads or a device
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"code", Role::kKnown}, m.code);
    v(FieldOf{"size_bytes", Role::kKnown}, m.size_bytes);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"model"}, m.model);
    v(FieldOf{"construct"}, m.construct);
    v(FieldOf{"name"}, m.name);
    v(FieldOf{"region", Role::kKnown}, m.region);
    v(FieldOf{"line", Role::kKnown}, m.line);
    v(FieldOf{"threads", Role::kKnown}, m.threads);
    v(FieldOf{"device"}, m.device);
    v(FieldOf{"is_wait"}, m.is_wait);
  }
};

// A matrix multiplication by cuBLAS: C = op(A) op(B), column by column.
struct Gemm {
  int64_t start_ns = 0, end_ns = 0;  // of the call
  uint32_t process = kNone, thread = kNone;
  NameId function;
  uint32_t m = 0, n = 0, k = 0, batch = 0;
  uint32_t lda = 0, ldb = 0, ldc = 0;          // in elements
  uint8_t a_type = 0, b_type = 0, c_type = 0;  // cudaDataType_t
  uint8_t compute_type = 0;                    // cublasComputeType_t
  uint8_t a_transposed = 0, b_transposed = 0;  // 0 not, 1 transposed, 2 conjugate transposed
  uint8_t alignment = 0;                       // of all addresses, in bytes up to 16; 0 not known
  int64_t DurationNs() const { return end_ns - start_ns; }
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"start_ns", Role::kStart}, m.start_ns);
    v(FieldOf{"end_ns", Role::kEnd}, m.end_ns);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"function"}, m.function);
    v(FieldOf{"m"}, m.m);
    v(FieldOf{"n"}, m.n);
    v(FieldOf{"k"}, m.k);
    v(FieldOf{"batch"}, m.batch);
    v(FieldOf{"lda"}, m.lda);
    v(FieldOf{"ldb"}, m.ldb);
    v(FieldOf{"ldc"}, m.ldc);
    v(FieldOf{"a_type"}, m.a_type);
    v(FieldOf{"b_type"}, m.b_type);
    v(FieldOf{"c_type"}, m.c_type);
    v(FieldOf{"compute_type"}, m.compute_type);
    v(FieldOf{"a_transposed"}, m.a_transposed);
    v(FieldOf{"b_transposed"}, m.b_transposed);
    v(FieldOf{"alignment", Role::kKnown}, m.alignment);
  }
};

// A block of memory that an allocator of PyTorch gave, or took back.
struct TensorBlock {
  int64_t time_ns = 0;
  int64_t size_bytes = 0;  // negative: it was taken back
  uint64_t address = 0;    // 0 not known
  uint32_t process = kNone, thread = kNone;
  uint32_t device = kNone;  // it is on; kNone as well for the host
  uint32_t stack = kNone;   // of whoever asked for it
  bool is_host = false;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"time_ns", Role::kTime}, m.time_ns);
    v(FieldOf{"size_bytes"}, m.size_bytes);
    v(FieldOf{"address", Role::kKnown}, m.address);
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"thread", Role::kThread}, m.thread);
    v(FieldOf{"device", Role::kDevice}, m.device);
    v(FieldOf{"stack", Role::kStack}, m.stack);
    v(FieldOf{"is_host"}, m.is_host);
  }
};

}  // namespace gprof
