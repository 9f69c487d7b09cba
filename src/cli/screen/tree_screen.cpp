#include "cli/screen/tree_screen.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/screen/render_tree.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kHeadLines = 2, kFootLines = 2;
constexpr std::string_view kKeys = "Enter open  / search  s sort  b by  f finding  ? help  q quit";
constexpr std::string_view kFewKeys = "? help  q quit";
constexpr std::string_view kTextKeys = "Up, Down, PgUp, PgDn scroll  q back";

constexpr std::string_view kHelp =
    "Up, Down, k, j       previous and next row\n"
    "PgUp, PgDn, Space    a screen up and down\n"
    "Home, End, g, G      first and last row\n"
    "Right, +, l          open the row; Right again enters it\n"
    "Left, -, h           fold the row; Left again goes to the row above it\n"
    "Enter                open or fold the row\n"
    "Tab                  between GPU time and idle time\n"
    "*                    open everything below the row\n"
    "z                    fold everything\n"
    "s                    sort by time, count or name\n"
    "/                    search as you type, in folded rows too; Esc goes back\n"
    "n, N                 next and previous row found\n"
    "b                    what the tree is by: cause, module, stack, NVTX range\n"
    "f                    the findings that speak of the row\n"
    "Ctrl-L               draw the screen again\n"
    "?                    this help\n"
    "q, Ctrl-C            leave\n";

std::string_view NameOf(TreeSort sort) {
  return sort == TreeSort::kTime ? "time" : sort == TreeSort::kCount ? "count" : "name";
}

TreeSort After(TreeSort sort) { return static_cast<TreeSort>((static_cast<int>(sort) + 1) % 3); }

std::string Utf8Of(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  if (c < 0x10000) return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
  return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
}

void DropLastCharacter(std::string* text) {
  while (!text->empty() && (text->back() & 0xc0) == 0x80) text->pop_back();
  if (!text->empty()) text->pop_back();
}

std::string Padded(std::string text, std::size_t columns) {
  const std::size_t width = DisplayWidth(text);
  return width < columns ? text + std::string(columns - width, ' ') : text;
}

}  // namespace

Wish TreeScreen::Press(Key pressed) {
  message_.clear();
  if (pressed == key::kEnd) return Wish::kLeave;
  if (pressed == key::kResize && text_ && text_->is_of_findings) return Wish::kFindings;
  if (text_) return PressInText(pressed);
  if (!search_) return PressInTree(pressed);
  PressInSearch(pressed);
  return Wish::kNothing;
}

Wish TreeScreen::PressInTree(Key pressed) {
  if (MoveBy(pressed)) return Wish::kNothing;
  switch (pressed) {
    case 'q':
      return Wish::kLeave;
    case 'b':
      return Wish::kOtherTree;
    case 'f':
      return Wish::kFindings;
    case '?':
      ShowText("Keys", kHelp, false);
      break;
    case '/':
      search_ = Search{std::exchange(searched_, ""), rows_.Remember()};
      break;
    case key::kEscape:
      searched_.clear();
      break;
    case 'n':
    case 'N':
      SearchAgain(pressed == 'n');
      break;
    case 's':
      rows_.SortBy(After(rows_.sort()));
      break;
    case '\t':
      rows_.GoToNextTree();
      break;
    case '*':
      rows_.OpenAllBelow();
      break;
    case 'z':
      rows_.FoldAll();
      break;
    case key::kEnter:
      rows_.SetOpen(!rows_.current().is_open);
      break;
    case '+':
    case '-':
      rows_.SetOpen(pressed == '+');
      break;
    case key::kRight:
    case 'l':
      rows_.OpenOrEnter();
      break;
    case key::kLeft:
    case 'h':
      rows_.FoldOrLeave();
      break;
    default:
      break;
  }
  return Wish::kNothing;
}

bool TreeScreen::MoveBy(Key pressed) {
  const auto page = static_cast<int64_t>(std::max<std::size_t>(size_.rows, kHeadLines + kFootLines + 2) - kHeadLines -
                                         kFootLines - 1);
  const auto all = static_cast<int64_t>(text_ ? text_->lines.size() : rows_.shown().size());
  int64_t rows = 0;
  switch (pressed) {
    case key::kUp:
    case 'k':
      rows = -1;
      break;
    case key::kDown:
    case 'j':
      rows = 1;
      break;
    case key::kPageUp:
      rows = -page;
      break;
    case key::kPageDown:
    case ' ':
      rows = page;
      break;
    case key::kFirst:
    case 'g':
      rows = -all;
      break;
    case key::kLast:
    case 'G':
      rows = all;
      break;
    default:
      return false;
  }
  if (text_) {
    text_->top = static_cast<std::size_t>(std::clamp<int64_t>(static_cast<int64_t>(text_->top) + rows, 0, all));
  } else {
    rows_.Move(rows);
  }
  return true;
}

Wish TreeScreen::PressInText(Key pressed) {
  const bool is_back = pressed == 'q' || pressed == key::kEscape || pressed == key::kLeft || pressed == key::kEnter ||
                       pressed == (text_->is_of_findings ? 'f' : '?');
  if (is_back) {
    text_.reset();
  } else {
    MoveBy(pressed);
  }
  return Wish::kNothing;
}

// Each character looks again from where the search began, so that what an earlier one opened is folded again.
void TreeScreen::PressInSearch(Key pressed) {
  if (pressed == key::kEnter || pressed == key::kEscape || (pressed == key::kBackspace && searched_.empty())) {
    if (pressed != key::kEnter) rows_.GoBack(search_->place), searched_.clear();
    if (searched_.empty()) searched_ = search_->before;
    search_.reset();
    return;
  }
  if (pressed == key::kBackspace) {
    DropLastCharacter(&searched_);
  } else if (pressed >= ' ' && pressed < key::kEnd) {
    searched_ += Utf8Of(pressed);
  } else {
    return;
  }
  rows_.GoBack(search_->place);
  if (!searched_.empty() && !rows_.Find(searched_, true, true)) message_ = "not found";
}

void TreeScreen::SearchAgain(bool is_forward) {
  if (searched_.empty()) return Say("Nothing was searched for. Type / and a part of a name.");
  if (!rows_.Find(searched_, is_forward)) Say("No name has '" + Printable(searched_) + "' in it.");
}

TreeRows TreeScreen::ShowTree(std::string by, TreeRows rows) {
  by_ = std::move(by);
  top_ = 0;
  return std::exchange(rows_, std::move(rows));
}

void TreeScreen::ShowText(std::string title, std::string_view text, bool is_of_findings) {
  const std::size_t top = text_ ? text_->top : 0;
  text_ = Text{std::move(title), {}, top, is_of_findings};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    text_->lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<ScreenLine> TreeScreen::Lines(const ScreenSize& size) {
  size_ = size;
  std::vector<ScreenLine> lines;
  if (text_) {
    AddText(&lines);
  } else {
    AddTree(&lines);
  }
  lines.resize(size.rows);
  for (ScreenLine& line : lines) line.text = ShortenMiddle(line.text, size.columns);
  return lines;
}

void TreeScreen::AddTree(std::vector<ScreenLine>* lines) {
  // The rows themselves are the last that a small screen goes without.
  const std::size_t around = kHeadLines + kFootLines, body = size_.rows > around ? size_.rows - around : size_.rows;
  top_ = std::min(top_, rows_.shown().size() > body ? rows_.shown().size() - body : 0);
  top_ = std::clamp(top_, rows_.cursor() >= body ? rows_.cursor() - body + 1 : 0, rows_.cursor());
  if (size_.rows > around) {
    lines->push_back({file_ + "  " + by_ + "  sorted by " + std::string(NameOf(rows_.sort())), Look::kBold});
    lines->push_back({TreeHeadings(TreeColumns(size_.columns)), Look::kDim});
  }
  for (std::size_t i = top_; i < top_ + body; ++i) {
    lines->push_back(i < rows_.shown().size() ? LineOf(i) : ScreenLine{});
  }
  if (size_.rows <= around) return;
  lines->push_back({PathLine(), Look::kDim});
  lines->push_back({LastLine(), search_ || !message_.empty() ? Look::kPlain : Look::kDim});
}

ScreenLine TreeScreen::LineOf(std::size_t shown) const {
  const TreeRow& row = rows_[rows_.shown()[shown]];
  const TreeColumns columns(size_.columns);
  // However deep, a part of the name can be read.
  const std::string indent(std::min<std::size_t>(2 * row.depth, columns.room / 2), ' ');
  const char* const mark = !row.HasChildren() ? "  " : row.is_open ? "- " : "+ ";
  const std::size_t room = columns.room - std::min(columns.room, indent.size() + 2);
  const std::string name = ShortenMiddle(Printable(row.name), room);
  const std::string text = TreeFigures(columns, *row.node, row.tree->root.ns) + indent + mark + name;
  if (shown == rows_.cursor()) return {Padded(text, size_.columns), Look::kReverse};
  return {text, row.depth == 0 || TreeRows::Matches(row.name, searched_) ? Look::kBold : Look::kPlain};
}

// The name of the row in full as far as there is room, and as much of what it is in.
std::string TreeScreen::PathLine() const {
  constexpr std::string_view kIn = " > ";
  std::vector<std::string> path = rows_.PathOfCurrent();
  path.insert(path.begin(), std::string(rows_.current().tree->name));
  std::string line = Printable(path.back());
  for (path.pop_back(); !path.empty(); path.pop_back()) {
    const std::string more = Printable(path.back()) + std::string(kIn) + line;
    if (DisplayWidth(more) + 2 > size_.columns) return "… " + line;
    line = more;
  }
  return line;
}

std::string TreeScreen::LastLine() const {
  if (search_) return "/" + Printable(searched_) + (message_.empty() ? "" : "  (" + message_ + ")");
  return std::string(!message_.empty() ? message_ : kKeys.size() <= size_.columns ? kKeys : kFewKeys);
}

void TreeScreen::AddText(std::vector<ScreenLine>* lines) {
  const std::size_t body = std::max<std::size_t>(size_.rows, 3) - 2;
  text_->top = std::min(text_->top, text_->lines.size() > body ? text_->lines.size() - body : 0);
  lines->push_back({text_->title, Look::kBold});
  for (std::size_t i = text_->top; i < text_->top + body; ++i) {
    lines->push_back({i < text_->lines.size() ? text_->lines[i] : "", Look::kPlain});
  }
  lines->push_back({message_.empty() ? std::string(kTextKeys) : message_, Look::kDim});
}

}  // namespace gprof::cli
