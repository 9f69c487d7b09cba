// Records that fit together, which random ones hardly ever do: a payload and its layout, captures, clones of a node.
#pragma once

namespace gprof {

inline constexpr char kLinkedTrace[] = R"(
capture time_ns=100 event=1 trigger=4 number=1
nvtx_schema domain=1 schema=16777217 schema_type=2 size_bytes=0 entry_count=4 name="all"
nvtx_schema_entry domain=1 schema=16777217 index=0 entry_type=16 name="n"
nvtx_schema_entry domain=1 schema=16777217 index=1 flags=48 entry_type=75 array_length=0 name="text"
nvtx_schema_entry domain=1 schema=16777217 index=2 flags=16 entry_type=16777218 array_length=2 name="pair"
nvtx_schema_entry domain=1 schema=16777217 index=3 entry_type=16777300 size_bytes=1 name="flags"
nvtx_schema domain=1 schema=16777218 schema_type=1 size_bytes=8 entry_count=2
nvtx_schema_entry domain=1 schema=16777218 index=0 entry_type=19 name="x"
nvtx_schema_entry domain=1 schema=16777218 index=1 entry_type=17 offset_bytes=4 size_bytes=4 name="y"
nvtx_enum domain=1 enumeration=16777300 value=1 is_flag=1 name="read"
nvtx time_ns=120 tid=7 event=2 domain=1 message="send" payload_type=7
nvtx_payload time_ns=120 tid=7 domain=1 schema=16777217 event=2 data="\x03\x00\x00\x00abc\x00\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02\x03\x04\x05\x06\x07\x08\x03"
graph_node time_ns=130 tid=7 graph=1 node=10
nvtx time_ns=140 tid=7 event=3 domain=1
graph_node time_ns=150 tid=7 graph=2 node=20 original=10
capture time_ns=200 event=2 trigger=4 number=1
capture time_ns=300 event=1 trigger=4 number=2
api start_ns=310 duration_ns=5 tid=7 correlation=9 function="cudaGraphLaunch" domain=1
kernel start_ns=305 duration_ns=2 correlation=3 name="before"
kernel start_ns=320 duration_ns=5 correlation=9 name="node" graph=2 graph_node=20
memory time_ns=330 operation=1 memory=3 address=4096 size_bytes=64
managed_memory start_ns=340 duration_ns=5 managed_kind=1 value=4096 source=4294967295
end time_ns=400 reason=4 gpu_complete_until_ns=350
)";

}  // namespace gprof
