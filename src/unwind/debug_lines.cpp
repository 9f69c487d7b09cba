// A unit of the section is the table of one compiled file: a header with the names of its source files, and a program
// that makes rows, each an address and the line that code from there on belongs to. Rows come in sequences of rising
// addresses. (DWARF 5, 6.2.)
#include "unwind/debug_lines.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace gprof {
namespace {

constexpr uint32_t kWideLength = 0xffffffffu;
constexpr std::string_view kLineSection = ".debug_line";

// What entries of directories and files are made of, from version 5 on.
constexpr uint64_t kPath = 1, kDirectory = 2;
enum Form : uint64_t {
  kBlock2 = 0x03,
  kBlock4 = 0x04,
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kBlock1 = 0x0a,
  kData1 = 0x0b,
  kStringAt = 0x0e,
  kUdata = 0x0f,
  kSectionOffset = 0x17,
  kData16 = 0x1e,
  kLineStringAt = 0x1f,
};

struct Sections {
  Bytes line, strings, line_strings;
};

struct File {
  std::string_view name;
  uint64_t folder = 0;
};

struct Unit {
  uint16_t version = 0;
  bool is_wide = false;
  uint8_t instruction_bytes = 1, line_range = 1, first_special = 1;
  int8_t line_base = 0;
  Bytes operand_counts;  // of the standard instructions
  std::vector<std::string_view> folders;
  std::vector<File> files;
  Bytes program;
};

std::string_view TextIn(Bytes section, uint64_t offset) {
  if (offset >= section.size()) return {};
  ByteReader reader(section.subspan(offset));
  return reader.TakeText();
}

uint64_t TakeOffset(ByteReader* reader, bool is_wide) {
  return is_wide ? reader->Take<uint64_t>() : reader->Take<uint32_t>();
}

// One attribute of an entry: text or a number.
struct FormValue {
  std::string_view text;
  uint64_t number = 0;
};

bool TakeValue(const Sections& sections, bool is_wide, uint64_t form, ByteReader* reader, FormValue* value) {
  switch (form) {
    case kString:
      value->text = reader->TakeText();
      break;
    case kStringAt:
      value->text = TextIn(sections.strings, TakeOffset(reader, is_wide));
      break;
    case kLineStringAt:
      value->text = TextIn(sections.line_strings, TakeOffset(reader, is_wide));
      break;
    case kData1:
      value->number = reader->Take<uint8_t>();
      break;
    case kData2:
      value->number = reader->Take<uint16_t>();
      break;
    case kData4:
      value->number = reader->Take<uint32_t>();
      break;
    case kData8:
      value->number = reader->Take<uint64_t>();
      break;
    case kData16:
      reader->TakeBytes(16);
      break;
    case kUdata:
      value->number = reader->Uleb();
      break;
    case kSectionOffset:
      TakeOffset(reader, is_wide);
      break;
    case kBlock:
      reader->TakeBytes(reader->Uleb());
      break;
    case kBlock1:
      reader->TakeBytes(reader->Take<uint8_t>());
      break;
    case kBlock2:
      reader->TakeBytes(reader->Take<uint16_t>());
      break;
    case kBlock4:
      reader->TakeBytes(reader->Take<uint32_t>());
      break;
    default:
      return false;
  }
  return !reader->is_bad();
}

// The directories or the files of version 5: which attributes entries have comes first.
bool TakeEntries(const Sections& sections, bool is_wide, ByteReader* reader, std::vector<File>* entries) {
  struct Attribute {
    uint64_t content, form;
  };
  std::vector<Attribute> attributes(reader->Take<uint8_t>());
  for (Attribute& attribute : attributes) {
    attribute.content = reader->Uleb();
    attribute.form = reader->Uleb();
  }
  const uint64_t count = reader->Uleb();
  if (attributes.empty()) return count == 0 && !reader->is_bad();
  for (uint64_t i = 0; i < count && !reader->AtEnd(); ++i) {
    File& entry = entries->emplace_back();
    for (const Attribute& attribute : attributes) {
      FormValue value;
      if (!TakeValue(sections, is_wide, attribute.form, reader, &value)) return false;
      if (attribute.content == kPath) entry.name = value.text;
      if (attribute.content == kDirectory) entry.folder = value.number;
    }
  }
  return !reader->is_bad();
}

bool TakeNewNames(const Sections& sections, ByteReader* reader, Unit* unit) {
  std::vector<File> folders;
  if (!TakeEntries(sections, unit->is_wide, reader, &folders)) return false;
  for (const File& folder : folders) unit->folders.push_back(folder.name);
  return TakeEntries(sections, unit->is_wide, reader, &unit->files);
}

// Before version 5 the folder of the compilation is number 0 and not said, and files are numbered from 1.
bool TakeOldNames(ByteReader* reader, Unit* unit) {
  unit->folders.emplace_back();
  while (!reader->AtEnd()) {
    const std::string_view folder = reader->TakeText();
    if (folder.empty()) break;
    unit->folders.push_back(folder);
  }
  unit->files.emplace_back();
  while (!reader->AtEnd()) {
    File file;
    file.name = reader->TakeText();
    if (file.name.empty()) break;
    file.folder = reader->Uleb();
    reader->Uleb();  // when it was changed
    reader->Uleb();  // its size
    unit->files.push_back(file);
  }
  return !reader->is_bad();
}

// False at the end, and at what cannot be skipped either. A unit that cannot be read has no program.
bool TakeUnit(const Sections& sections, ByteReader* section, Unit* unit) {
  if (section->AtEnd()) return false;
  const auto short_size = section->Take<uint32_t>();
  unit->is_wide = short_size == kWideLength;
  const uint64_t size = unit->is_wide ? section->Take<uint64_t>() : short_size;
  ByteReader reader(section->TakeBytes(size));
  if (section->is_bad()) return false;
  unit->version = reader.Take<uint16_t>();
  if (unit->version < 2 || unit->version > 5) return true;
  if (unit->version == 5) reader.Take<uint16_t>();  // sizes of addresses and segments
  ByteReader header(reader.TakeBytes(TakeOffset(&reader, unit->is_wide)));
  unit->instruction_bytes = header.Take<uint8_t>();
  if (unit->version >= 4) header.Take<uint8_t>();  // operations of an instruction
  header.Take<uint8_t>();                          // whether rows are statements by default
  unit->line_base = header.Take<int8_t>();
  unit->line_range = header.Take<uint8_t>();
  unit->first_special = header.Take<uint8_t>();
  if (header.is_bad() || unit->line_range == 0 || unit->first_special == 0) return true;
  unit->operand_counts = header.TakeBytes(unit->first_special - 1u);
  const bool is_good = unit->version == 5 ? TakeNewNames(sections, &header, unit) : TakeOldNames(&header, unit);
  if (is_good) unit->program = reader.Rest();
  return true;
}

// Runs the program of a unit. `row(begin, end, file, line)` is told each piece of code.
template <class Row>
class LineProgram {
 public:
  LineProgram(const Unit& unit, Row& row) : unit_(unit), row_(row) {}

  void Run() {
    ByteReader reader(unit_.program);
    while (!reader.AtEnd()) Step(&reader);
  }

 private:
  struct State {
    uint64_t address = 0, file = 1;
    uint32_t line = 1;
  };

  void Advance(uint64_t steps) { now_.address += steps * unit_.instruction_bytes; }
  void AdvanceLine(int64_t lines) { now_.line += static_cast<uint32_t>(lines); }

  // Code up to here belongs to the row before. What the linker left out begins at address 0.
  void Emit(bool is_end) {
    const bool is_there = has_row_ && begin_ != 0 && before_.address < now_.address;
    if (is_there) row_(before_.address, now_.address, before_.file, before_.line);
    if (!has_row_) begin_ = now_.address;
    before_ = now_;
    has_row_ = !is_end;
    if (is_end) now_ = {};
  }

  void Step(ByteReader* reader) {
    const auto code = reader->Take<uint8_t>();
    if (code >= unit_.first_special) {
      const auto adjusted = static_cast<uint8_t>(code - unit_.first_special);
      Advance(adjusted / unit_.line_range);
      AdvanceLine(unit_.line_base + adjusted % unit_.line_range);
      return Emit(false);
    }
    if (code == 0) return StepExtended(reader);
    StepStandard(code, reader);
  }

  void StepStandard(uint8_t code, ByteReader* reader) {
    switch (code) {
      case 1:
        return Emit(false);
      case 2:
        return Advance(reader->Uleb());
      case 3:
        return AdvanceLine(reader->Sleb());
      case 4:
        now_.file = reader->Uleb();
        return;
      case 8:  // as a special one with the largest number, but without a row
        return Advance(static_cast<uint8_t>(255 - unit_.first_special) / unit_.line_range);
      case 9:
        now_.address += reader->Take<uint16_t>();
        return;
      default:  // of no interest, or unknown
        for (uint8_t i = 0; i < unit_.operand_counts[code - 1u]; ++i) reader->Uleb();
    }
  }

  void StepExtended(ByteReader* reader) {
    ByteReader body(reader->TakeBytes(reader->Uleb()));
    const auto code = body.Take<uint8_t>();
    if (code == 1) return Emit(true);
    if (code == 2) now_.address = body.Take<uint64_t>();
  }

  const Unit& unit_;
  Row& row_;
  State now_, before_;
  uint64_t begin_ = 0;  // of the sequence
  bool has_row_ = false;
};

std::string PathOf(const Unit& unit, uint64_t number) {
  if (number >= unit.files.size()) return "";
  const File& file = unit.files[number];
  const std::string name(file.name);
  const bool has_folder = file.folder < unit.folders.size() && !unit.folders[file.folder].empty();
  return name.empty() || name.front() == '/' || !has_folder ? name
                                                            : std::string(unit.folders[file.folder]) + "/" + name;
}

// The addresses in order, and the lines found for them.
class Wanted {
 public:
  explicit Wanted(const std::vector<uint64_t>& addresses) : addresses_(addresses), order_(addresses.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [this](std::size_t a, std::size_t b) { return addresses_[a] < addresses_[b]; });
    at_ = order_.begin();
    lines_.resize(addresses.size());
  }

  // Most rows begin where the one before ended, which saves the search.
  void Take(const Unit& unit, uint64_t begin, uint64_t end, uint64_t file, uint32_t line) {
    if (begin != end_) {
      at_ = std::partition_point(order_.begin(), order_.end(), [&](std::size_t i) { return addresses_[i] < begin; });
    }
    end_ = end;
    for (; at_ != order_.end() && addresses_[*at_] < end; ++at_) {
      SourceLine& found = lines_[*at_];
      if (found.line == 0 && line != 0) found = {PathOf(unit, file), line};
    }
  }

  std::vector<SourceLine>& lines() { return lines_; }

 private:
  const std::vector<uint64_t>& addresses_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t>::const_iterator at_;
  uint64_t end_ = 0;
  std::vector<SourceLine> lines_;
};

}  // namespace

std::vector<SourceLine> FindLines(const ElfImage& image, const std::vector<uint64_t>& addresses) {
  Wanted wanted(addresses);
  const Sections sections = {image.SectionNamed(kLineSection), image.SectionNamed(".debug_str"),
                             image.SectionNamed(".debug_line_str")};
  ByteReader section(sections.line);
  for (Unit unit; TakeUnit(sections, &section, &unit); unit = {}) {
    auto row = [&](uint64_t begin, uint64_t end, uint64_t file, uint32_t line) {
      wanted.Take(unit, begin, end, file, line);
    };
    LineProgram(unit, row).Run();
  }
  return std::move(wanted.lines());
}

std::size_t BytesOfLines(const ElfImage& image) { return image.SectionNamed(kLineSection).size(); }

}  // namespace gprof
