// Stands for libnvperf_host and libnvperf_target, which libcupti needs beside it and tools never call.
extern "C" __attribute__((visibility("default"))) int mock_nvperf() { return 1; }
