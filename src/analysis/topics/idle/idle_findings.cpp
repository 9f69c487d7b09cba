#include "analysis/topics/idle/idle_findings.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/causes/launch_split.h"
#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/calls/code_loads.h"
#include "analysis/facts/host/loader_workers.h"
#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "base/units.h"

namespace gprof {
namespace {

// Below these nothing is said: less than that is not worth a line in a report.
constexpr double kIdlePercentWorthAFinding = 10;    // of the window, for idle time as a whole
constexpr double kCausePercentWorthAFinding = 5;    // of the window, for each cause
constexpr double kPatternPercentWorthAFinding = 5;  // of the window
constexpr int64_t kLongestLatencyNs = 20'000;       // of starting what is queued, mean over the gaps
constexpr int64_t kGapsOfAPattern = 10;             // fewer may be chance
constexpr size_t kIterationsToJudge = 10;

struct MainPlace {
  std::string name;
  int64_t idle_ns = 0;
  std::string details{};  // what more is known of it, behind its name
};

// Where most of the time was: ties go to the name that sorts first.
void Offer(MainPlace* best, std::string name, int64_t idle_ns) {
  if (idle_ns > best->idle_ns || (idle_ns == best->idle_ns && idle_ns > 0 && name < best->name)) {
    *best = {std::move(name), idle_ns};
  }
}

// The function of the operating system that took most of it, with how often and how long. What it waited for is worth a
// word where it was one thing for the most part.
MainPlace MainWait(const Trace& trace, const HostGaps& host) {
  std::map<NameId, IdleInWait> functions;
  std::map<NameId, const IdleInWait*> main_waits;
  for (const IdleInWait& wait : host.judged_waits) {
    IdleInWait& function = functions[wait.kind.function];
    function.idle_ns += wait.idle_ns, function.calls += wait.calls;
    main_waits.try_emplace(wait.kind.function, &wait);  // they come with the longest first
  }
  const auto most = std::ranges::max_element(
      functions, [](const auto& a, const auto& b) { return a.second.idle_ns < b.second.idle_ns; });
  if (most == functions.end()) return {};
  const auto& [function, sum] = *most;
  const IdleInWait& main = *main_waits[function];
  const bool is_one_thing = 2 * main.idle_ns >= sum.idle_ns;
  OsCallKind call;
  call.function = function;
  MainPlace place{CallName(trace, is_one_thing ? main.kind : call), sum.idle_ns};
  if (sum.calls > 0) {
    place.details = " (" + CountOf(sum.calls, "call") + ", " +
                    FormatNs(static_cast<double>(sum.idle_ns) / static_cast<double>(sum.calls)) + " each)";
  }
  const std::string holder = is_one_thing ? HolderName(trace, main.kind) : "";
  if (!holder.empty()) place.details += ", waiting for " + holder;
  return place;
}

MainPlace MainMpiCall(const Trace& trace, const HostGaps& host) {
  std::map<NameId, int64_t> functions;
  for (const IdleInMpi& idle : host.mpi) functions[idle.function] += idle.idle_ns;
  MainPlace best;
  for (const auto& [function, idle_ns] : functions) Offer(&best, std::string(trace.Text(function)), idle_ns);
  return best;
}

MainPlace PlaceWithMost(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host, Cause cause) {
  const Trace& trace = input.trace();
  if (cause == Cause::kOs) return MainWait(trace, host);
  if (cause == Cause::kMpi) return MainMpiCall(trace, host);
  MainPlace best;
  if (cause == Cause::kHost) {
    for (uint32_t i = 0; i < trace.strings.size(); ++i) {
      if (summary.host_ns()[i] > 0) Offer(&best, PathName(trace, NameId{i}), summary.host_ns()[i]);
    }
  } else {
    for (const auto& [name, split] : summary.by_call()) Offer(&best, std::string(trace.Text(name)), split[cause]);
  }
  return best;
}

// Where most of the time of a cause was: in few words in the message, and with its share as evidence.
void AddWhere(const Trace& trace, const MainPlace& place, int64_t cause_ns, Finding* finding) {
  if (place.idle_ns == 0) return;
  const bool is_outside = place.name == PathName(trace, NameId{});
  if (is_outside && trace.ranges.empty()) return;  // where there are none, that says nothing
  const bool is_all = place.idle_ns == cause_ns, is_most = 2 * place.idle_ns >= cause_ns;
  const std::string end = (is_all ? ", all in " : ", mostly in ") + InMessage(place.name);
  const bool is_said = is_most && !is_outside && HasRoomFor(end, *finding);
  if (is_said) finding->message += end;
  if (is_said && is_all && place.details.empty()) return;
  finding->evidence.push_back((is_all ? "All" : FormatPercent(PercentOf(place.idle_ns, cause_ns))) + " of this time " +
                              (is_outside ? "outside any NVTX range" : "in " + place.name) + place.details);
}

// Contexts are made and destroyed, which takes longer than loading code into them.
bool AreContexts(const Trace& trace, const IdleSummary& summary, Cause cause, const MainPlace& place) {
  if (cause != Cause::kLoad) return false;
  const bool has_reset = std::ranges::any_of(summary.by_call(), [&](const auto& of) {
    return of.second[Cause::kLoad] > 0 && trace.Text(of.first).find("Reset") != std::string_view::npos;
  });
  return has_reset || IsAboutContexts(place.name);
}

// What happened then: "gpu0 idle for <share> of <time>: <verb>".
std::string VerbOf(const Trace& trace, Cause cause) {
  if (cause == Cause::kMemory && !trace.managed_memory.empty()) return "memory was allocated, freed or moved";
  return std::string(InfoOf(cause).verb);
}

// What is judged: all of the window, or the part of it that comes again and again.
struct Judged {
  Interval time;
  int64_t window_ns = 0;
  int64_t idle_ns = 0;
  CauseSplit split;  // of that, without what comes once
  std::string when;  // "" or that of WhenOf
  bool comes_once = false;
  int64_t before_ns = 0;          // idle time before what is judged
  bool is_startup_still = false;  // most of what is judged is first launches, and one start-up with what came before
  size_t iterations = 0;          // see SteadyTime
  LaunchSplit launches{};
  std::vector<Interval> pauses{};  // gaps with findings of their own
};

Judged JudgedOf(const IdleSummary& summary, const SteadyIdle* steady) {
  const DeviceIdle sum = summary.Sum();
  if (steady == nullptr) return {{INT64_MIN, INT64_MAX}, sum.window_ns, sum.split.Total(), sum.split, ""};
  Judged judged{steady->time, steady->window_ns, steady->split.Total(), steady->split, WhenOf(steady->step)};
  judged.before_ns = steady->before.Total();
  judged.iterations = steady->iterations;
  return judged;
}

// Three quarters of what the host did were steps from one launch to the next: nothing there could be prepared earlier.
bool IsIssuedInSmallSteps(const IdleSummary& summary, int64_t host_ns) {
  return summary.GapsWith(Cause::kHost) >= kGapsOfAPattern && 4 * summary.short_host_ns() >= 3 * host_ns;
}

double NsPerGap(const IdleSummary& summary, Cause cause) {
  return static_cast<double>(summary.Sum().split[cause]) /
         static_cast<double>(std::max<int64_t>(1, summary.GapsWith(cause)));
}

// What to do, where the cause alone does not say it.
std::string AdviceFor(const Trace& trace, const IdleSummary& summary, Cause cause, bool is_in_small_steps,
                      bool are_contexts) {
  if (are_contexts) {
    return "Keep one context for the whole run: remove cudaDeviceReset, after which the next call has to create a "
           "context and load all code again.";
  }
  if (is_in_small_steps) {
    return "The host issues work in small steps, and the GPU is done before the next one arrives: launch a whole step "
           "as a CUDA graph" +
           std::string(IsAnyInterpreted(trace) ? " (torch.compile(mode=\"reduce-overhead\"), torch.cuda.graph)" : "") +
           ", fuse kernels, or use larger batches.";
  }
  if (cause == Cause::kQueue && NsPerGap(summary, cause) > kLongestLatencyNs) {
    const std::string graphs = GraphsRecordedInPart(trace);
    if (!graphs.empty()) return graphs;
    return FormatNs(NsPerGap(summary, cause)) +
           " per gap is more than launch latency: the work waited for something the trace does not show, such as the "
           "other GPU of a copy. See the operations before and after the longest gaps.";
  }
  return std::string(InfoOf(cause).advice);
}

// `elsewhere_ns`: of that cause, what findings about first launches and pauses say.
Finding CauseFinding(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host, const Judged& judged,
                     Cause cause, int64_t elsewhere_ns) {
  const Trace& trace = input.trace();
  const int64_t cause_ns = judged.split[cause] - elsewhere_ns;
  const std::string name(InfoOf(cause).name);
  Finding finding = NewFinding("idle." + name, PercentOf(cause_ns, judged.window_ns));
  finding.subject.causes = {name};
  // Places are known of the whole window: they say something of the time that is judged where that is most of it. Those
  // of the operating system are known of that time alone.
  const bool is_most_of_it = 2 * cause_ns >= summary.Sum().split[cause];
  const MainPlace place =
      is_most_of_it || cause == Cause::kOs ? PlaceWithMost(input, summary, host, cause) : MainPlace{};
  const int64_t placed_ns = cause == Cause::kOs ? judged.split[cause] : summary.Sum().split[cause];
  if (place.idle_ns > 0) (cause == Cause::kHost ? finding.subject.range : finding.subject.function) = place.name;
  const bool are_contexts = AreContexts(trace, summary, cause, place);
  finding.message = NameOfUsedDevices(trace) + " idle for " + ShareOfTime(cause_ns, judged.window_ns, judged.when) +
                    ": " + (are_contexts ? "CUDA was creating or destroying contexts" : VerbOf(trace, cause));
  const bool is_in_small_steps = cause == Cause::kHost && is_most_of_it && IsIssuedInSmallSteps(summary, cause_ns);
  if (is_in_small_steps) {
    finding.evidence.push_back(CountOf(summary.GapsWith(cause), "gap") + " of " + FormatNs(NsPerGap(summary, cause)) +
                               " on average");
  }
  const IdleSamples sampled =
      cause == Cause::kHost ? SamplesOf(trace, host, {judged.time}, judged.pauses) : IdleSamples{};
  if (cause == Cause::kHost) AddMainFunction(input, host, sampled, &finding);
  AddWhere(trace, place, placed_ns, &finding);
  finding.advice = AdviceFor(trace, summary, cause, is_in_small_steps, are_contexts);
  if (cause == Cause::kHost && LoadsData(trace, sampled)) {
    finding.advice = LoaderAdvice(trace, cause_ns, judged.window_ns);
  }
  if (cause != Cause::kUnknown && cause != Cause::kProfiler) {
    finding.gain_ns = cause_ns;
    finding.basis =
        (elsewhere_ns > 0 ? "the other idle time with this cause" : "all idle time with this cause") + judged.when;
  }
  finding.evidence.push_back("All idle time: " + FormatPercent(PercentOf(judged.idle_ns, judged.window_ns)) + " of " +
                             FormatNs(judged.window_ns) + judged.when);
  return finding;
}

// Kernels that are launched for the first time in the time that is judged: their code is loaded by the launching call,
// or compiled and loaded before it. How bad that is depends on how much of the run comes once, with what came before.
void AddLateFirstLaunches(const Judged& judged, const IdleSummary& summary, std::vector<Finding>* findings) {
  const LaunchSplit& split = judged.launches;
  const Preparation before = split.OfFirsts();
  const double percent = PercentOf(split.FirstsNs(), judged.window_ns);
  if (percent < kCausePercentWorthAFinding || judged.is_startup_still) return;
  const int64_t once_ns = split.FirstsNs() + judged.before_ns;
  Finding first = NewFinding("startup.first_launches", PercentOf(once_ns, summary.Sum().window_ns));
  first.message = "First launches: GPU idle for " + ShareOfTime(split.FirstsNs(), judged.window_ns, judged.when) +
                  " before kernels ran for the first time";
  const auto add = [&](int64_t part_ns, Cause cause, const std::string& what) {
    if (part_ns == 0) return;
    first.evidence.push_back(FormatNs(part_ns) + what);
    first.subject.causes.emplace_back(InfoOf(cause).name);
  };
  add(split.first_ns, Cause::kLaunch, " in " + CountOf(split.firsts, "launch call") + " that loaded code");
  add(before.load_ns, Cause::kLoad, " of loading code");
  add(before.OwnNs(), Cause::kHost,
      " of host code" + std::string(before.os_ns > 0 ? " and waits" : "") +
          ", such as compiling kernels or importing modules, in " + CountOf(before.gaps, "gap"));
  if (before.os_ns > 0) first.subject.causes.emplace_back(InfoOf(Cause::kOs).name);
  first.gain_ns = split.FirstsNs();
  first.basis = "all of this idle time";
  findings->push_back(std::move(first));
}

// Starting late what had been launched, and launching itself: a CUDA graph is for the latter alone.
void AddLaunchCause(const Judged& judged, Finding finding, std::vector<Finding>* findings) {
  const LaunchSplit& split = judged.launches;
  if (PercentOf(split.call_ns + split.after_ns, judged.window_ns) < kCausePercentWorthAFinding) return;
  finding.evidence.insert(
      finding.evidence.begin(),
      FormatNs(split.call_ns) + " in the launch calls, " + FormatNs(split.after_ns) + " after they had returned" +
          (split.first_ns == 0 ? "" : ", " + FormatNs(split.first_ns) + " in first launches, which load code"));
  if (2 * split.late_ns > split.call_ns + split.after_ns) {
    finding.advice =
        "The launches had returned, and the GPU started the work late: see what it waited for (another process on this "
        "GPU, earlier work in the stream, power saving). Queueing more work in advance hides it.";
  }
  finding.gain_ns -= split.first_ns;
  findings->push_back(std::move(finding));
}

// Of the host's own code: the few long gaps that have most of it, where the work of the GPU comes again far more often.
struct Pauses {
  int64_t count = 0, longest_ns = 0, sum_ns = 0;
  std::vector<Interval> gaps{};
};

// `own_ns`: of the host's own code, all that is judged.
Pauses PausesOf(const Judged& judged, int64_t own_ns) {
  constexpr int64_t kAsLong = 4;  // as the longest, that part of it at least
  constexpr int64_t kSeldom = 4;  // the work of the GPU comes again that often for each of them
  if (judged.iterations < kIterationsToJudge) return {};
  Pauses pauses;
  for (const auto& gap : judged.launches.own_gaps) pauses.longest_ns = std::max(pauses.longest_ns, gap.own_ns);
  for (const auto& gap : judged.launches.own_gaps) {
    if (kAsLong * gap.own_ns < pauses.longest_ns) continue;
    ++pauses.count;
    pauses.sum_ns += gap.own_ns;
    pauses.gaps.push_back(gap.time);
  }
  const bool are_seldom =
      pauses.count < kGapsOfAPattern && kSeldom * pauses.count <= static_cast<int64_t>(judged.iterations);
  return are_seldom && 2 * pauses.sum_ns >= own_ns ? pauses : Pauses{};
}

// Where the host generates or reads the input of kernels that take no time, that is what the run is, and preparing CUDA
// is not. What interpreters do until then is importing modules and compiling for the most part.
int64_t OwnCodeBefore(const AnalysisInput& input, const SteadyIdle& steady) {
  if (!steady.step.empty() || IsAnyInterpreted(input.trace())) return 0;
  const LaunchSplit before = SplitLaunches(input, {INT64_MIN, steady.time.start_ns});
  const int64_t own_ns = steady.before[Cause::kHost] - before.OfFirsts().host_ns;
  return 2 * own_ns >= steady.before.Total() ? own_ns : 0;
}

// "gpu0 idle for 30% of the time after warm-up (1.2 s)": while the host ran its own code, where it does so seldom.
Finding PauseFinding(const AnalysisInput& input, int64_t pause_ns, int64_t window_ns, const std::string& when) {
  Finding finding = NewFinding("idle.pauses", PercentOf(pause_ns, window_ns));
  finding.message = NameOfUsedDevices(input.trace()) + " idle for " + ShareOfTime(pause_ns, window_ns, when);
  finding.gain_ns = pause_ns, finding.subject.causes = {std::string(InfoOf(Cause::kHost).name)};
  return finding;
}

void AddOwnCodeBefore(const AnalysisInput& input, const HostGaps& host, const SteadyIdle& steady, int64_t own_ns,
                      int64_t window_ns, std::vector<Finding>* findings) {
  Finding finding = PauseFinding(input, own_ns, window_ns, "");
  AddMainFunction(input, host, SamplesOf(input.trace(), host, {{INT64_MIN, steady.time.start_ns}}), &finding);
  finding.message += ": the host ran its own code before most kernels had run";
  finding.advice =
      "See what the program does there (CPU samples). Where it generates or reads input: use several threads, or "
      "the GPU (cuRAND for random numbers), or let the GPU begin with the first part.";
  finding.basis = "all of this idle time";
  findings->push_back(std::move(finding));
}

// Saving a model or evaluating it is another thing to mend than what the host does in each step.
void AddPauses(const AnalysisInput& input, const HostGaps& host, const Judged& judged, const Pauses& pauses,
               std::vector<Finding>* findings) {
  if (PercentOf(pauses.sum_ns, judged.window_ns) < kCausePercentWorthAFinding) return;
  Finding finding = PauseFinding(input, pauses.sum_ns, judged.window_ns, judged.when);
  const IdleSamples sampled = SamplesOf(input.trace(), host, pauses.gaps);
  AddMainFunction(input, host, sampled, &finding);
  finding.message += ": the host ran its own code in " + CountOf(pauses.count, "long pause");
  if (pauses.count > 1) finding.evidence.push_back("Longest pause: " + FormatNs(pauses.longest_ns));
  if (StartsProcesses(sampled)) {
    if (std::string anew = LoaderWorkersOf(input.trace()).StartedAnew(); !anew.empty())
      finding.evidence.push_back(std::move(anew));
    finding.advice =
        IsAnyInterpreted(input.trace())
            ? "The program starts processes there. A DataLoader does so for each epoch and each evaluation: "
              "persistent_workers=True keeps its workers, and one loader for all evaluations makes them once."
            : "The program starts processes there: start them once and keep them.";
  }
  finding.basis = "all of these pauses";
  findings->push_back(std::move(finding));
}

void AddCauses(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host, Judged judged,
               std::vector<Finding>* findings) {
  if (PercentOf(judged.split.Total(), judged.window_ns) < kIdlePercentWorthAFinding) return;
  const Cause first = judged.split.Largest();
  if (!judged.comes_once) AddLateFirstLaunches(judged, summary, findings);
  const Preparation of_firsts = judged.comes_once ? Preparation{} : judged.launches.OfFirsts();
  const Pauses pauses = PausesOf(judged, judged.split[Cause::kHost] - of_firsts.host_ns);
  AddPauses(input, host, judged, pauses, findings);
  judged.pauses = pauses.gaps;
  const auto add = [&](Cause cause) {
    const int64_t elsewhere_ns = cause == Cause::kHost   ? of_firsts.host_ns + pauses.sum_ns
                                 : cause == Cause::kOs   ? of_firsts.os_ns
                                 : cause == Cause::kLoad ? of_firsts.load_ns
                                                         : 0;
    const double percent = PercentOf(judged.split[cause] - elsewhere_ns, judged.window_ns);
    if (elsewhere_ns > 0 && percent < kCausePercentWorthAFinding) return;
    Finding finding = CauseFinding(input, summary, host, judged, cause, elsewhere_ns);
    if (cause == Cause::kLaunch) return AddLaunchCause(judged, std::move(finding), findings);
    findings->push_back(std::move(finding));
  };
  add(first);
  ForEachCause([&](Cause cause) {
    if (cause == first || PercentOf(judged.split[cause], judged.window_ns) < kCausePercentWorthAFinding) return;
    add(cause);
  });
}

// "host 30.3 ms, load 1.2 ms", where each is of some weight, as evidence. The names become causes of the finding.
void AddParts(const CauseSplit& split, int64_t all_ns, Finding* finding) {
  std::string parts;
  ForEachCause([&](Cause cause) {
    if (PercentOf(split[cause], all_ns) < kCausePercentWorthAFinding) return;
    parts +=
        (parts.empty() ? "Idle by cause: " : ", ") + std::string(InfoOf(cause).name) + " " + FormatNs(split[cause]);
    finding->subject.causes.emplace_back(InfoOf(cause).name);
  });
  if (!parts.empty()) finding->evidence.push_back(std::move(parts));
}

// What came again took next to none of the window, or little of it and less time than CUDA's own start does. Steps that
// a program names are what it is for, however short.
bool IsHardlyAnything(const SteadyIdle& steady, int64_t window_ns) {
  constexpr int64_t kShortNs = 20'000'000;
  constexpr double kFewPercent = 10, kHardlyAnyPercent = 2;
  const double percent = PercentOf(steady.window_ns, window_ns);
  return steady.step.empty() && percent < (steady.window_ns < kShortNs ? kFewPercent : kHardlyAnyPercent);
}

// How bad it is depends on the time in which no kernel ran: parameters that are copied first are start-up as well.
// Where work came again often enough to be judged, start-up is not what the run is for, but without steps code that
// CUDA loads and parameters still count: how much of the host's own code belongs to start-up nobody knows then.
void AddStartUp(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host, const SteadyIdle& steady,
                const Judged& judged, std::vector<Finding>* findings) {
  const int64_t window_ns = summary.Sum().window_ns, late_ns = judged.launches.FirstsNs();
  const bool is_what_the_run_is =
      steady.iterations < kIterationsToJudge || IsHardlyAnything(steady, window_ns) || judged.is_startup_still;
  CauseSplit once = steady.before;
  if (PercentOf(once.Total(), window_ns) < kIdlePercentWorthAFinding) return;
  const int64_t own_ns = is_what_the_run_is ? OwnCodeBefore(input, steady) : 0;
  if (PercentOf(own_ns, window_ns) >= kIdlePercentWorthAFinding) {
    AddOwnCodeBefore(input, host, steady, own_ns, window_ns, findings);
    once[Cause::kHost] -= own_ns;
  }
  const int64_t once_ns = once.Total();
  if (PercentOf(once_ns, window_ns) < kIdlePercentWorthAFinding) return;
  const int64_t loaded_ns =
      steady.step.empty() ? steady.before[Cause::kLoad] + steady.before[Cause::kLaunch] + steady.copied_before_ns : 0;
  const int64_t counted_ns = is_what_the_run_is ? once_ns + steady.copied_before_ns : loaded_ns;
  Finding finding = NewFinding("startup.first_launches", PercentOf(counted_ns + late_ns, window_ns));
  finding.message = "Warm-up: GPU idle for " + ShareOfTime(once_ns, window_ns, "") + " " +
                    (steady.step.empty() ? "until the kernels had run once"
                                         : "before the measured \"" + InMessage(steady.step) + "\" iterations");
  AddParts(once, once_ns, &finding);
  if (PercentOf(steady.copied_before_ns, window_ns) >= kCausePercentWorthAFinding) {
    finding.evidence.push_back("Copies took " + FormatNs(steady.copied_before_ns));
  }
  finding.gain_ns = once_ns;
  finding.basis = "all idle time during warm-up";
  if (judged.is_startup_still) {
    finding.evidence.push_back("Then " + FormatNs(late_ns) + ", " +
                               FormatPercent(PercentOf(late_ns, judged.window_ns)) +
                               " of the rest, before kernels that ran for the first time later");
    finding.gain_ns += late_ns;
    finding.basis += " and before these kernels";
  }
  findings->push_back(std::move(finding));
}

// Where nothing comes again, what the host does is setting up what it runs: how long that takes says nothing of a run
// with more to do. Only where CUDA loaded no code for long, the program did something of its own.
void TakeWhatComesOnce(Judged* judged, std::vector<Finding>* findings) {
  constexpr Cause kOfTheHost[] = {Cause::kLaunch, Cause::kMemory, Cause::kLoad, Cause::kApi, Cause::kOs, Cause::kHost};
  judged->comes_once = true;
  CauseSplit once;
  for (const Cause cause : kOfTheHost) std::swap(once[cause], judged->split[cause]);
  const auto give_back = [&](Cause cause, int64_t ns) {
    judged->split[cause] = std::min(ns, once[cause]);
    once[cause] -= judged->split[cause];
  };
  give_back(Cause::kHost, judged->launches.without_loading.host_ns);
  give_back(Cause::kOs, judged->launches.without_loading.os_ns);
  const double percent = PercentOf(once.Total(), judged->window_ns);
  if (percent < kIdlePercentWorthAFinding) return;
  Finding finding = NewFinding("startup.first_launches", percent);
  finding.message =
      "No kernel ran twice: GPU idle for " + ShareOfTime(once.Total(), judged->window_ns, "") + " around one-time work";
  AddParts(once, once.Total(), &finding);
  finding.gain_ns = once.Total();
  finding.basis = "all of this idle time";
  findings->push_back(std::move(finding));
}

bool IsWorthAFinding(const GapPattern& pattern, int64_t window_ns) {
  return pattern.gaps >= kGapsOfAPattern && PercentOf(pattern.idle_ns, window_ns) >= kPatternPercentWorthAFinding;
}

std::string PerGap(int64_t ns, int64_t gaps) {
  return FormatNs(static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(gaps, 1)));
}

void AddPatterns(const Trace& trace, const IdleSummary& summary, int64_t window_ns, std::vector<Finding>* findings) {
  const GapPattern& drained = summary.drained_by_sync();
  if (!IsWorthAFinding(drained, window_ns)) return;
  Finding finding = NewFinding("sync.drains");
  MainPlace wait;
  for (const auto& [function, split] : summary.by_call()) {
    Offer(&wait, std::string(trace.Text(function)), split[Cause::kSync]);
  }
  finding.message = "GPU idle for " + ShareOfTime(drained.idle_ns, summary.Sum().window_ns, "") +
                    ": it ran out of work " + CountOf(drained.gaps, "time") + " while the host waited" +
                    (wait.idle_ns > 0 ? ", mostly in " + InMessage(wait.name) : "");
  finding.evidence.push_back(PerGap(drained.idle_ns, drained.gaps) +
                             " idle each time until the wait returned and new work arrived");
  finding.gain_ns = drained.idle_ns;
  finding.basis =
      "idle time in those waits, in the launches right after them, and in host code that could have run during the "
      "wait";
  finding.subject.causes = {std::string(InfoOf(Cause::kSync).name)};
  findings->push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> IdleFindings(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host,
                                  const SteadyIdle* steady) {
  std::vector<Finding> findings;
  Judged judged = JudgedOf(summary, steady);
  judged.launches = SplitLaunches(input, judged.time);
  judged.is_startup_still = 2 * judged.launches.FirstsNs() >= judged.window_ns &&
                            PercentOf(judged.before_ns, summary.Sum().window_ns) >= kIdlePercentWorthAFinding;
  if (input.shared().judged(input).comes_once) TakeWhatComesOnce(&judged, &findings);
  AddCauses(input, summary, host, judged, &findings);
  if (steady != nullptr) AddStartUp(input, summary, host, *steady, judged, &findings);
  AddPatterns(input.trace(), summary, judged.window_ns, &findings);
  RankFindings(&findings);
  return findings;
}

}  // namespace gprof
