// What launcher and tracers of one run share beside the trace: a folder in memory (mode 0700; where root launches, 0711
// under a name that nobody can guess) with
//
//   control        one page that the launcher writes and every tracer reads: whether to record, and into which file
//   PID-*.arena    one a traced process, with what is not in the trace yet, or one a collector (src/collect)
//   counters       which kernel counters tracers collect (counter_request.h), where there are any to collect
//   monitors       whose turn it is to measure kernels on each GPU (tracers only, where there are counters to collect)
//   writers        who wrote last into which pipe, socket or eventfd (write_notes.h; tracers only)
//   socket         in a session or a recorder: where `gprof-cli start`, `top` and their like connect to
//   ring           of a recorder: the trace of which only the last seconds are kept (src/recorder)
//   recorder       of a recorder: what it was told, for whoever finds the ring of a dead one (launcher only)
//   attach.so      of an attachment: a link to the tracer, by whose name it knows that it was attached
//   (src/launch/attach) settings       of an attachment: what else is in the environment of the program
//   (gprof/trace/env.h) others         where root launches, a folder for arenas of processes that are another user by
//   now (mode 01733) spare0 ...     empty files as large as an arena, for processes that may not make one themselves
//   (RLIMIT_FSIZE)
//
// All files are mapped shared, so what a process stored there is there after any death. The launcher that finds an
// arena whose process is dead has the tracer library write what is left into the trace (GprofSalvage), and does that
// itself for a collector. Whoever creates a file of the folder does so with O_EXCL | O_NOFOLLOW and mode 0600.
#pragma once

#include <atomic>
#include <cstdint>

namespace gprof::trace {

inline constexpr char kControlFile[] = "control";
inline constexpr char kSocketFile[] = "socket";
inline constexpr char kRingFile[] = "ring";
inline constexpr char kRecorderFile[] = "recorder";
inline constexpr char kAttachLibraryFile[] = "attach.so";
inline constexpr char kAttachSettingsFile[] = "settings";
// In the folder that GPROF_ARMED names, and not in that of a run: what attach asks of an armed process, as the settings
// of an attachment. Behind it come the PID, a hyphen, and the process's start in clock ticks.
inline constexpr char kArmedRequestPrefix[] = "gprof-cli-request-";
// Of the thread that waits for one.
inline constexpr char kArmedThread[] = "gprof-armed";
// It waits on the first word of the library's file (a shared futex on a mapping of it), which never changes.
inline constexpr uint32_t kArmedWord = 0x464C457Fu;  // "\x7FELF"
inline constexpr char kCounterRequestFile[] = "counters";
inline constexpr char kMonitorsFile[] = "monitors";
inline constexpr char kArenaSuffix[] = ".arena";
inline constexpr char kOthersFolder[] = "others";
inline constexpr char kSpareFile[] = "spare";  // and a number
inline constexpr uint32_t kSpareArenas = 4;
inline constexpr uint32_t kSpareBytes = 1u << 30;

inline constexpr uint64_t kControlMagic = 0x314C52544E4F4347u;  // "GCONTRL1"
inline constexpr uint64_t kArenaMagic = 0x31414E4552414347u;    // "GCARENA1"

enum class CaptureWish : uint32_t {
  kIdle = 0,       // record nothing
  kRecord = 1,     // record into `output`
  kTriggered = 2,  // the tracer's own triggers decide (GPROF_CAPTURE other than `command`)
  kCancel = 3,     // record nothing, and drop what is not written yet
  kFlush = 4,      // as kTriggered, and write all there is
  kLook = 5,       // the same, and tell what threads and GPUs are in the midst of
};

// Written by the launcher alone, which holds an flock on the file as long as it lives. To change it: `epoch` to odd,
// the fields, `epoch` to the next even number, then ring every arena's bell. A reader that sees an odd or a changed
// epoch reads again.
struct ControlPage {
  uint64_t magic;
  std::atomic<uint32_t> epoch;
  std::atomic<uint32_t> wish;     // CaptureWish
  std::atomic<uint32_t> trigger;  // CaptureTrigger of the wish
  std::atomic<uint32_t> launcher_pid;
  std::atomic<uint64_t> output_device, output_inode;
  char output[4096 - 64];               // absolute path of the trace file
  std::atomic<uint64_t> output_run;     // ChunkHeader::run of its first chunk
  std::atomic<uint32_t> run_has_ended;  // 1: collectors write what they have, and end
  std::atomic<uint16_t> exit_code;      // of the program, once the run has ended
  std::atomic<uint16_t> end_signal;     // that ended the program, 0 for none and where the launcher sent it
  std::atomic<uint64_t> output_limit;   // bytes of the disk or memory that the trace file may take; 0: no limit
};
static_assert(sizeof(ControlPage) == 4096);

enum class ArenaState : uint32_t {
  kStarting = 0,
  kRecording = 1,
  kIdle = 2,      // waits for a capture
  kFinished = 3,  // everything is in the trace: the file may be deleted
};

enum class ArenaOwner : uint32_t { kTarget = 0, kCollector = 1 };

// Threads of a process that collectors outside are told of.
inline constexpr uint32_t kArenaThreads = 512;

// The first bytes of an arena; the rest is the owner's own business.
struct ArenaHeader {
  uint64_t magic;
  uint64_t layout;             // differs between builds of the tracer whose arenas differ
  uint64_t base, size_bytes;   // address in its process; salvage maps it there again
  uint64_t host, start_ticks;  // with pid and image: the ProcessKey of its chunks
  uint32_t pid, image;
  uint64_t start_ns;
  std::atomic<uint32_t> bell;   // futex (shared): add 1 and wake after a change of the control page
  std::atomic<uint32_t> state;  // ArenaState
  std::atomic<uint32_t>
      is_locked;  // 1: a thread of the process holds an flock, which ends with the process or its exec
  std::atomic<uint32_t> epoch_done;    // control epoch that was carried out: what had to be written is written
  std::atomic<uint64_t> heartbeat_ns;  // CLOCK_MONOTONIC at the last drain
  std::atomic<uint32_t> captures_started, captures_stopped;
  std::atomic<uint32_t> wants_shutdown;  // 1: a capture range with stop-shutdown has ended
  std::atomic<uint32_t> exit_began;      // 1: the process ends in order, and leaves its last rows to the launcher
  std::atomic<uint32_t> owner;           // ArenaOwner
  // Of a target whose threads are sampled by a signal: at which page of the arena its sample_ring.h is; 0: none.
  std::atomic<uint32_t> sample_page;
  // Of a target: ids of threads that called CUDA or NVTX, some of which may have ended; 0 where there is none.
  std::atomic<uint32_t> threads[kArenaThreads];
  // Of a target that could not write to the trace: at which page of the arena its outbox.h is; 0: none.
  std::atomic<uint32_t> outbox_page;
  std::atomic<uint32_t> write_error;   // errno of the last chunk that is lost
  std::atomic<uint64_t> lost_records;  // that no loss record in the trace tells of
  std::atomic<uint64_t> output_run;    // ChunkHeader::run of the trace that it records into
};
static_assert(sizeof(ArenaHeader) == 136 + 4 * kArenaThreads);

// Exported by libgprof-tracer.so under the name below, for the launcher alone. Call it in a process of its own that may
// crash and has no rights to lose: `arena`, a descriptor, was written by a process that died at any instruction.
// Appends what the arena holds to its trace, with an end record, and marks it finished. `died_ns`: CLOCK_MONOTONIC when
// the process was seen dead, 0 when not known. `trace`: a descriptor of the trace for who may not open it; -1: none. 0:
// done; else an errno value.
using SalvageFunction = int(int arena, uint64_t died_ns, int trace);
inline constexpr char kSalvageFunction[] = "GprofSalvage";

}  // namespace gprof::trace
