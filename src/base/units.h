// Numbers as people read them: 33.42 ms, 1.07 GB, 55.30 GB/s, 1,234,567, 97.3%.
#pragma once

#include <cstdint>
#include <string>

namespace gprof {

std::string FormatNs(double ns);         // 812 ns, 4.10 us, 33.42 ms, 1.50 s
std::string FormatDuration(int64_t ns);  // of work that people wait for: 12 s, 4 min 12 s, 1 h 5 min; 812 ms
std::string FormatBytes(double bytes);   // 512 B, 4.10 kB, 1.07 GB: powers of 1000, as bandwidth has
inline std::string FormatNs(int64_t ns) { return FormatNs(static_cast<double>(ns)); }
inline std::string FormatNs(uint64_t ns) { return FormatNs(static_cast<double>(ns)); }
inline std::string FormatBytes(int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }
inline std::string FormatBytes(uint64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }
std::string FormatBytesPerSecond(double bytes_per_second);  // 55.30 GB/s
std::string FormatPerSecond(double per_second);             // 1,234.5 /s
std::string FormatCount(int64_t count);                     // 1,234,567
std::string FormatNumber(double value);                     // 1,234.5; no decimals where there are none
std::string FormatPercent(double percent);                  // 97.3%; never 100.0% or 0.0% for what only rounds to it
std::string FormatCudaVersion(uint32_t version);            // 13.0 of 13000, empty for 0

// Differences: "+1.20 ms", "-4.10 us", "0 ns"; "+12.5%", "-0.02%", "0%"; "+1,234"; "-4.10 kB".
std::string FormatNsChange(double ns);
std::string FormatPercentChange(double percent);  // two decimals where one would say 0.0
std::string FormatCountChange(int64_t count);
std::string FormatBytesChange(double bytes);

// "1 kernel", "2 kernels", "1,234 copies": plural is `noun` + "s" where not given.
std::string CountOf(int64_t count, const char* noun, const char* plural = nullptr);

}  // namespace gprof
