#include "cli/screen/full_screen.h"

#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "gprof/terminal_entries.h"

namespace gprof::cli {
namespace {

// Those of another size, and those that a process dies of.
constexpr int kSignals[] = {SIGWINCH, SIGCONT, SIGINT, SIGTERM, SIGHUP, SIGQUIT,
                            SIGABRT,  SIGSEGV, SIGBUS, SIGFPE,  SIGILL};
constexpr int kEscapeMs = 100;  // after which Esc is a key of its own, and not the begin of another over a slow line

// What a signal handler leaves the terminal with.
termios modes_before;
char leaving[256];
std::size_t leaving_size = 0;

int Keep(int c) {
  if (leaving_size < sizeof leaving) leaving[leaving_size++] = static_cast<char>(c);
  return c;
}

// nullptr where the terminal has no such thing.
char* Capability(const char* name) {
  char* const text = tigetstr(name);
  return text == reinterpret_cast<char*>(-1) ? nullptr : text;
}

// To the last line, which becomes empty for what follows, and out of everything that ncurses turned on.
void PrepareLeaving() {
  constexpr int kFarDown = 998;
  leaving_size = 0;
  tputs(tparm(Capability("cup"), kFarDown, 0), 1, Keep);
  for (const char* name : {"sgr0", "el", "cnorm", "rmkx", "rmcup"}) {
    if (const char* text = Capability(name)) tputs(text, 1, Keep);
  }
}

// Before the process dies of the signal, as it would have. In the background the terminal belongs to somebody else.
void LeaveTerminal(int signal) {
  if (tcgetpgrp(STDOUT_FILENO) == getpgrp()) {
    const ssize_t ignored = write(STDOUT_FILENO, leaving, leaving_size);
    static_cast<void>(ignored);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_before);
  }
  raise(signal);
}

// Wakes who waits for keys, whichever thread the signal comes to. -1: nobody does.
int size_bell = -1;

void Ring(int) {
  const int error = errno;
  eventfd_write(size_bell, 1);
  errno = error;
}

bool IsKnown() {
  int error = 0;
  return setupterm(nullptr, STDOUT_FILENO, &error) == OK && Capability("cup") != nullptr;
}

// Emulators that take what xterm takes.
bool IsLikeXterm(std::string_view name) {
  constexpr std::string_view kNames[] = {"alacritty", "foot",    "ghostty", "gnome", "iterm",
                                         "kitty",     "konsole", "rxvt",    "st",    "wezterm"};
  return std::ranges::any_of(kNames, [&](std::string_view start) { return name.starts_with(start); });
}

// As terminfo knows it, or else as it is built in.
bool FindTerminal() {
  if (IsKnown()) return true;
  const char* const variable = std::getenv("TERM");
  const std::string name = variable == nullptr ? "" : IsLikeXterm(variable) ? "xterm" : variable;
  for (const TerminalEntry* known = kTerminalEntries; known->entry != nullptr; ++known) {
    if (!name.starts_with(known->name.substr(0, known->name == "vt100" ? 2 : known->name.size()))) continue;
    setenv("TERM", std::string(known->name).c_str(), 1);
    setenv("TERMINFO", (std::string("b64:") + known->entry).c_str(), 1);
    return IsKnown();
  }
  return false;
}

// Where nobody said which characters the terminal takes, those that all output of ours has.
void ChooseCharacters() {
  const bool is_said =
      std::setlocale(LC_CTYPE, "") != nullptr && std::string_view(nl_langinfo(CODESET)) != "ANSI_X3.4-1968";
  if (!is_said) std::setlocale(LC_CTYPE, "C.UTF-8");
}

attr_t AttributesOf(Look look) {
  switch (look) {
    case Look::kBold:
      return A_BOLD;
    case Look::kDim:
      return A_DIM;
    case Look::kReverse:
      return A_REVERSE;
    case Look::kPlain:
      break;
  }
  return A_NORMAL;
}

Key KeyOf(wint_t code) {
  switch (code) {
    case KEY_UP:
      return key::kUp;
    case KEY_DOWN:
      return key::kDown;
    case KEY_LEFT:
      return key::kLeft;
    case KEY_RIGHT:
      return key::kRight;
    case KEY_PPAGE:
      return key::kPageUp;
    case KEY_NPAGE:
      return key::kPageDown;
    case KEY_HOME:
      return key::kFirst;
    case KEY_END:
      return key::kLast;
    case KEY_ENTER:
      return key::kEnter;
    case KEY_BACKSPACE:
      return key::kBackspace;
    case KEY_RESIZE:
      return key::kResize;
    default:
      return key::kOther;
  }
}

// While it lives, the process leaves the terminal before it dies, and hears of another size.
class TerminalGuard {
 public:
  TerminalGuard() {
    PrepareLeaving();
    size_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sigaction leave = {}, ring = {};
    leave.sa_handler = LeaveTerminal;
    leave.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
    sigaddset(&leave.sa_mask, SIGTTOU);
    ring.sa_handler = Ring;
    ring.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      const bool is_of_size = kSignals[i] == SIGWINCH || kSignals[i] == SIGCONT;
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], is_of_size ? &ring : &leave, nullptr);
    }
  }
  ~TerminalGuard() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    close(std::exchange(size_bell, -1));
  }
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;

 private:
  struct sigaction before_[std::size(kSignals)];
};

class CursesScreen : public FullScreen {
 public:
  // After setupterm. The guard comes first: ncurses keeps off signals that somebody looks after.
  CursesScreen() : screen_(newterm(nullptr, stdout, stdin)) {
    if (screen_ == nullptr) return;
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
  }
  ~CursesScreen() override {
    if (screen_ == nullptr) return;
    move(getmaxy(stdscr) - 1, 0);
    clrtoeol();  // for what follows, where there is no other screen to go back to
    refresh();
    endwin();
    delscreen(screen_);
  }
  CursesScreen(const CursesScreen&) = delete;
  CursesScreen& operator=(const CursesScreen&) = delete;

  bool IsOpen() const { return screen_ != nullptr; }

  ScreenSize Size() override {
    winsize size = {};
    const bool is_told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    if (is_told && is_term_resized(size.ws_row, size.ws_col)) resizeterm(size.ws_row, size.ws_col);
    return {static_cast<std::size_t>(getmaxy(stdscr)), static_cast<std::size_t>(getmaxx(stdscr))};
  }

  void Draw(const std::vector<ScreenLine>& shown) override {
    erase();
    int cursor = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (shown[i].look == Look::kReverse) cursor = static_cast<int>(i);
      attrset(static_cast<int>(AttributesOf(shown[i].look)));
      mvaddstr(static_cast<int>(i), 0, shown[i].text.c_str());
    }
    attrset(A_NORMAL);
    move(cursor, 0);  // which screen readers follow
    refresh();
  }

  Key Next() override {
    for (;;) {
      wint_t code = 0;
      const int kind = get_wch(&code);
      if (kind == KEY_CODE_YES) return KeyOf(code);
      if (kind != ERR) return Plain(code);
      pollfd inputs[] = {{STDIN_FILENO, POLLIN, 0}, {size_bell, POLLIN, 0}};
      if (poll(inputs, std::size(inputs), -1) <= 0) continue;
      if ((inputs[0].revents & ~POLLIN) != 0) return key::kEnd;
      eventfd_t rings = 0;
      if (eventfd_read(size_bell, &rings) == 0) return key::kResize;
    }
  }

 private:
  static Key Plain(wint_t code) {
    if (code == key::kRedraw) clearok(curscr, TRUE);
    return code == '\n' ? key::kEnter : code == '\b' ? key::kBackspace : static_cast<Key>(code);
  }

  const TerminalGuard guard_;
  SCREEN* const screen_;
};

}  // namespace

std::unique_ptr<FullScreen> FullScreen::Open() {
  use_env(FALSE);  // LINES and COLUMNS do not follow the size of the window
  use_tioctl(TRUE);
  if (tcgetattr(STDIN_FILENO, &modes_before) != 0 || !FindTerminal()) return nullptr;
  ChooseCharacters();
  set_escdelay(kEscapeMs);
  auto screen = std::make_unique<CursesScreen>();
  if (!screen->IsOpen()) return nullptr;
  return screen;
}

}  // namespace gprof::cli
