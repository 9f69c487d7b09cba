"""Names that analyses look at, and some that they do not know."""

LAUNCHES = ["cudaLaunchKernel", "cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060", "cuLaunchKernel",
            "cuLaunchKernelEx", "cudaLaunchCooperativeKernel", "cudaLaunchKernel_ptsz"]
QUERIES = ["cudaGetDevice", "cudaPeekAtLastError", "cudaEventQuery", "cudaStreamQuery", "cudaGetLastError",
           "cuCtxGetCurrent", "cudaStreamIsCapturing", "cudaFuncGetAttributes",
           "cudaOccupancyMaxActiveBlocksPerMultiprocessor"]
OTHER_CALLS = ["cudaProfilerStart", "cudaSetDevice", "cuModuleLoadData", "cudaModuleLoad", "cuInit", "cudaStreamCreate",
               "cudaEventCreate", "cudaEventDestroy", "cudaHostRegister", "cudaMallocHost", "cudaLaunchHostFunc",
               "cudaGraphInstantiate", "my_function", "cudaMemGetInfo", "cudaMemPrefetchAsync",
               "cudaStreamBeginCapture_v10000", "cudaStreamEndCapture", "cudaGraphUpload", "cudaDeviceReset",
               "cuMemAlloc_v2", "cuMemFree_v2", "hipModuleLaunchKernel", "cudaLaunch"]
CALLS_AROUND_OTHERS = ["cudaGraphLaunch", "cudaLaunchKernel", "cudaDeviceSynchronize", "cudaMalloc", "outer"]
KERNELS = [
    "_Z4tinyPf", "_Z5saxpyifPKfPf", "gemm_kernel", "ncclDevKernel_AllGather_RING_LL(x)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvT_", "flash_fwd<a,b>(int)", "_ZN5gprof7kernels11SaxpyKernelEv",
    "reduce", "\\xff\\xfe", "", "void k<1>(int)", "void k<2>(int)", "softmax", "layernorm", "copy"
]
RANGES = ["step", "epoch", "forward", "backward", "optimizer", "load", "batch", "layer", "attention", "mlp", "a/b", "*",
          "", "init"]
