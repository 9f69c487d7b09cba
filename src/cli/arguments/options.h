// Words on the command line, and what is said when they are wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gprof::cli {

// The pieces between commas.
std::vector<std::string> SplitList(std::string_view text);

// 250, 250ns, 10us, 1.5ms, 2s. Throws Error in the name of `option`.
int64_t ReadTime(const std::string& option, const std::string& text);

// 5, 0.5: seconds, as Nsight Systems has them. Nanoseconds come back.
int64_t ReadSeconds(const std::string& option, const std::string& text);

// Nsight Systems spells flags with a value, `-f true`, which becomes --flag=true. Taken as a flag and a program, it
// would run /bin/true: with a program only what stands before it is looked at, and a last word stays what it is, the
// program.
std::vector<std::string> WithFlagValuesJoined(const CLI::App& app, const std::vector<std::string>& arguments,
                                              bool runs_program = true);

// Checks for CLI11, in our words.
CLI::Validator OneOf(const std::vector<std::string>& words);
CLI::Validator WholeNumber(uint64_t least, uint64_t most);

// --step, in that group of options.
void AddStepOption(CLI::App& app, std::string* step, const std::string& group);

// As one would type them.
std::string ShellLine(const std::vector<std::string>& words);

// --raw-csv, of the commands that write CSV.
void AddRawCsvOption(CLI::App& app);

// --ignore-memory-limit, of all commands that read a trace: to read what trace/file/memory_budget.h refuses.
void AddMemoryLimitOption(CLI::App& app);

}  // namespace gprof::cli
