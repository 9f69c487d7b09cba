#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/result/display_names.h"
#include "base/demangle.h"
#include "base/short_names.h"
#include "base/text.h"
#include "export/exporters.h"
#include "export/tables/clean_names.h"
#include "export/tables/record_tables.h"
#include "gprof/error.h"

namespace gprof {
namespace {

uint64_t RecordCount(const Trace& trace, const std::string& kind) {
  // Of one kind there may be few: then the progress ends early, which does not matter.
  return kind.empty() ? trace.ops.size() + trace.api_calls.size() + trace.ranges.size() + trace.marks.size()
                      : trace.ops.size();
}

}  // namespace

struct RecordContext::Names {
  explicit Names(const Trace& trace) : clean(trace), kernel(trace.strings.size()), short_kernel(trace.strings.size()) {}
  CleanNames clean;
  std::vector<std::string> kernel, short_kernel;             // by NameId, empty for what is no kernel
  std::map<std::pair<uint32_t, uint32_t>, NameId> category;  // by domain and id
};

RecordContext::RecordContext(const Trace& trace, const ExportOptions& options)
    : trace_(trace), progress_(options, RecordCount(trace, options.kind)), names_(std::make_unique<Names>(trace)) {
  for (const NvtxCategory& c : trace.categories) names_->category[{c.domain, c.id}] = c.name;
  std::vector<uint32_t> kernels;
  std::vector<bool> is_seen(trace.strings.size());
  const auto add = [&](NameId name) {
    if (is_seen[name.value]) return;
    is_seen[name.value] = true;
    kernels.push_back(name.value);
  };
  for (const GpuOp& op : trace.ops) {
    if (op.kind == OpKind::kKernel) add(op.name);
  }
  for (const CounterRange& range : trace.counter_ranges) add(range.name);  // where no operations were recorded
  std::vector<std::string> full;
  for (const uint32_t kernel : kernels) full.push_back(Utf8(gprof::KernelName(trace, {kernel})));
  std::vector<std::string> shorter = ShortNames(full);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    names_->kernel[kernels[i]] = std::move(full[i]);
    names_->short_kernel[kernels[i]] = std::move(shorter[i]);
  }
}

RecordContext::~RecordContext() = default;

std::string_view RecordContext::Clean(NameId name) const { return names_->clean(name); }

std::string_view RecordContext::KernelName(NameId mangled) { return names_->kernel[mangled.value]; }

std::string_view RecordContext::ShortKernelName(NameId mangled) { return names_->short_kernel[mangled.value]; }

std::string_view RecordContext::CategoryName(uint32_t domain, uint32_t category) const {
  if (category == 0) return {};
  const auto found = names_->category.find({domain, category});
  return found == names_->category.end() ? std::string_view() : names_->clean(found->second);
}

std::span<const RecordTable> TablesOfKind(const std::string& kind) {
  const std::span<const RecordTable> all = AllRecordTables();
  if (kind.empty()) return all;
  const auto found = std::find_if(all.begin(), all.end(), [&](const RecordTable& t) { return t.name == kind; });
  if (found != all.end()) return {found, 1};
  std::vector<std::string> names;
  for (const RecordTable& table : all) names.emplace_back(table.name);
  const std::string nearest = Nearest(kind, names);
  throw Error(ExitCode::kUsage, "unknown record kind '" + kind + "'",
              (nearest.empty() ? "" : "did you mean '" + nearest + "'? ") + "available: " + Joined(names));
}

std::vector<RecordTableInfo> RecordTables() {
  std::vector<RecordTableInfo> infos;
  for (const RecordTable& table : AllRecordTables()) infos.push_back({table.name, table.meaning});
  return infos;
}

}  // namespace gprof
