// What makes each command; see commands.cpp.
#pragma once

#include <memory>

#include "cli/commands/command.h"

namespace gprof::cli {

std::unique_ptr<Command> MakeProfile();
std::unique_ptr<Command> MakeAttach();
std::unique_ptr<Command> MakeDetach();
std::unique_ptr<Command> MakeEnv();
std::unique_ptr<Command> MakeRecord();
std::unique_ptr<Command> MakeSnapshot();
std::unique_ptr<Command> MakeTop();
std::unique_ptr<Command> MakeServe();
std::unique_ptr<Command> MakeLaunch();
std::unique_ptr<Command> MakeStart();
std::unique_ptr<Command> MakeStop();
std::unique_ptr<Command> MakeCancel();
std::unique_ptr<Command> MakeStatus();
std::unique_ptr<Command> MakeShutdown();
std::unique_ptr<Command> MakeCompare();
std::unique_ptr<Command> MakeWhatIf();
std::unique_ptr<Command> MakeBisect();
std::unique_ptr<Command> MakeTry();
std::unique_ptr<Command> MakeCounters();
std::unique_ptr<Command> MakeReport();
std::unique_ptr<Command> MakeRequests();
std::unique_ptr<Command> MakeExplain();
std::unique_ptr<Command> MakeQuery();
std::unique_ptr<Command> MakeTree();
std::unique_ptr<Command> MakeMcp();
std::unique_ptr<Command> MakeStats();
std::unique_ptr<Command> MakeView();
std::unique_ptr<Command> MakeCheck();
std::unique_ptr<Command> MakeDiff();
std::unique_ptr<Command> MakeBaseline();
std::unique_ptr<Command> MakePartial();
std::unique_ptr<Command> MakeMerge();
std::unique_ptr<Command> MakeRanks();
std::unique_ptr<Command> MakeExport();
std::unique_ptr<Command> MakeArrays();
std::unique_ptr<Command> MakeTrace();
std::unique_ptr<Command> MakeInfo();
std::unique_ptr<Command> MakeDump();
std::unique_ptr<Command> MakeSymbolize();
std::unique_ptr<Command> MakeMonitor();
std::unique_ptr<Command> MakeDoctor();
std::unique_ptr<Command> MakeHelp();
std::unique_ptr<Command> MakeCompletion();
std::unique_ptr<Command> MakeVersion();

}  // namespace gprof::cli
