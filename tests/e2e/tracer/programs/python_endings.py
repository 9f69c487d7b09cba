"""Calls CUDA where Python is hardly there: in threads that go on while it shuts down, in objects that die then, in
another interpreter, in the child of a fork, and in a thread that Python knows nothing of."""
import atexit
import ctypes
import os
import sys
import threading
import time

cuda = ctypes.CDLL(os.environ["TEST_CUDART"])
cuda.cudaDeviceSynchronize()
if sys.argv[1] == "daemon":
    def forever():
        while True:
            cuda.cudaDeviceSynchronize()
    for _ in range(4):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.05)
elif sys.argv[1] == "dying":
    class Dying:
        def __del__(self):
            cuda_at_end.cudaDeviceSynchronize()
    cuda_at_end = cuda
    sys.dying = Dying()
    atexit.register(cuda.cudaDeviceSynchronize)
elif sys.argv[1] == "interpreter":
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    number = interpreters.create()
    interpreters.run_string(number, "import ctypes, os\nctypes.CDLL(os.environ['TEST_CUDART']).cudaDeviceSynchronize()\n")
    interpreters.destroy(number)
    cuda.cudaDeviceSynchronize()
elif sys.argv[1] == "fork":
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    cuda.cudaDeviceSynchronize()
elif sys.argv[1] == "foreign":
    # A thread of C alone: pthread_create runs the CUDA function itself.
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, cuda.cudaDeviceSynchronize, None)
    libc.pthread_join(thread, None)
print("done")
