"""A cluster of Slurm for one test: two nodes, which are this machine twice. Needs root, as slurmd does, and slurm-wlm and munge of Debian."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")
NODES, CPUS_OF_A_NODE = 2, 4
DEADLINE_S = 60
CONFIGURATION = """\
ClusterName=gprof
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=node[0-1] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]}-{ports[2]}] CPUs={cpus} RealMemory=65536
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def why_not():
    """Why it cannot be started here, or an empty text."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"{', '.join(missing)} of Slurm and munge are not installed"
    return "" if os.geteuid() == 0 else "slurmd needs root"


def free_ports(count):
    """Numbers in a row that nobody listens at."""
    while True:
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            first = chosen.getsockname()[1]
        try:
            held = [socket.create_server(("127.0.0.1", first + i)) for i in range(count)]
        except OSError:
            continue
        for one in held:
            one.close()
        return [first + i for i in range(count)]


class Cluster:
    """In a folder of its own; `env` is for whoever gives it work."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o755)  # munge insists on a socket that everybody could reach
        self.env = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.processes = []

    def start(self):
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        text = CONFIGURATION.format(host=socket.gethostname().split(".")[0], folder=self.folder, ports=free_ports(1 + NODES),
                                    cpus=CPUS_OF_A_NODE)
        (self.folder / "slurm.conf").write_text(text)
        self.run_daemon("munged", "--foreground", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                        f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
                        f"--seed-file={self.folder}/munged.seed")
        self.wait_for(lambda: (self.folder / "munge.socket").exists(), "munge")
        self.run_daemon("slurmctld", "-D")
        for number in range(NODES):
            self.run_daemon("slurmd", "-D", "-N", f"node{number}")
        self.wait_for(lambda: self.idle_nodes() == NODES, "the nodes of Slurm")

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def run_daemon(self, *words):
        with open(self.folder / f"daemon{len(self.processes)}.out", "wb") as log:
            self.processes.append(subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def idle_nodes(self):
        done = subprocess.run(["sinfo", "-h", "-N", "-t", "idle", "-o", "%N"], env=self.env, capture_output=True, text=True, timeout=DEADLINE_S)
        return len(done.stdout.split())

    def wait_for(self, is_there, what):
        until = time.monotonic() + DEADLINE_S
        while not is_there():
            if time.monotonic() > until or any(process.poll() is not None for process in self.processes):
                said = "\n".join(path.read_text(errors="replace")[-600:] for path in self.folder.glob("*.out"))
                raise AssertionError(f"{what} did not come: {said}")
            time.sleep(0.1)
