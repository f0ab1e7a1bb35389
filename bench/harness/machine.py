"""The conditions of the figures: the machine, its disk, the commit."""
import os
import platform
import re
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def git(*words):
    done = subprocess.run(["git", "--no-optional-locks", "-C", TOP, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit():
    return (git("rev-parse", "--short=12", "HEAD") or "none") + (" with local changes" if git("status", "--porcelain") else "")


def describe(directory):
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    with open("/proc/meminfo") as file:
        memory_kib = int(re.search(r"MemTotal:\s*(\d+)", file.read()).group(1))
    row = subprocess.run(["df", "-T", directory], check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    return {"cpu": model.group(1) if model else platform.machine(), "cores": os.cpu_count(),
            "memory_gib": round(memory_kib / 2**20, 1), "kernel": platform.release(), "filesystem": row.split()[1],
            "load_average_before": os.getloadavg()[0]}


def fdatasync_ms(directory, times=300):
    """Measures one fdatasync of a 4 KiB append, the least time of every durable write."""
    path = os.path.join(directory, "fdatasync")
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    taken = []
    try:
        for _ in range(times):
            os.write(descriptor, b"\0" * 4096)
            begin = time.perf_counter()
            os.fdatasync(descriptor)
            taken.append((time.perf_counter() - begin) * 1000)
    finally:
        os.close(descriptor)
        os.unlink(path)
    taken.sort()
    return {"p50": round(taken[times // 2], 3), "p99": round(taken[times * 99 // 100], 3)}


def resident_mib(process, figure="VmRSS"):
    """Returns the present resident memory, or with VmHWM the largest that it ever was."""
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(rf"{figure}:\s*(\d+)", file.read()).group(1)) / 1024
