// Where in their code kernels spend their time, by samples of their instructions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

// Warps that went on: no reason to wait.
constexpr std::string_view kIssued = "selected";

using Reasons = std::map<std::string_view, uint64_t>;

uint64_t SumOf(const Reasons& reasons) {
  return std::accumulate(reasons.begin(), reasons.end(), uint64_t{0},
                         [](uint64_t sum, const auto& reason) { return sum + reason.second; });
}

struct CodePlace {
  std::string kernel;
  std::string_view file;
  uint32_t line = 0;
  uint64_t cubin = 0, offset = 0;  // of an instruction
  auto Key() const { return std::tie(kernel, file, line, cubin, offset); }
  bool operator<(const CodePlace& other) const { return Key() < other.Key(); }
};

struct HotSpot {
  CodePlace place;
  uint64_t samples = 0;
  Reasons reasons;
};

// Those with most samples first.
template <class F>
std::vector<HotSpot> HotSpots(const Trace& trace, F&& place_of) {
  std::map<CodePlace, Reasons> places;
  for (const PcSample& sample : trace.pc_samples) places[place_of(sample)][trace.Text(sample.reason)] += sample.samples;
  std::vector<HotSpot> spots;
  for (auto& [place, reasons] : places) spots.push_back({place, SumOf(reasons), std::move(reasons)});
  std::ranges::stable_sort(spots, std::greater(), &HotSpot::samples);
  return spots;
}

std::string WordsOf(std::string_view reason) {
  std::string words(reason);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// "long scoreboard 61%, wait 20%"
std::string TopReasons(const HotSpot& spot) {
  constexpr std::size_t kMost = 2;
  constexpr double kLeastShare = 5;
  std::vector<std::pair<std::string_view, uint64_t>> reasons(spot.reasons.begin(), spot.reasons.end());
  std::erase_if(reasons, [](const auto& reason) { return reason.first == kIssued; });
  std::ranges::stable_sort(reasons, std::greater(), [](const auto& x) { return x.second; });
  std::string text;
  for (std::size_t i = 0; i < reasons.size() && i < kMost; ++i) {
    const double percent = PercentOf(reasons[i].second, spot.samples);
    if (percent < kLeastShare) break;
    text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", WordsOf(reasons[i].first), percent);
  }
  return text;
}

Cell LineOf(const CodePlace& place) {
  if (place.line == 0) return {};
  const std::size_t slash = place.file.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? place.file : place.file.substr(slash + 1);
  return fmt::format("{}:{}", name, place.line);
}

class Source {
 public:
  explicit Source(const Trace& trace) : trace_(trace) {
    for (const PcSample& sample : trace.pc_samples) all_ += sample.samples;
    for (const Instruction& instruction : trace.instructions)
      instructions_[{instruction.cubin, instruction.offset, instruction.kernel.value}] = instruction.text;
    for (const PcSample& sample : trace.pc_samples) {
      if (names_.try_emplace(sample.kernel.value).second)
        names_[sample.kernel.value] = KernelName(trace, sample.kernel);
      of_kernel_[names_[sample.kernel.value]] += sample.samples;
    }
  }

  Table Kernels(uint32_t max_rows) const {
    Table table{"source_kernels",
                "Samples by kernel",
                {{"kernel", "Kernel", Unit::kText},
                 {"samples", "Samples", Unit::kCount},
                 {"samples_percent", "Of all", Unit::kPercent, false, ColumnRole::kOwn},
                 {"issued_percent", "Issued", Unit::kPercent, false, ColumnRole::kOwn},
                 {"stalls", "Warps wait for", Unit::kText}},
                {},
                "Warps of the kernel sampled at an instruction; \"issued\": in the cycle of the sample."};
    for (const HotSpot& spot : HotSpots(trace_, [&](const PcSample& s) { return CodePlace{NameOf(s), {}, 0, 0, 0}; })) {
      table.rows.push_back(
          {spot.place.kernel, Count(spot.samples), PercentOf(spot.samples, all_), Issued(spot), TopReasons(spot)});
    }
    CutRows(&table, max_rows);
    return table;
  }

  Table Lines(uint32_t max_rows) const {
    Table table{"source_lines",
                "Source lines",
                {{"line", "Line", Unit::kText},
                 {"kernel", "Kernel", Unit::kText},
                 {"samples", "Samples", Unit::kCount, true},
                 {"kernel_percent", "Of kernel", Unit::kPercent},
                 {"issued_percent", "Issued", Unit::kPercent, true, ColumnRole::kOwn},
                 {"stalls", "Warps wait for", Unit::kText},
                 {"path", "File", Unit::kText, true}},
                {},
                {}};
    uint64_t without_line = 0;
    for (const HotSpot& spot : HotSpots(trace_, [&](const PcSample& s) {
           return CodePlace{NameOf(s), trace_.Text(s.file), s.line, 0, 0};
         })) {
      if (spot.place.line == 0) {
        without_line += spot.samples;
        continue;
      }
      table.rows.push_back({LineOf(spot.place), spot.place.kernel, Count(spot.samples), OfKernel(spot), Issued(spot),
                            TopReasons(spot), std::string(spot.place.file)});
    }
    if (without_line > 0)
      table.note = fmt::format("{} of the samples have no line: that code was built without -lineinfo.",
                               FormatPercent(PercentOf(without_line, all_)));
    CutRows(&table, max_rows);
    return table;
  }

  Table Instructions(uint32_t max_rows) const {
    Table table{"source_instructions",
                "Instructions",
                {{"instruction", "Instruction", Unit::kText},
                 {"kernel", "Kernel", Unit::kText},
                 {"offset", "Offset", Unit::kText, true},
                 {"line", "Line", Unit::kText},
                 {"samples", "Samples", Unit::kCount, true},
                 {"kernel_percent", "Of kernel", Unit::kPercent},
                 {"issued_percent", "Issued", Unit::kPercent, true, ColumnRole::kOwn},
                 {"stalls", "Warps wait for", Unit::kText}},
                {},
                trace_.instructions.empty() ? "Instructions are shown if nvdisasm of a CUDA Toolkit was found." : ""};
    for (const HotSpot& spot : HotSpots(trace_, [&](const PcSample& s) {
           return CodePlace{NameOf(s), trace_.Text(s.file), s.line, s.cubin, s.offset};
         })) {
      table.rows.push_back({TextOf(spot.place), spot.place.kernel, fmt::format("0x{:04x}", spot.place.offset),
                            LineOf(spot.place), Count(spot.samples), OfKernel(spot), Issued(spot), TopReasons(spot)});
    }
    CutRows(&table, max_rows);
    return table;
  }

 private:
  static Cell Count(uint64_t samples) { return static_cast<int64_t>(samples); }
  static double Issued(const HotSpot& spot) {
    const auto at = spot.reasons.find(kIssued);
    return PercentOf(at == spot.reasons.end() ? 0 : at->second, spot.samples);
  }
  const std::string& NameOf(const PcSample& sample) const { return names_.at(sample.kernel.value); }
  double OfKernel(const HotSpot& spot) const { return PercentOf(spot.samples, of_kernel_.at(spot.place.kernel)); }

  Cell TextOf(const CodePlace& place) const {
    for (const auto& [id, name] : names_) {
      if (name != place.kernel) continue;
      const auto at = instructions_.find({place.cubin, place.offset, id});
      if (at != instructions_.end()) return std::string(trace_.Text(at->second));
    }
    return {};
  }

  const Trace& trace_;
  uint64_t all_ = 0;
  std::map<std::tuple<uint64_t, uint64_t, uint32_t>, NameId> instructions_;
  std::unordered_map<uint32_t, std::string> names_;
  std::map<std::string, uint64_t> of_kernel_;
};

}  // namespace

AnalysisResult RunSource(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  const Trace& trace = input.trace();
  if (trace.pc_samples.empty()) return result;
  const Source source(trace);
  result.tables = {source.Kernels(options.max_rows), source.Lines(options.max_rows),
                   source.Instructions(options.max_rows)};
  std::erase_if(result.tables, [](const Table& table) { return table.rows.empty(); });
  return result;
}

}  // namespace gprof
