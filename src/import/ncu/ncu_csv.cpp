#include "import/ncu/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/units.h"
#include "gprof/error.h"
#include "import/ncu/counter_units.h"
#include "import/ncu/csv_rows.h"
#include "import/ncu/ncu_labels.h"
#include "import/shared/foreign_builder.h"

namespace gprof {
namespace {

constexpr std::string_view kRawPage = "ncu --csv --page raw --print-units base";
// The columns before the metrics.
constexpr std::array<std::string_view, 11> kColumns = {
    "ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Context",
    "Stream", "Block Size", "Grid Size",    "Device",    "CC"};
enum Column : std::size_t { kId, kPid, kProcess, kHost, kKernel, kContext, kStream, kBlock, kGrid, kDevice, kCc };
// Of the details page, in which each metric has a row, these follow.
constexpr std::array<std::string_view, 4> kDetailColumns = {"Section Name", "Metric Name", "Metric Unit",
                                                            "Metric Value"};
enum DetailColumn : std::size_t { kSection, kLabel, kUnit, kValue };

bool IsHeader(std::string_view line) {
  return (line.starts_with("\"ID\",") || line.starts_with("ID,")) &&
         line.find("Kernel Name") != std::string_view::npos && line.find("Block Size") != std::string_view::npos;
}

// Where the line of the header begins.
std::size_t FindHeader(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    if (IsHeader(bytes.substr(at, end - at))) return at;
    at = end + 1;
  }
  return std::string_view::npos;
}

uint32_t Number(std::string_view text) {
  const std::optional<CounterNumber> number = ReadCounterNumber(text);
  return number && number->scale == 0 ? static_cast<uint32_t>(number->value) : 0;
}

// "(256, 1, 1)"
std::array<int64_t, 3> Sizes(std::string_view text) {
  std::array<int64_t, 3> sizes{};
  for (int64_t& size : sizes) {
    const std::size_t digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    text.remove_prefix(digit);
    const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), size);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
  return sizes;
}

// "group:NAME:METRIC" and "breakdown:METRIC:METRIC" name what asked for the metric before it.
std::string_view MetricName(std::string_view column) {
  if (!column.starts_with("group:") && !column.starts_with("breakdown:")) return column;
  return column.substr(column.rfind(':') + 1);
}

// What ncu tells of a device as metrics, under the names of the fields that it is in a trace.
struct DeviceField {
  std::string_view metric;
  uint32_t trace::DeviceRecord::*field;
};
constexpr DeviceField kDeviceFields[] = {
    {"multiprocessor_count", &trace::DeviceRecord::sm_count},
    {"clock_rate", &trace::DeviceRecord::sm_clock_khz},
    {"memory_clock_rate", &trace::DeviceRecord::memory_clock_khz},
    {"global_memory_bus_width", &trace::DeviceRecord::memory_bus_bits},
    {"max_threads_per_multiprocessor", &trace::DeviceRecord::max_threads_per_sm},
    {"max_blocks_per_multiprocessor", &trace::DeviceRecord::max_blocks_per_sm},
    {"max_registers_per_multiprocessor", &trace::DeviceRecord::max_registers_per_sm},
    {"max_shared_memory_per_multiprocessor", &trace::DeviceRecord::max_shared_bytes_per_sm},
    {"max_threads_per_block", &trace::DeviceRecord::max_threads_per_block},
    {"max_registers_per_block", &trace::DeviceRecord::max_registers_per_block},
    {"max_shared_memory_per_block", &trace::DeviceRecord::max_shared_bytes_per_block},
    {"warp_size", &trace::DeviceRecord::warp_size},
    {"pci_domain_id", &trace::DeviceRecord::pcie_domain},
    {"pci_bus_id", &trace::DeviceRecord::pcie_bus},
    {"pci_device_id", &trace::DeviceRecord::pcie_device}};
constexpr std::string_view kDevicePrefix = "device__attribute_";

struct MetricColumn {
  std::size_t at = 0;
  std::string name;
  BaseUnit unit;
};

class NcuImport {
 public:
  NcuImport(std::string_view bytes, const std::string& path, MemoryBudget* budget)
      : path_(path),
        file_bytes_(bytes.size()),
        rows_(bytes.substr(FindHeader(bytes))),
        builder_(path, "Nsight Compute", budget) {}

  Trace Run() {
    ReadHeader();
    while (rows_.Next()) ReadRow(rows_.fields());
    if (range_count_ == 0) Refuse("it has no kernels");
    Finish();
    return builder_.Finish(file_bytes_);
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error(ExitCode::kUnreadable,
                fmt::format("cannot read '{}': a CSV file of Nsight Compute, but {}", path_, why),
                fmt::format("write it again: {} --import FILE.ncu-rep > FILE.csv", kRawPage));
  }

  void ReadHeader() {
    rows_.Next();
    const std::vector<std::string> names = rows_.fields();
    width_ = least_width_ = names.size();
    columns_ = Places(names, kColumns);
    details_ = Places(names, kDetailColumns);
    is_details_ = details_[kLabel] < width_;
    if (is_details_) {
      const std::size_t last = *std::max_element(details_.begin(), details_.end());
      if (last >= width_) Refuse("it lacks columns");
      // The columns of rules follow, which rows of metrics leave out.
      least_width_ = last + 1;
      return;
    }
    if (!rows_.Next()) Refuse("it has no row of units");
    std::vector<std::string> units = rows_.fields();
    units.resize(width_);
    std::set<std::string_view> known;
    for (std::size_t i = 0; i < width_; ++i) {
      const bool is_metric = std::find(columns_.begin(), columns_.end(), i) == columns_.end();
      if (is_metric && known.insert(MetricName(names[i])).second)
        metrics_.push_back({i, std::string(MetricName(names[i])), BaseUnitOf(units[i])});
    }
  }

  // Which columns have these names; the number of columns for one that is not there.
  template <std::size_t N>
  static std::array<std::size_t, N> Places(const std::vector<std::string>& names,
                                           const std::array<std::string_view, N>& wanted) {
    std::array<std::size_t, N> places{};
    for (std::size_t i = 0; i < N; ++i) {
      places[i] = static_cast<std::size_t>(std::find(names.begin(), names.end(), wanted[i]) - names.begin());
    }
    return places;
  }

  std::string_view Field(const std::vector<std::string>& row, Column column) const {
    return columns_[column] < row.size() ? std::string_view(row[columns_[column]]) : std::string_view();
  }

  // What the program and ncu print goes to the same place, so lines between the rows are none.
  bool IsRow(const std::vector<std::string>& row) const {
    const std::string_view id = Field(row, kId);
    return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  void ReadRow(const std::vector<std::string>& row) {
    if (!IsRow(row)) return;
    if (row.size() < least_width_ || row.size() > width_) {
      ++bad_rows_;
      return;
    }
    if (!is_details_) {
      BeginRange(row);
      AddValues(row);
    } else {
      AddDetail(row);
    }
  }

  void BeginRange(const std::vector<std::string>& row) {
    EnterProcess(row);
    AddDevice(row);
    AddPlan(row);
    trace::CounterRangeRecord range;
    range.id = ++range_count_;
    range.plan = plans_[builder_.process()];
    range.scope = static_cast<uint8_t>(trace::CounterScope::kKernel);
    range.name = builder_.Name(Field(row, kKernel));
    range.device = Number(Field(row, kDevice));
    range.context = Number(Field(row, kContext));
    range.stream = Number(Field(row, kStream));
    range.passes = Number(TextOf(row, "profiler__replayer_passes"));
    builder_.Add(range);
    AddSizes("block", Field(row, kBlock), "");
    AddSizes("grid", Field(row, kGrid), "");
  }

  // A rule is a row without a metric.
  void AddDetail(const std::vector<std::string>& row) {
    if (range_count_ == 0 || Field(row, kId) != id_) {
      id_ = Field(row, kId);
      BeginRange(row);
    }
    const std::string& label = row[details_[kLabel]];
    if (label.empty()) return;
    // Those of --metrics have their names, and all have with --print-metric-name name.
    const bool is_name = label.find("__") != std::string::npos;
    const std::string_view metric = is_name ? MetricName(label) : MetricOfLabel(row[details_[kSection]], label);
    has_labels_ = has_labels_ || !is_name;
    if (metric.empty()) {
      unknown_labels_.insert(label);
    } else {
      AddText(metric, BaseUnitOf(row[details_[kUnit]]), row[details_[kValue]]);
    }
  }

  void EnterProcess(const std::vector<std::string>& row) {
    const auto key = std::make_pair(std::string(Field(row, kHost)), Number(Field(row, kPid)));
    const auto [at, is_new] = processes_.try_emplace(key, 0);
    if (!is_new) return builder_.Enter(at->second);
    at->second = builder_.AddProcess(std::hash<std::string>()(key.first), key.second);
    builder_.Enter(at->second);
    trace::ProcessRecord process;
    process.pid = key.second;
    process.name = builder_.Name(Field(row, kProcess));
    process.host = builder_.Name(Field(row, kHost));
    builder_.Add(process);
  }

  std::string_view TextOf(const std::vector<std::string>& row, std::string_view metric) const {
    const auto at =
        std::find_if(metrics_.begin(), metrics_.end(), [&](const MetricColumn& m) { return m.name == metric; });
    return at == metrics_.end() ? std::string_view() : std::string_view(row[at->at]);
  }

  uint64_t Attribute(const std::vector<std::string>& row, std::string_view name) const {
    const auto number = ReadCounterNumber(TextOf(row, std::string(kDevicePrefix).append(name)));
    return number && number->scale == 0 ? static_cast<uint64_t>(number->value) : 0;
  }

  void AddDevice(const std::vector<std::string>& row) {
    const uint32_t ordinal = Number(Field(row, kDevice));
    if (!devices_.insert({builder_.process(), ordinal}).second) return;
    trace::DeviceRecord device;
    device.device = ordinal;
    const std::string_view name = TextOf(row, "device__attribute_display_name"), cc = Field(row, kCc);
    device.name = builder_.Name(name);
    const std::size_t point = std::min(cc.find('.'), cc.size());
    device.compute_major = Number(cc.substr(0, point));
    device.compute_minor = Number(cc.substr(std::min(point + 1, cc.size())));
    for (const DeviceField& f : kDeviceFields) device.*f.field = static_cast<uint32_t>(Attribute(row, f.metric));
    device.memory_bytes = Attribute(row, "total_memory");
    device.l2_bytes = Attribute(row, "l2_cache_size");
    // Two transfers a clock.
    device.memory_bytes_per_second = uint64_t{device.memory_clock_khz} * 1000 * 2 * device.memory_bus_bits / 8;
    builder_.Add(device);
    has_devices_ = has_devices_ || !name.empty();
  }

  void AddPlan(const std::vector<std::string>& row) {
    uint32_t& plan = plans_[builder_.process()];
    if (plan != 0) return;
    trace::CounterPlanRecord r;
    r.id = plan = static_cast<uint32_t>(plans_.size());
    r.library = builder_.Name("Nsight Compute");
    r.passes = Number(TextOf(row, "profiler__replayer_passes"));
    builder_.Add(r);
  }

  // Of a metric that the row does not have itself.
  void AddSizes(const char* name, std::string_view text, const char* unit) {
    const std::array<int64_t, 3> sizes = Sizes(text);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string metric = fmt::format("launch__{}_dim_{}", name, "xyz"[i]);
      const bool is_known =
          std::any_of(metrics_.begin(), metrics_.end(), [&](const MetricColumn& m) { return m.name == metric; });
      if (!is_known && sizes[i] > 0) AddValue(metric, unit, {sizes[i], 0}, {});
    }
  }

  void AddValues(const std::vector<std::string>& row) {
    for (const MetricColumn& metric : metrics_) AddText(metric.name, metric.unit, row[metric.at]);
  }

  void AddText(std::string_view metric, const BaseUnit& unit, const std::string& text) {
    if (std::optional<CounterNumber> number = ReadCounterNumber(text)) {
      number->scale += unit.exponent;
      AddValue(metric, unit.unit, *number, {});
    } else if (!text.empty() && text != "nan" && text != "no data" && text != "n/a" && text != "inf") {
      AddValue(metric, unit.unit, {}, text);
    }
  }

  void AddValue(std::string_view metric, std::string_view unit, CounterNumber number, std::string_view text) {
    trace::CounterValuesRecord value;
    value.range = range_count_;
    value.metric = builder_.Name(metric);
    value.unit = builder_.Name(unit);
    value.value = number.value;
    value.scale = number.scale;
    value.text = builder_.Name(text);
    builder_.Add(value);
  }

  void Finish() {
    if (has_labels_) {
      builder_.AddNotice(
          trace::NoticeLevel::kInfo,
          fmt::format("the details page has few metrics, rounded, and {} of it {} not read: {} prints all of them",
                      CountOf(static_cast<int64_t>(unknown_labels_.size()), "label"),
                      unknown_labels_.size() == 1 ? "is" : "are", kRawPage));
    }
    if (bad_rows_ > 0) {
      builder_.AddNotice(trace::NoticeLevel::kWarning, CountOf(static_cast<int64_t>(bad_rows_), "row") +
                                                           " of the CSV file skipped: another number of columns");
      builder_.AddLoss(trace::LossReason::kUnknownRecord, bad_rows_);
    }
    for (uint32_t fact = 0; fact < kFactCount; ++fact) {
      const auto what = static_cast<Fact>(fact);
      if (what == Fact::kCounters || what == Fact::kOneTrace || (what == Fact::kDevices && has_devices_)) continue;
      builder_.SetLacks(what);
    }
    for (uint32_t process = 0; process < builder_.process_count(); ++process) {
      builder_.Enter(process);
      trace::EndRecord end;
      end.reason = static_cast<uint8_t>(trace::EndReason::kStopped);
      builder_.Add(end);
    }
  }

  std::string path_;
  uint64_t file_bytes_ = 0;
  CsvRows rows_;
  ForeignBuilder builder_;
  std::size_t width_ = 0, least_width_ = 0;  // fields of a row
  std::array<std::size_t, kColumns.size()> columns_{};
  std::array<std::size_t, kDetailColumns.size()> details_{};
  bool is_details_ = false, has_labels_ = false;
  std::string id_;  // of the range whose details are read
  std::set<std::string> unknown_labels_;
  std::vector<MetricColumn> metrics_;
  std::map<std::pair<std::string, uint32_t>, uint32_t> processes_;
  std::map<uint32_t, uint32_t> plans_;  // by process
  std::set<std::pair<uint32_t, uint32_t>> devices_;
  uint32_t range_count_ = 0;
  uint64_t bad_rows_ = 0;
  bool has_devices_ = false;
};

}  // namespace

bool IsNcuCsv(std::string_view bytes) { return FindHeader(bytes) != std::string_view::npos; }

Trace ReadNcuCsv(std::string_view bytes, const std::string& path, MemoryBudget* budget) {
  return NcuImport(bytes, path, budget).Run();
}

Trace ReadNcuCsv(std::string_view bytes, const std::string& path) {
  MemoryBudget budget(path, bytes.size());
  return ReadNcuCsv(bytes, path, &budget);
}

bool IsNcuReport(std::string_view path) {
  return path.ends_with(".ncu-rep") || path.ends_with(".nsight-cuprof-report");
}

void RefuseNcuReport(const std::string& path) {
  const std::string csv = path.substr(0, path.rfind('.')) + ".csv";
  throw Error(ExitCode::kUnreadable,
              fmt::format("cannot read '{}': a report of Nsight Compute, which only ncu can read", path),
              fmt::format("convert it where ncu is installed: {} --import '{}' > '{}'", kRawPage, path, csv));
}

}  // namespace gprof
