#include "report/shown/shown_tables.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace gprof {
namespace {

struct FirstPageTable {
  std::string_view id;
  std::size_t rows;
  bool is_for_several = false;      // only where it has more than one row
  bool is_without_devices = false;  // only where nothing ran on a GPU
};

constexpr FirstPageTable kFirstPage[] = {{"traces", 64},
                                         {"counters", 20},
                                         {"devices", 10, true},
                                         {"source_kernels", 5},
                                         {"source_lines", 10},
                                         {"source_instructions", 10},
                                         {"request_latency", 4},
                                         {"late_tokens", 3},
                                         {"kernels", 5},
                                         {"ops", 5},
                                         {"memcpy", 5},
                                         {"streams", 4},
                                         {"api", 5},
                                         {"python_lines", 5},
                                         {"nvtx", 5, false, true},
                                         {"threads", 5, false, true},
                                         {"cpu_functions", 8, false, true},
                                         {"python_samples", 8, false, true},
                                         {"os_sum", 5, false, true}};

bool FitsFirstPage(const FirstPageTable& page, const Table& table, const Report& report) {
  if (page.is_without_devices && !report.run.used_devices.empty()) return false;
  return !page.is_for_several || table.rows.size() > 1;
}

std::vector<std::string> LinesAbove(std::string_view table, const Report& report) {
  if (table == "kernels") return KernelLines(report);
  if (table == "streams") return StreamLines(report);
  return table == "ops" ? OperatorLines(report) : std::vector<std::string>();
}

// Of streams those that did something, and none where there is one only: the line above says all of it.
std::size_t RowsWorthShowing(const Table& table) {
  if (table.id != "streams") return table.rows.size();
  const auto is_idle = [](const std::vector<Cell>& row) { return row[1] == Cell(int64_t{0}); };
  const auto used = std::ranges::find_if(table.rows, is_idle) - table.rows.begin();
  return used < 2 ? 0 : static_cast<std::size_t>(used);
}

}  // namespace

std::vector<ShownTable> TablesToShow(const Report& report) {
  std::vector<ShownTable> shown;
  const bool is_first_page = !report.is_full && !report.has_details;
  for (const Section& section : report.sections) {
    for (const Table& table : section.result.tables) {
      if (table.rows.empty() || table.id == "health" || (table.is_detail && !report.has_details)) continue;
      const auto* page = std::ranges::find_if(kFirstPage, [&](const FirstPageTable& t) { return t.id == table.id; });
      const std::vector<std::string> lines = LinesAbove(table.id, report);
      if (!is_first_page) {
        shown.push_back({&table, table.rows.size(), false, lines});
      } else if (page != std::end(kFirstPage) && FitsFirstPage(*page, table, report)) {
        shown.push_back({&table, std::min(page->rows, RowsWorthShowing(table)), true, lines});
      }
    }
  }
  return shown;
}

}  // namespace gprof
