// gprof-cli info: what a trace holds and whether it is whole. docs/commands/info.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "base/table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/recorded.h"
#include "cli/talk.h"
#include "fleet/read_input.h"
#include "report/json_values.h"
#include "report/run_facts.h"
#include "report/trace_amounts.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

// The format writes 0 for what is not known.
std::string Known(uint64_t value, const std::string& text) { return value == 0 ? "-" : text; }

class InfoText {
 public:
  InfoText(const RunFacts& run, const std::vector<Amount>& amounts, const Terminal& terminal)
      : run_(run), trace_(*run.head), amounts_(amounts), terminal_(terminal), style_(terminal.has_color) {}

  std::string Render() {
    const double bytes = static_cast<double>(trace_.health.file_bytes);
    Line("Trace", trace_.path);
    const bool is_ours = trace_.recorder.empty();
    Line("Size", FormatBytes(bytes) + (is_ours ? PlainSize() : "") + ", " +
                     CountOf(static_cast<int64_t>(trace_.record_count), "record") +
                     (is_ours ? " in " + CountOf(static_cast<int64_t>(trace_.health.chunks), "chunk") : "") +
                     PerRecord(bytes));
    if (!is_ours) Line("Recorded", "by " + trace_.recorder);
    Line("Time", FormatNs(trace_.end_ns - trace_.start_ns) + " (first to last record)");
    if (!run_.stands_for.empty()) {
      Line("Partial", "of " + CountOf(static_cast<int64_t>(run_.stands_for.size()), "trace"));
    }
    const std::string reason = SnapshotReason(trace_), ranks = RanksText(trace_);
    const std::string mode = reason.empty() ? CaptureModeText(trace_) : RecordedText(trace_);
    const std::string captures = reason.empty() ? CapturesText(trace_) : "";
    if (!reason.empty()) Line("Snapshot", reason);
    if (!mode.empty()) Line("Recorded", mode);
    if (!captures.empty()) Line("Captures", captures);
    if (const std::string kernels = KernelTimeText(trace_); !kernels.empty()) Line("Kernels", kernels);
    if (!ranks.empty()) Line("Ranks", ranks);
    Health();
    Processes();
    Devices();
    Contents();
    Losses();
    Notices();
    return std::move(out_);
  }

 private:
  std::string PlainSize() const {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(trace_.path, failed)) return "";
    const Recorded recorded = ScanTrace(trace_.path);
    // Behind damage it sees no chunks.
    return recorded.is_damaged ? "" : CompressedFrom(recorded);
  }

  std::string PerRecord(double bytes) const {
    if (trace_.record_count == 0) return "";
    return ", " + FormatNumber(bytes / static_cast<double>(trace_.record_count)) + " bytes/record";
  }

  void Health() {
    std::vector<Finding> findings = run_.health;
    std::erase_if(findings, [](const Finding& finding) { return finding.id == "health.notice"; });
    out_ += RenderHealth(trace_, findings, terminal_);
  }

  void Processes() {
    const bool has_ranks = !RanksText(trace_).empty();
    TextTable table{{{"PID", true},
                     {"Program"},
                     {"Duration", true},
                     {"End"},
                     {"Driver", false, true},
                     {"CUPTI", false, true},
                     {"Command", false, true}},
                    {}};
    for (const Process& process : trace_.processes) {
      table.rows.push_back({std::to_string(process.pid), std::string(trace_.Text(process.name)),
                            FormatNs(process.end_ns - process.start_ns), EndText(process),
                            Known(process.driver_version, FormatCudaVersion(process.driver_version)),
                            Known(process.cupti_version, std::to_string(process.cupti_version)),
                            std::string(trace_.Text(process.command_line))});
      if (has_ranks) {
        auto& row = table.rows.back();
        row.insert(row.begin() + 1, process.rank < 0 ? "-" : std::to_string(process.rank));
      }
    }
    if (has_ranks) table.columns.insert(table.columns.begin() + 1, {"Rank", true});
    Add("Processes", table);
  }

  void Devices() {
    TextTable table{{{"GPU"},
                     {"Name"},
                     {"SMs", true},
                     {"Memory", true},
                     {"Bandwidth", true},
                     {"Compute", true},
                     {"PCIe", false, true},
                     {"UUID", false, true}},
                    {}};
    for (const Device& device : trace_.devices) {
      const trace::DeviceRecord& f = device.properties;
      table.rows.push_back(
          {"gpu" + std::to_string(device.ordinal), std::string(trace_.Text(device.name)),
           Known(f.sm_count, std::to_string(f.sm_count)), Known(f.memory_bytes, FormatBytes(f.memory_bytes)),
           Known(f.memory_bytes_per_second, FormatBytesPerSecond(static_cast<double>(f.memory_bytes_per_second))),
           Known(f.compute_major, std::to_string(f.compute_major) + "." + std::to_string(f.compute_minor)),
           Known(f.pcie_generation, "gen " + std::to_string(f.pcie_generation) + " x" + std::to_string(f.pcie_lanes)),
           std::string(trace_.Text(device.uuid))});
    }
    Add("GPUs", table);
  }

  void Contents() {
    TextTable table{{{"Record"}, {"Count", true}}, {}};
    for (const Amount& amount : amounts_) {
      if (amount.count != 0) table.rows.push_back({amount.title, FormatCount(static_cast<int64_t>(amount.count))});
    }
    Add("Contents", table);
  }

  void Losses() {
    TextTable table{{{"Records", true}, {"Reason"}}, {}};
    for (const Loss& loss : trace_.losses) {
      table.rows.push_back({FormatCount(static_cast<int64_t>(loss.count)), ReasonText(loss.reason)});
    }
    Add("Lost while recording", table);
  }

  void Notices() {
    TextTable table{{{"Level"}, {"Tracer message"}}, {}};
    for (const Notice& notice : trace_.notices) {
      table.rows.push_back({LevelText(notice.level), std::string(trace_.Text(notice.message))});
    }
    if (table.rows.empty()) return;
    out_ += "\n" + style_.Bold("Tracer messages") + "\n";
    // Whole sentences: wrapped, not shortened.
    for (const auto& row : table.rows) {
      std::size_t line_number = 0;
      for (const std::string& line : Wrap(Printable(row[0] + ": " + row[1]), terminal_.columns - 4)) {
        out_ += (line_number++ == 0 ? "  " : "    ") + line + "\n";
      }
    }
  }

  void Add(const char* title, const TextTable& table) {
    if (!table.rows.empty())
      out_ += "\n" + style_.Bold(title) + "\n" + RenderTable(table, terminal_.columns, style_, 2);
  }

  void Line(const std::string& label, const std::string& text) { out_ += LabeledLine(label, text, terminal_); }

  const RunFacts& run_;
  const TraceHead& trace_;
  const std::vector<Amount>& amounts_;
  const Terminal& terminal_;
  Style style_;
  std::string out_;
};

std::string InfoJson(const TraceHead& trace, const std::vector<Amount>& amounts) {
  Json json;
  json["schema"] = "gprof.info/1";
  AddTraceFacts(trace, &json);
  json["contents"] = Json::object();
  for (const Amount& amount : amounts) json["contents"][amount.key] = amount.count;
  return ToText(json);
}

class Info : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", trace_, "the trace to inspect");
    app.add_option("--format", format_, "text (default) or json")
        ->type_name("text|json")
        ->check(OneOf({"text", "json"}))
        ->group("Output");
    AddPagerOption(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (trace_.empty()) throw Error(ExitCode::kUsage, "no trace given", "usage: gprof-cli info TRACE [options]");
    RecoverEarlierRuns();
    const Input input = ReadInput(trace_);
    const std::vector<Amount> amounts = std::visit([](const auto& in) { return AmountsOf(in); }, input);
    if (format_ == "json") {
      WritePaged(InfoJson(HeadOf(input), amounts));
    } else {
      const RunFacts run = std::visit([](const auto& in) { return FactsOf(in); }, input);
      WritePaged(InfoText(run, amounts, DetectTerminal(STDOUT_FILENO)).Render());
    }
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string trace_;
  std::string format_ = "text";
};

// What stands behind it is dispatched as a command of its own (run.cpp): this is for any other word.
class TraceWord : public Command {
 public:
  void AddOptions(CLI::App& app) override { app.add_option("WORD", words_, "info, dump or symbolize"); }
  int Run() override {
    const std::string word = words_.empty() ? "" : words_.front();
    throw Error(ExitCode::kUsage, word.empty() ? "trace what?" : "trace has no command '" + word + "'",
                "gprof-cli trace info|dump|symbolize TRACE; to record a program: gprof-cli profile APP");
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> MakeTrace() { return std::make_unique<TraceWord>(); }
std::unique_ptr<Command> MakeInfo() { return std::make_unique<Info>(); }

}  // namespace gprof::cli
