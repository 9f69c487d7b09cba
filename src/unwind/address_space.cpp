#include "unwind/address_space.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/machine/read_proc.h"

namespace gprof {
namespace {

std::string_view TakeWord(std::string_view* line) {
  const std::size_t from = std::min(line->find_first_not_of(' '), line->size());
  const std::size_t to = std::min(line->find(' ', from), line->size());
  const std::string_view word = line->substr(from, to - from);
  line->remove_prefix(to);
  return word;
}

uint64_t Number(std::string_view digits, int base) {
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return value;
}

struct Line {
  std::string_view range, permissions, device, path;
  uint64_t begin = 0, end = 0, offset = 0, inode = 0;
};

// "7f0000001000-7f0000002000 r-xp 00001000 fe:00 123   /usr/lib/libc.so.6"
Line ReadLine(std::string_view text) {
  Line line;
  line.range = TakeWord(&text);
  const std::size_t dash = std::min(line.range.find('-'), line.range.size());
  line.begin = Number(line.range.substr(0, dash), 16);
  line.end = Number(line.range.substr(std::min(dash + 1, line.range.size())), 16);
  line.permissions = TakeWord(&text);
  line.offset = Number(TakeWord(&text), 16);
  line.device = TakeWord(&text);
  line.inode = Number(TakeWord(&text), 10);
  line.path = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  return line;
}

// Its own mapping of the vDSO, of which all processes have the same.
std::string OwnVdso() {
  std::ifstream maps("/proc/self/maps");
  for (std::string text; std::getline(maps, text);) {
    const Line line = ReadLine(text);
    if (line.path != "[vdso]") continue;
    return {reinterpret_cast<const char*>(line.begin), static_cast<std::size_t>(line.end - line.begin)};
  }
  return {};
}

}  // namespace

const ElfImage* CodeFile::Image() const {
  if (was_tried_) return image_.get();
  was_tried_ = true;
  if (IsVdso()) image_ = ElfImage::OfBytes(OwnVdso());
  for (const std::string& path : paths_) {
    if (image_ != nullptr) break;
    image_ = ElfImage::Open(path);
  }
  return image_.get();
}

uint64_t CodeMapping::Bias() const {
  if (!bias_) {
    const ElfImage* const image = file == nullptr ? nullptr : file->Image();
    const std::optional<uint64_t> address = image == nullptr ? std::nullopt : image->AddressOfOffset(offset);
    // Without the file, what is known is where its bytes lie.
    bias_ = file == nullptr ? 0 : begin - address.value_or(offset);
  }
  return *bias_;
}

std::shared_ptr<const CodeFile> CodeFiles::Get(pid_t pid, std::string_view range, std::string_view device,
                                               uint64_t inode, const std::string& path) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::shared_ptr<const CodeFile>& file = files_[{std::string(device), inode, path}];
  if (file == nullptr) {
    // In a container its path leads elsewhere here; a file that was deleted has none.
    std::vector<std::string> paths = {process + "/root" + path, process + "/map_files/" + std::string(range), path};
    if (path.empty() || path.front() != '/') paths.clear();
    file = std::make_shared<CodeFile>(path, std::move(paths));
  }
  return file;
}

AddressSpace AddressSpace::FromMaps(std::string_view maps, pid_t pid, CodeFiles* files) {
  AddressSpace space;
  while (!maps.empty()) {
    const std::size_t length = std::min(maps.find('\n'), maps.size());
    const Line line = ReadLine(maps.substr(0, length));
    maps.remove_prefix(std::min(length + 1, maps.size()));
    const bool is_code = line.permissions.size() > 2 && line.permissions[2] == 'x' && line.begin < line.end;
    if (!is_code || line.path == "[vsyscall]") continue;
    CodeMapping mapping;
    mapping.begin = line.begin;
    mapping.end = line.end;
    mapping.offset = line.offset;
    mapping.inode = line.inode;
    const bool is_file = line.inode != 0 || line.path == "[vdso]";
    if (is_file) mapping.file = files->Get(pid, line.range, line.device, line.inode, std::string(line.path));
    space.mappings_.push_back(std::move(mapping));
  }
  std::sort(space.mappings_.begin(), space.mappings_.end(),
            [](const CodeMapping& a, const CodeMapping& b) { return a.begin < b.begin; });
  return space;
}

std::optional<AddressSpace> AddressSpace::Of(pid_t pid, CodeFiles* files, const std::string& proc) {
  const std::string maps = ReadProcFile(proc + "/" + std::to_string(pid) + "/maps");
  if (maps.empty()) return std::nullopt;
  return FromMaps(maps, pid, files);
}

const CodeMapping* AddressSpace::Find(uint64_t address) const {
  const auto behind = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                       [](uint64_t at, const CodeMapping& mapping) { return at < mapping.begin; });
  if (behind == mappings_.begin()) return nullptr;
  const CodeMapping& mapping = *std::prev(behind);
  return address < mapping.end ? &mapping : nullptr;
}

}  // namespace gprof
