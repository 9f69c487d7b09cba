#include "cli/arguments/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands/command.h"
#include "cli/entry/help.h"

namespace gprof::cli {
namespace {

using Words = std::vector<std::string>;

TEST(SplitList, KeepsEmptyPieces) {
  EXPECT_EQ(SplitList("a,b"), (Words{"a", "b"}));
  EXPECT_EQ(SplitList(",a,"), (Words{"", "a", ""}));
  EXPECT_EQ(SplitList(""), (Words{""}));
}

TEST(ShellQuoted, OneWordForAShell) {
  EXPECT_EQ(ShellQuoted("run.trace"), "run.trace");
  EXPECT_EQ(ShellQuoted("my run"), "'my run'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("$(x)"), "'$(x)'");
}

TEST(ReadTime, TakesUnits) {
  EXPECT_EQ(ReadTime("--x", "250"), 250);
  EXPECT_EQ(ReadTime("--x", "0"), 0);
  EXPECT_EQ(ReadTime("--x", "250ns"), 250);
  EXPECT_EQ(ReadTime("--x", "10us"), 10'000);
  EXPECT_EQ(ReadTime("--x", "1.5ms"), 1'500'000);
  EXPECT_EQ(ReadTime("--x", "2s"), 2'000'000'000);
  for (const char* text : {"", "ms", "-1", "1 ms", "1m", "1e30s", "nan", "inf", "0x10", "1.2.3"}) {
    EXPECT_THROW(ReadTime("--x", text), Error) << text;
  }
}

// Profile's options as the rewriting sees them.
Words Join(const Words& arguments) {
  const CommandInfo& info = *FindCommand("profile");
  const auto command = info.make();
  CLI::App app;
  PrepareApp(info, *command, app);
  return WithFlagValuesJoined(app, arguments);
}

TEST(WithFlagValuesJoined, NsightSpellingBecomesOurs) {
  EXPECT_EQ(Join({"-f", "true", "./app"}), (Words{"--force-overwrite=true", "./app"}));
  EXPECT_EQ(Join({"-o", "x", "-f", "false", "./app"}), (Words{"-o", "x", "--force-overwrite=false", "./app"}));
  EXPECT_EQ(Join({"--cuda-trace-all-apis", "true", "./app"}), (Words{"--cuda-trace-all-apis=true", "./app"}));
}

TEST(WithFlagValuesJoined, LeavesTheProgramAlone) {
  for (const Words& words :
       {Words{"-f", "true"}, Words{"-f", "./app", "-f", "true", "x"}, Words{"--", "-f", "true", "x"},
        Words{"true", "-f", "true", "x"}, Words{"-o", "true", "./app"}, Words{}, Words{"--unknown", "true", "x"}}) {
    EXPECT_EQ(Join(words), words);
  }
}

TEST(Commands, EveryOneExplainsEveryOption) {
  for (const CommandInfo& info : AllCommands()) {
    EXPECT_FALSE(info.summary.empty());
    const auto command = info.make();
    CLI::App app;
    PrepareApp(info, *command, app);
    for (const CLI::Option* option : app.get_options()) {
      EXPECT_FALSE(option->get_description().empty()) << info.name << " " << option->get_name();
    }
    EXPECT_EQ(FindCommand(info.name), &info);
  }
}

// `check --fail-if CONDITION run.trace`: the trace is no second condition.
TEST(Commands, NoOptionTakesWordsThatBelongToNone) {
  for (const CommandInfo& info : AllCommands()) {
    const auto command = info.make();
    CLI::App app;
    PrepareApp(info, *command, app);
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() || option->get_items_expected_max() < CLI::detail::expected_max_vector_size)
        continue;
      EXPECT_FALSE(option->get_allow_extra_args()) << info.name << " " << option->get_name();
    }
  }
}

TEST(Commands, NearestIsACommand) {
  EXPECT_EQ(NearestCommand("reprot"), "report");
  EXPECT_EQ(NearestCommand("zebra"), "");
}

}  // namespace
}  // namespace gprof::cli
