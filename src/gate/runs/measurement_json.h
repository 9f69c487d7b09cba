// Runs as JSON, the part that all documents of gates share. Figures stand in one line each, with a value for each run,
// so that a difference between two versions of a document can be read.
#pragma once

#include <string>

#include "base/json_style.h"
#include "gate/runs/measurement.h"

namespace gprof {

// Keys keep the order they are written in.

// Objects and lists indented; what holds plain values only, within a list or as a list, in one line.
std::string DocumentText(const Json& json);

// Throws Error in the name of `path`: it is no JSON, or not of the schema wanted. A later version of the schema is
// named.
Json ReadDocument(const std::string& text, const std::string& path, const std::string& schema);

Json FingerprintJson(const Fingerprint& fingerprint);
Fingerprint FingerprintFrom(const Json& json);

// Adds "runs" and "metrics" to an object. What has more scopes than anybody reads keeps the largest of them.
void AddRuns(const RunSet& set, Json* json);
// Throws Error in the name of `path` where they make no sense. Figures that this version does not know are skipped.
std::vector<Measurement> RunsFrom(const Json& json, const std::string& path);

}  // namespace gprof
