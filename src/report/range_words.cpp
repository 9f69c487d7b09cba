#include "report/range_words.h"

#include <string>
#include <string_view>

namespace gprof {
namespace {

bool HasOtherRanges(const Trace& trace) {
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
  for (Column& column : table->columns) ReplaceNvtx(&column.title);
}

void NameIn(Finding* finding) {
  ReplaceNvtx(&finding->message);
  Replace("in cpu_op/", "in operator ", &finding->message);
  Replace("in python_function/", "in Python function ", &finding->message);
  Replace("in user_annotation/", "in ", &finding->message);
}

}  // namespace

void NameRanges(const Trace& trace, std::vector<Section>* sections) {
  if (!HasOtherRanges(trace)) return;
  for (Section& section : *sections) {
    for (Table& table : section.result.tables) NameIn(&table);
    for (Finding& finding : section.result.findings) NameIn(&finding);
  }
}

}  // namespace gprof
