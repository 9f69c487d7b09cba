#include <string>
#include <string_view>

#include "report/report.h"

namespace gprof {
namespace {

bool HasOtherRanges(const TraceHead& trace) {
  return trace.recorder == "torch.profiler" || trace.recorder == "XLA profiler" || trace.recorder == "Chrome JSON";
}

void Replace(std::string_view from, std::string_view to, std::string* text) {
  for (std::size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

void ReplaceNvtx(std::string* text) {
  constexpr std::string_view kNvtx = "NVTX range";
  if (text->starts_with(kNvtx)) text->replace(0, kNvtx.size(), "Range");
  Replace(". NVTX range", ". Range", text);
  Replace(kNvtx, "range", text);
}

void NameIn(Table* table) {
  ReplaceNvtx(&table->title);
  ReplaceNvtx(&table->note);
  for (Column& column : table->columns) {
    ReplaceNvtx(&column.title);
    Replace("NVTX range", "range", &column.meaning);
  }
}

void NameIn(std::string* sentence) {
  ReplaceNvtx(sentence);
  Replace("in cpu_op/", "in operator ", sentence);
  Replace("in python_function/", "in Python function ", sentence);
  Replace("in user_annotation/", "in ", sentence);
}

void NameIn(Finding* finding) {
  NameIn(&finding->message);
  for (std::string& line : finding->evidence) NameIn(&line);
}

}  // namespace

void NameRanges(const TraceHead& trace, std::vector<Section>* sections) {
  if (!HasOtherRanges(trace)) return;
  for (Section& section : *sections) {
    for (Table& table : section.result.tables) NameIn(&table);
    for (Finding& finding : section.result.findings) NameIn(&finding);
  }
}

}  // namespace gprof
