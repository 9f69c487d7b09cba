#!/bin/sh -e
# Records the real captures of the examination: record.sh GPROF_CLI FOLDER. Needs Open MPI, MPICH, the headers of NVTX
# (CPPFLAGS=-I…/include), and for ranks.py a Python with nvtx and mpi4py (PYTHON=…).
here=$(cd "$(dirname "$0")" && pwd)
gprof=$1
out=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for mpi in openmpi mpich; do
  mpicc.$mpi -O1 -g "-ffile-prefix-map=$here=." $CPPFLAGS -o "$work/ranks.$mpi" "$here/ranks.c" -ldl
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
cp "$here/ranks.py" "$work"
cd "$work"

# record NAME RANKS MODE: a trace for each rank
record() {
  mpirun.openmpi -n "$2" "$gprof" profile -f -o "$out/$1_%q{OMPI_COMM_WORLD_RANK}.trace" ./ranks.openmpi "$3"
}

record sleep 4 sleep
record busy 2 busy
record write 3 write
record bcast 4 bcast
record ring 4 ring
record even 3 even
mpirun.mpich -n 4 "$gprof" profile -f -o "$out/mpich_%q{PMI_RANK}.trace" ./ranks.mpich sleep
"$gprof" profile -f -o "$out/together.trace" mpirun.openmpi -n 4 ./ranks.openmpi sleep
mpirun.openmpi -n 2 "$gprof" profile -f -o "$out/python_%q{OMPI_COMM_WORLD_RANK}.trace" "${PYTHON:-python3}" ranks.py
cd "$out"
tar --sort=name --owner=0 --group=0 --mtime=@0 -cJf traces.tar.xz ./*.trace --transform='s,^./,,'
rm ./*.trace
