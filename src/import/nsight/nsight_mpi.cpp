// Calls of MPI: messages, collectives, waits, and all others.
#include <algorithm>
#include <string_view>

#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"

namespace gprof {
namespace {

constexpr std::string_view kMpiTables[] = {"MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS",
                                           "MPI_OTHER_EVENTS"};

bool IsReceive(std::string_view function) {
  return function.find("ecv") != std::string_view::npos || function.find("robe") != std::string_view::npos;
}

}  // namespace

bool NsightImport::HasMpi() const {
  return std::any_of(std::begin(kMpiTables), std::end(kMpiTables),
                     [&](std::string_view table) { return file_.HasTable(table); });
}

void NsightImport::ReadMpi() {
  for (const std::string_view table : kMpiTables) ReadMpiCalls(table);
}

// Columns that a table does not have are NULL. Handles of communicators are those of each process, so their numbers say
// nothing here.
void NsightImport::ReadMpiCalls(std::string_view table) {
  static constexpr Columns kColumns{"start",    "end", "globalTid",  "textId",  "size",
                                    "recvSize", "tag", "remoteRank", "rootRank"};
  SqliteRows rows(file_, table, kColumns);
  while (rows.Next()) {
    Enter(rows, kColumns["globalTid"]);
    trace::MpiCallRecord r;
    r.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
    const uint32_t text = rows.IsNull(kColumns["textId"]) ? 0 : TextOf(rows.Int(kColumns["textId"]));
    const auto size = static_cast<uint64_t>(std::max<int64_t>(rows.Int(kColumns["size"]), 0));
    const bool is_receive = IsReceive(builder_.TextOf(text)) && !rows.IsNull(kColumns["tag"]);
    r.sent_bytes = is_receive ? 0 : size;
    r.received_bytes = is_receive ? size : static_cast<uint64_t>(std::max<int64_t>(rows.Int(kColumns["recvSize"]), 0));
    r.tag = static_cast<int32_t>(rows.Int(kColumns["tag"], -1));
    r.peer = static_cast<int32_t>(rows.Int(kColumns["remoteRank"], rows.Int(kColumns["rootRank"], -1)));
    if (!TakeSpan(rows, &r)) continue;
    r.function = builder_.Name(text);
    NoteThread(r.tid);
    builder_.Add(r);
  }
}

}  // namespace gprof
