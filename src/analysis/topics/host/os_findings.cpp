#include "analysis/topics/host/os_findings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/causes/host_gaps.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/causes/thread_activity.h"
#include "analysis/facts/host/loader_workers.h"
#include "analysis/facts/host/os_call_kinds.h"
#include "analysis/facts/places/python_waits.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentInWaits = 1;  // of the window of the GPUs
constexpr int64_t kPiecesOfAFile = 100, kSmallPieceBytes = 4096;

// Idle time in waits of one thread for one thing.
struct WaitSum {
  int64_t idle_ns = 0, calls = 0, bytes = 0;
  std::map<NameId, int64_t> functions;  // idle time by function
  std::map<uint32_t, int64_t> holders;
  std::string place;      // that made those calls, in the most time
  std::string released;   // " at reader.py:31 (fill)": where who was waited for most ended them, in the most time
  std::string word;       // that Python has for most of them
  std::string coroutine;  // that went on after most of those in an event loop
  std::string meanwhile;  // what the thread did that was waited for most
  std::string workers;    // what the processes did that this one started
  OsCallKind main;        // the thing and the call with the most idle time
  int64_t main_ns = 0;    // of that
  int64_t more_things = 0, more_threads = 0;
  int64_t all_ns = 0, ran_out_ns = 0;  // of these calls, and of those whose time was over before anybody ended them
  void Add(const WaitSum& more) {
    idle_ns += more.idle_ns, calls += more.calls, bytes += more.bytes, more_things += 1 + more.more_things;
    for (const auto& [function, ns] : more.functions) functions[function] += ns;
    for (const auto& [holder, ns] : more.holders) holders[holder] += ns;
  }
};
using WaitSums = std::map<std::pair<OsCallKind, uint32_t>, WaitSum>;

// Whatever it came through: workers of a data loader have a pipe, and for each batch a socket.
OsCallKind SubjectOf(const OsCallKind& kind) {
  if (!IsHandover(kind.object_kind)) return ThingOf(kind);
  OsCallKind handover;
  handover.object_kind = trace::OsObject::kPoll;
  return handover;
}

// The coroutine that makes the next CUDA call of the thread: the GPU waited for it.
std::string CoroutineAfter(const Trace& trace, const OsCall& call) {
  if (call.thread == kNone) return "";
  const Trace::Slice calls = trace.thread_api_calls[call.thread];
  const auto items = trace.api_calls.items();
  const auto next = std::partition_point(items.begin() + calls.first, items.begin() + calls.last,
                                         [&](const auto& item) { return item.start_ns() < call.end_ns; });
  return next == items.begin() + calls.last ? "" : CoroutineOf(trace, trace.api_calls.TraitsAt(next->traits).stack);
}

// That findings are about: what waited before the first operation on a GPU, or in a warm-up, was called from elsewhere.
Interval JudgedTimeOf(const AnalysisInput& input) {
  const std::optional<SteadyTime>& steady = input.shared().judged(input).steady;
  return steady ? steady->time : input.shared().ops().window();
}

// The one with the most, where it is known of most of the time who was waited for.
uint32_t HolderOfMost(const WaitSum& sum) {
  int64_t known_ns = 0;
  for (const auto& [holder, idle_ns] : sum.holders) known_ns += idle_ns;
  return known_ns * 2 < sum.idle_ns ? kNone : LargestOf(sum.holders, kNone);
}

// Where the thread let go of a lock, or woke another one.
std::string PlaceOfEnd(uint32_t stack, CallPlaces* places) {
  const std::string place = places->OfProgram(stack);
  return place.empty() ? "" : (places->IsLine(stack) ? " at " : " in ") + place;
}

void SetPlaces(const Trace& trace, const Interval& judged, CallPlaces* places, WaitSums* sums) {
  std::map<WaitSums::key_type, PlaceSums> of_sums, words, coroutines, released;
  std::map<WaitSums::key_type, int64_t> all_ns;
  PythonWaits waits(trace);
  for (const OsCall& call : trace.os_calls) {
    const WaitSums::key_type key{SubjectOf(KindOf(call)), call.thread};
    const auto sum = sums->find(key);
    if (sum == sums->end() || !sum->second.functions.contains(call.function)) continue;
    const int64_t ns = OverlapNs(judged, call);
    if (ns == 0) continue;
    all_ns[key] += ns;
    const std::string& word = waits.WordFor(call);
    words[key].Add(word, ns);
    if (word == kEventLoop) coroutines[key].Add(CoroutineAfter(trace, call), ns);
    if (call.stack != kNone) of_sums[key].Add(places->OfProgram(call.stack), ns);
    if (call.waker_stack != kNone && call.other_thread == HolderOfMost(sum->second))
      released[key].Add(PlaceOfEnd(call.waker_stack, places), ns);
  }
  for (const auto& [key, of_sum] : released) sums->at(key).released = of_sum.Main();
  for (const auto& [key, of_sum] : of_sums) sums->at(key).place = of_sum.Main();
  for (const auto& [key, of_sum] : words) {
    if (2 * of_sum.MainNs() < all_ns[key]) continue;
    sums->at(key).word = of_sum.Main();
    if (of_sum.Main() == kEventLoop) sums->at(key).coroutine = coroutines[key].Main();
  }
}

void CountRanOut(const Trace& trace, WaitSums* sums) {
  for (const OsCall& call : trace.os_calls) {
    const auto sum = sums->find({SubjectOf(KindOf(call)), call.thread});
    if (sum == sums->end() || !sum->second.functions.contains(call.function)) continue;
    sum->second.all_ns += call.DurationNs();
    if (HasRunOut(call)) sum->second.ran_out_ns += call.DurationNs();
  }
}

// Of the waits of one thread for one thing, `holder` alone or, with kNone, whoever had it.
std::vector<Interval> TimesOf(const AnalysisInput& input, const WaitSums::key_type& key, uint32_t holder) {
  const Interval judged = JudgedTimeOf(input);
  std::vector<Interval> times;
  for (const OsCall& call : input.trace().os_calls) {
    if (OverlapNs(judged, call) == 0 || call.thread != key.second || (holder != kNone && call.other_thread != holder))
      continue;
    const OsCallKind subject = SubjectOf(KindOf(call));
    if (!(subject < key.first) && !(key.first < subject))
      times.push_back({std::max(call.start_ns, judged.start_ns), std::min(call.end_ns, judged.end_ns)});
  }
  return times;
}

// Of the thread that was waited for most. Where it waits, too, is not known or is one of several workers, the processes
// that this one started may be what all of them wait for.
void SetActivities(const AnalysisInput& input, CallPlaces* places, WaitSums* sums) {
  const Trace& trace = input.trace();
  for (auto& [key, sum] : *sums) {
    const uint32_t holder = HolderOfMost(sum);
    const uint32_t process = key.second == kNone ? kNone : trace.threads[key.second].process;
    const bool is_of_us = holder != kNone && trace.threads[holder].process == process;
    if (is_of_us) sum.meanwhile = MainActivity(input, holder, TimesOf(input, key, holder), places);
    const bool is_busy = sum.meanwhile.find(" running ") != std::string::npos;
    if (!is_busy && process != kNone && IsHandover(key.first.object_kind))
      sum.workers = WorkerActivity(trace, process, TimesOf(input, key, kNone), places);
    if (holder == kNone || is_of_us || !sum.workers.empty()) continue;
    sum.meanwhile = MainActivity(input, holder, TimesOf(input, key, holder), places);
  }
}

using SumList = std::vector<WaitSums::iterator>;

// The one with the most idle time.
WaitSums::iterator MostOf(const SumList& list) {
  return *std::ranges::max_element(list,
                                   [](const auto& a, const auto& b) { return a->second.idle_ns < b->second.idle_ns; });
}

void JoinInto(WaitSums::iterator most, const SumList& list, WaitSums* sums) {
  for (const auto& one : list) {
    if (one == most) continue;
    most->second.Add(one->second);
    sums->erase(one);
  }
}

// One after the other, as where each step writes a file of its own: they are told as one.
void JoinFiles(WaitSums* sums) {
  constexpr int64_t kManyFiles = 4;
  std::map<uint32_t, SumList> files_of;  // by thread
  for (auto at = sums->begin(); at != sums->end(); ++at) {
    if (at->first.first.object_kind == trace::OsObject::kFile) files_of[at->first.second].push_back(at);
  }
  for (auto& [thread, files] : files_of) {
    int64_t idle_ns = 0;
    for (const auto& file : files) idle_ns += file->second.idle_ns;
    const auto most = MostOf(files);
    if (std::ssize(files) < kManyFiles || 2 * most->second.idle_ns > idle_ns) continue;
    JoinInto(most, files, sums);
  }
}

// Threads of a pool that take turns to launch wait for work in the same way: they are told as one.
void JoinThreads(const Trace& trace, WaitSums* sums) {
  std::map<uint32_t, SumList> handovers_of;  // by process
  for (auto at = sums->begin(); at != sums->end(); ++at) {
    const auto& [kind, thread] = at->first;
    if (thread != kNone && IsHandover(kind.object_kind)) handovers_of[trace.threads[thread].process].push_back(at);
  }
  for (auto& [process, handovers] : handovers_of) {
    const auto most = MostOf(handovers);
    most->second.more_threads = std::ssize(handovers) - 1;
    JoinInto(most, handovers, sums);
  }
}

WaitSums SumsOfThings(const Trace& trace, const HostGaps& host) {
  WaitSums sums;
  for (const IdleInWait& wait : host.judged_waits) {
    WaitSum& sum = sums[{SubjectOf(wait.kind), wait.thread}];
    if (sum.idle_ns == 0) sum.main = wait.kind, sum.main_ns = wait.idle_ns;  // they come with the longest first
    sum.idle_ns += wait.idle_ns;
    sum.calls += wait.calls;
    sum.bytes += wait.bytes;
    sum.functions[wait.kind.function] += wait.idle_ns;
    if (wait.kind.other_thread != kNone) sum.holders[wait.kind.other_thread] += wait.idle_ns;
  }
  JoinFiles(&sums);
  JoinThreads(trace, &sums);
  return sums;
}

bool IsInSmallPieces(const WaitSum& sum) {
  return sum.calls >= kPiecesOfAFile && sum.bytes > 0 && sum.bytes <= sum.calls * kSmallPieceBytes;
}

// What is told of waits of one thread for one thing.
class WaitWords {
 public:
  WaitWords(const Trace& trace, const OsCallKind& kind, uint32_t thread, const WaitSum& sum, int64_t window_ns)
      : trace_(trace),
        kind_(kind),
        sum_(sum),
        window_ns_(window_ns),
        thread_(InMessage(ThreadName(trace, thread)) +
                (sum.more_threads == 0 ? "" : " and " + CountOf(sum.more_threads, "more thread"))),
        function_(trace.Text(LargestOf(sum.functions, NameId{}))),
        name_(InMessage(ObjectName(trace, kind)) + AndMore(sum)) {
    if (const uint32_t holder = HolderOfMost(sum); holder != kNone) {
      holder_ = ThreadName(trace, holder);
      is_holder_of_us_ = thread != kNone && trace.threads[holder].process == trace.threads[thread].process;
    }
    if (!sum.coroutine.empty()) {
      from_ = "until " + sum.coroutine + " went on";
    } else if (!sum.place.empty()) {
      from_ = "called from " + sum.place;
    }
  }

  std::optional<Finding> FindingOf(double percent) const {
    if (kind_.object_kind == trace::OsObject::kGil) return Lock(NewFinding("os.gil", percent), "the GIL");
    if (IsHandover(kind_.object_kind) && IsLikeSleep()) return Sleep(NewFinding("os.sleep", percent));
    if (IsHandover(kind_.object_kind)) return Handover(percent);
    if (IsLock(kind_.object_kind)) return Lock(NewFinding("os.lock", percent), name_.empty() ? "a lock" : name_);
    if (kind_.object_kind == trace::OsObject::kTimer) return Sleep(NewFinding("os.sleep", percent));
    if (!IsInOut(kind_.object_kind)) return std::nullopt;
    return IsInSmallPieces(sum_) ? Pieces(NewFinding("os.small_pieces", percent))
                                 : File(NewFinding("os.file", percent));
  }

 private:
  static std::string AndMore(const WaitSum& sum) {
    return sum.more_things == 0 ? "" : " and " + CountOf(sum.more_things, "more file");
  }
  // `did`: "waited for the GIL"; `calls`: how often, and in what.
  Finding Make(Finding finding, const std::string& did, std::string calls) const {
    finding.message = "GPU idle for " + ShareOfTime(sum_.idle_ns, window_ns_, "") + " while " + thread_ + " " + did;
    finding.evidence.push_back(std::move(calls));
    if (!from_.empty()) AddPlace(from_, &finding);
    finding.subject.thread = thread_;
    finding.subject.function = function_;
    finding.gain_ns = sum_.idle_ns;
    finding.basis = "GPU idle time in those calls";
    return finding;
  }
  std::string Calls() const { return CountOf(sum_.calls, "call") + " of " + function_; }
  // What the thread did that had it, or ended the wait.
  void AddHolder(const std::string& verb, const std::string& until, Finding* finding) const {
    if (holder_.empty()) return;
    finding->evidence.push_back(verb + holder_ + (sum_.released.empty() ? "" : until + sum_.released) +
                                (sum_.meanwhile.empty() ? "" : ", " + sum_.meanwhile));
  }
  Finding Lock(Finding finding, const std::string& what) const {
    finding = Make(std::move(finding), "waited for " + what, Calls());
    AddHolder("Held by ", ", released", &finding);
    return finding;
  }
  // Timers of asyncio and time-outs: most of the time nothing came.
  bool IsLikeSleep() const { return holder_.empty() && sum_.workers.empty() && 2 * sum_.ran_out_ns > sum_.all_ns; }
  // Workers that are waited for work all the time: as many more keep up as the rest of the time is shorter.
  void AddLoader(double waited_percent, Finding* finding) const {
    // From here on one percent more or less of waiting asks for a quarter more or fewer workers: too short a rest to
    // say.
    constexpr double kMostWaitedPercent = 95;
    const LoaderWorkers workers = LoaderWorkersOf(trace_);
    const bool has_core_left = workers.cores == 0 || workers.at_once < workers.cores;
    finding->advice = std::string(has_core_left ? "Give the DataLoader more workers (num_workers), let each"
                                                : "Let each worker of the DataLoader") +
                      " work further ahead (prefetch_factor), keep them from one epoch to the next "
                      "(persistent_workers=True), or do less for each sample.";
    if (std::string anew = workers.StartedAnew(); !anew.empty()) finding->evidence.push_back(std::move(anew));
    if (workers.at_once == 0 || waited_percent > kMostWaitedPercent) return;
    const int64_t working = has_core_left ? workers.at_once : workers.cores;
    finding->advice += " It has " + CountOf(workers.at_once, "worker") + "; " +
                       workers.KeepUp(static_cast<double>(working) / (1 - waited_percent / 100));
  }

  bool IsDataLoader() const { return holder_.starts_with("pt_data"); }  // as PyTorch calls its threads
  // One of many semaphores is not worth its number.
  std::string MainCall() const {
    if (!sum_.word.empty()) return sum_.word;
    return 2 * sum_.main_ns >= sum_.idle_ns ? CallName(trace_, sum_.main) : function_;
  }
  Finding Handover(double percent) const {
    const std::string_view whom = holder_.starts_with("pt_data")                       ? "PyTorch's DataLoader"
                                  : sum_.main.object_kind == trace::OsObject::kProcess ? "another process"
                                  : sum_.main.object_kind == trace::OsObject::kSocket  ? "another process or machine"
                                                                                       : "another thread or process";
    Finding finding = Make(NewFinding("os.handover", percent), "waited for " + std::string(whom),
                           CountOf(sum_.calls, "wait") + ", most of the time in " + MainCall());
    AddHolder("Woken by ", "", &finding);
    if (!sum_.workers.empty()) finding.evidence.push_back(sum_.workers);
    if (IsDataLoader()) {
      AddLoader(percent, &finding);
    } else if (is_holder_of_us_ && sum_.workers.empty()) {
      finding.advice =
          "See what the other thread does meanwhile: speed it up, split its work across threads, or let it run one "
          "item ahead, so that the next item is ready while the GPU processes the current one.";
    }
    return finding;
  }
  Finding Sleep(Finding finding) const {
    const std::string ran_out = FormatPercent(PercentOf(sum_.ran_out_ns, sum_.all_ns));
    return Make(std::move(finding), "slept",
                Calls() + (IsHandover(kind_.object_kind)
                               ? ", with " + ran_out + " of their time in calls that ended by their time-out"
                               : ""));
  }
  std::string Verb() const { return function_.find("write") != std::string::npos ? "wrote " : "read "; }
  Finding Pieces(Finding finding) const {
    const double piece_bytes = static_cast<double>(sum_.bytes) / static_cast<double>(sum_.calls);
    return Make(std::move(finding), Verb() + name_ + " in pieces of " + FormatBytes(piece_bytes), Calls());
  }
  Finding File(Finding finding) const {
    return Make(std::move(finding), "waited for " + (name_.empty() ? "a file" : name_),
                Calls() + (sum_.bytes > 0 ? ", " + FormatBytes(sum_.bytes) : ""));
  }

  const Trace& trace_;
  const OsCallKind& kind_;
  const WaitSum& sum_;
  const int64_t window_ns_;
  const std::string thread_, function_, name_;
  std::string holder_, from_;
  bool is_holder_of_us_ = false;  // a thread of the same process
};

}  // namespace

std::vector<Finding> OsFindings(const AnalysisInput& input, CallPlaces* places) {
  const int64_t window_ns = input.shared().window_ns();
  std::vector<Finding> findings;
  WaitSums sums = SumsOfThings(input.trace(), input.causes().of_host(input));
  std::erase_if(sums, [&](const auto& entry) {
    return entry.second.calls == 0 || PercentOf(entry.second.idle_ns, window_ns) < kPercentInWaits;
  });
  CountRanOut(input.trace(), &sums);
  SetPlaces(input.trace(), JudgedTimeOf(input), places, &sums);
  SetActivities(input, places, &sums);
  for (const auto& [key, sum] : sums) {
    const double percent = PercentOf(sum.idle_ns, window_ns);
    std::optional<Finding> finding = WaitWords(input.trace(), key.first, key.second, sum, window_ns).FindingOf(percent);
    if (finding) findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace gprof
