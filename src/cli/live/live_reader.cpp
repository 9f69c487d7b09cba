#include "cli/live/live_reader.h"

#include <string>

#include "gprof/error.h"
#include "gprof/trace/run_folder.h"
#include "recorder/ring_snapshot.h"

namespace gprof::cli {

LiveReader::LiveReader(const FoundRun& recorder)
    : recorder_(recorder), ring_(Ring::OpenToRead(recorder.path + "/" + trace::kRingFile)) {
  if (!ring_) throw Error(ExitCode::kUnreadable, "cannot read what '" + recorder.session + "' records");
}

Json LiveReader::Refresh() {
  Json status = AskSession(recorder_, {{"do", "flush"}});
  ring_->Follow();
  return status;
}

std::optional<Trace> LiveReader::Between(int64_t from_ns, int64_t until_ns) const {
  std::string chunks;
  WriteSnapshot(*ring_, {.write =
                             [&chunks](std::string_view more) {
                               chunks += more;
                               return 0;
                             },
                         .from_ns = from_ns + 1,
                         .until_ns = until_ns,
                         .last_ns = until_ns,
                         .reason = {},
                         .writer = {}});
  if (chunks.empty()) return std::nullopt;
  return LoadTraceFromMemory(chunks, recorder_.path);
}

}  // namespace gprof::cli
