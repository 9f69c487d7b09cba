#include "report/lines/annotated_file.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/causes/python_line_sums.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

// "src/train.py" is meant by itself, by "train.py", and not by "rain.py".
bool IsMeantBy(std::string_view word, std::string_view path) {
  while (word.starts_with("./")) word.remove_prefix(2);
  if (!path.ends_with(word) || word.empty()) return false;
  return path.size() == word.size() || word.front() == '/' || path[path.size() - word.size() - 1] == '/';
}

std::set<std::string> FilesOf(const Trace& trace, const PythonLines& lines) {
  std::set<std::string> files;
  for (const PythonLine& line : lines.all()) files.insert(Utf8(trace.Text(line.file)));
  for (const PcSample& sample : trace.pc_samples) files.insert(Utf8(trace.Text(sample.file)));
  files.erase("");
  return files;
}

std::string ChooseFile(const std::set<std::string>& files, std::string_view word) {
  std::vector<std::string> meant;
  std::ranges::copy_if(files, std::back_inserter(meant), [&](const auto& file) { return IsMeantBy(word, file); });
  if (meant.size() == 1) return meant.front();
  const std::string name(word);
  if (meant.size() > 1)
    throw Error(ExitCode::kUsage, "'" + name + "' is the name of several files", "one of " + JoinedUpTo(5, meant));
  if (files.empty())
    throw Error(ExitCode::kInconclusive, "cannot tell: the trace has no source lines",
                "gprof-cli profile records the Python lines of CUDA calls, gprof-cli counters --page source lines of "
                "kernels");
  throw Error(ExitCode::kUsage, "no call of the trace comes from '" + name + "'",
              "files it knows: " + JoinedUpTo(5, {files.begin(), files.end()}));
}

void Add(const LineFigures& more, LineFigures* sum) {
  sum->gpu_ns += more.gpu_ns, sum->idle_ns += more.idle_ns, sum->wait_ns += more.wait_ns;
  sum->launches += more.launches, sum->samples += more.samples;
}

LineFigures FiguresOf(const PythonLineSum& sum) {
  return {.gpu_ns = sum.gpu_ns, .idle_ns = sum.IdleNs(), .wait_ns = sum.wait_ns, .launches = sum.operations};
}

bool HasAny(const LineFigures& f) {
  return f.gpu_ns != 0 || f.idle_ns != 0 || f.wait_ns != 0 || f.launches != 0 || f.samples != 0;
}

}  // namespace

AnnotatedFile AnnotateFile(const AnalysisInput& input, std::string_view word) {
  const Trace& trace = input.trace();
  const PythonLines& lines = input.shared().python_lines();
  AnnotatedFile out;
  out.path = ChooseFile(FilesOf(trace, lines), word);
  out.has_calls = lines.HasCalls();
  out.has_samples = !trace.pc_samples.empty();
  std::map<uint32_t, LineFigures> figures;
  const auto add = [&](std::string_view file, uint32_t line, const LineFigures& more) {
    Add(more, Utf8(file) == out.path ? &figures[line] : &out.others);
  };
  const std::vector<PythonLineSum> sums = SumByPythonLine(input);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool is_known = i < lines.all().size();
    add(is_known ? trace.Text(lines.all()[i].file) : "", is_known ? lines.all()[i].line : 0, FiguresOf(sums[i]));
  }
  for (const PcSample& sample : trace.pc_samples) {
    add(trace.Text(sample.file), sample.line, {.samples = static_cast<int64_t>(sample.samples)});
  }
  for (auto& [line, figure] : figures) {
    figure.line = line;
    Add(figure, &out.sum);
    if (HasAny(figure)) out.lines.push_back(figure);
  }
  return out;
}

}  // namespace gprof
