"""cuSPARSE, cuFFT, cuSOLVER, cuBLAS and cuDNN through PyTorch, each ROUNDS times; what came out is printed as JSON.

    torch_libraries_program.py ROUNDS

Everything is made on the CPU, so that a seed makes the same numbers wherever it runs. Exits with 3.
"""

import json
import sys
import warnings

import torch

warnings.simplefilter("ignore")  # sparse CSR is called a beta state
rounds = int(sys.argv[1])
torch.manual_seed(1)
torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cuda.preferred_linalg_library("cusolver")
identity = torch.eye(512)
sparse = (3 * identity).to_sparse_csr().cuda()
vector, matrix = torch.ones(512, device="cuda"), torch.ones(512, 64, device="cuda")
signal = torch.ones(4, 4096).cuda()
diagonal = (4 * identity).cuda()
images, filters = torch.ones(2, 8, 32, 32).cuda(), torch.ones(16, 8, 3, 3).cuda()
found = dict.fromkeys(("spmv", "spmm", "rfft", "fft", "potrf", "gemm", "convolution"), 0.0)
for _ in range(rounds):
    found["spmv"] += (sparse @ vector)[0].item()
    found["spmm"] += (sparse @ matrix)[0, 0].item()
    half = torch.fft.rfft(signal)
    found["rfft"] += half[0, 0].real.item()
    found["fft"] += torch.fft.fft(torch.complex(signal, signal))[0, 0].real.item()
    found["potrf"] += torch.linalg.cholesky(diagonal)[0, 0].item()
    found["gemm"] += (diagonal @ diagonal)[0, 0].item()
    found["convolution"] += torch.nn.functional.conv2d(images, filters)[0, 0, 0, 0].item()
print(json.dumps({name: round(value / rounds, 3) for name, value in found.items()}))
sys.exit(3)
