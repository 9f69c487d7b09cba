#pragma once

// Runs one scenario in this process; the answer is its exit code.
int RunScenario(const char* name);
