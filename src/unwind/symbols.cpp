#include "unwind/symbols.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <system_error>

namespace gprof {
namespace {

struct Best {
  FunctionSymbol symbol;
  bool is_found = false;
};

// Of several symbols of one function, the one that others use; then the shortest, for versions and aliases are longer.
bool IsBetter(const FunctionSymbol& a, const Best& b) {
  if (!b.is_found) return true;
  if (a.address != b.symbol.address) return a.address > b.symbol.address;
  if ((a.size != 0) != (b.symbol.size != 0)) return a.size != 0;
  if (a.is_weak != b.symbol.is_weak) return !a.is_weak;
  return a.name.size() < b.symbol.name.size();
}

// Assembler often gives no sizes: such a function ends where the next begins, which the caller finds out by asking for
// the one with the highest address. It must not claim what lies far behind it.
constexpr uint64_t kLargestUnsized = 4096;

uint64_t EndOf(const FunctionSymbol& symbol) {
  return symbol.address + (symbol.size != 0 ? symbol.size : kLargestUnsized);
}

}  // namespace

std::vector<FoundSymbol> FindSymbols(const ElfImage& image, const std::vector<uint64_t>& addresses) {
  std::vector<std::size_t> order(addresses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return addresses[a] < addresses[b]; });
  std::vector<Best> best(addresses.size());
  image.ForEachFunction([&](const FunctionSymbol& symbol) {
    auto at =
        std::partition_point(order.begin(), order.end(), [&](std::size_t i) { return addresses[i] < symbol.address; });
    for (; at != order.end() && addresses[*at] < EndOf(symbol); ++at) {
      if (IsBetter(symbol, best[*at])) best[*at] = {symbol, true};
    }
  });
  std::vector<FoundSymbol> found(addresses.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (best[i].is_found) found[i] = {best[i].symbol.address, std::string(best[i].symbol.name)};
  }
  return found;
}

std::vector<FoundSymbol> FindInPerfMap(std::string_view map, const std::vector<uint64_t>& addresses) {
  std::vector<FoundSymbol> found(addresses.size());
  const auto take_hex = [](std::string_view* line) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), value, 16);
    line->remove_prefix(static_cast<std::size_t>(end - line->data()));
    line->remove_prefix(std::min(line->find_first_not_of(' '), line->size()));
    return error == std::errc() ? value : 0;
  };
  while (!map.empty()) {
    std::string_view line = map.substr(0, map.find('\n'));
    map.remove_prefix(std::min(line.size() + 1, map.size()));
    const uint64_t begin = take_hex(&line), size = take_hex(&line);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i] >= begin && addresses[i] - begin < size) found[i] = {begin, std::string(line)};
    }
  }
  return found;
}

std::string DebugFileIn(const std::string& folder, const std::string& build_id) {
  return folder + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

std::vector<std::string> DebugFilesOf(const ElfImage& image, const std::string& path) {
  constexpr char kFolder[] = "/usr/lib/debug";
  std::vector<std::string> files;
  const std::string& id = image.build_id();
  if (id.size() > 2) files.push_back(DebugFileIn(kFolder, id));
  const std::string link(image.DebugLink());
  const std::size_t slash = path.rfind('/');
  if (link.empty() || link.find('/') != std::string::npos || slash == std::string::npos) return files;
  const std::string folder = path.substr(0, slash + 1);
  files.push_back(folder + link);
  files.push_back(folder + ".debug/" + link);
  files.push_back(kFolder + folder + link);
  return files;
}

}  // namespace gprof
