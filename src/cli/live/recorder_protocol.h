// What is said through the socket of a recorder: a JSON object a line each way, as in a session.
//
//   {"do": "status"}
//   {"do": "flush"}      answered when every process has written what it has
//   {"do": "snapshot", "reason": TEXT, "output": PATH, "device": N, "inode": N, "run": N}   without a path: where -o
//   says
//
// And what a recorder leaves in its run folder, for who finds it dead.
#pragma once

#include <string>

#include "recorder/recorder.h"
#include "report/json_values.h"

namespace gprof::cli {

// In the launcher. Whatever the line is, there is an answer.
Answer AnswerRecorder(Recorder& recorder, const std::string& app, const std::string& line);

// The recorder of that name, or of the program or launcher with that pid; with an empty text the only one there is.
// Throws Error where it is not clear.
FoundRun ChooseRecorder(const std::string& text);

std::string SettingsText(const RecorderSettings& settings, const std::string& output);

// Takes snapshots of recorders that were killed, where nobody else has: says so, and warns of what cannot be had.
void RecoverRecorders();

}  // namespace gprof::cli
