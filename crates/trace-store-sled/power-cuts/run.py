#!/usr/bin/env python3
"""Cuts the power of a sled ledger, again and again, and counts what is lost.

An ext4 file system in a file is mounted; a program writes to a ledger there and prints each write that was
acknowledged. After a random while it is frozen, the file system is shut down without flushing its log, and the program
is killed. The file system is mounted again as after a power cut: the ledger must open and hold everything that was
acknowledged. Every few rounds the file system is made anew, so that ledgers are cut while they are made, too.

The same is done with a copy of the workspace from which the sync after each write is taken out. It must show losses, or
the rounds say nothing.

It takes Linux, root for mounting, and e2fsprogs. Usage: crates/trace-store-sled/power-cuts/run.py [--rounds 40]
"""

import argparse
import fcntl
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

WORKSPACE = pathlib.Path(__file__).resolve().parents[3]
STORE = "crates/trace-store-sled"

# _IOR('X', 125, __u32), and the flag that leaves the log as it is.
EXT4_IOC_SHUTDOWN = 0x8004587D
EXT4_GOING_FLAGS_NOLOGFLUSH = 2

IMAGE_BYTES = 512 << 20
# After so many rounds the file system is made anew.
ROUNDS_OF_IMAGE = 3
# Launches of one round have numbers from a multiple of this on.
LAUNCHES_OF_ROUND = 100_000

SYNC = """    pub(crate) fn sync(&self) -> io::Result<()> {
        self.data.sync_all()
    }
"""
NO_SYNC = """    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def build(workspace, target):
    run("cargo", "build", "--quiet", "--locked", "-p", "trace-store-sled", "--example", "power_cut",
        "--target-dir", target, cwd=workspace)
    return target / "debug" / "examples" / "power_cut"


def copy_without_sync(scratch):
    """Copies the workspace, takes the sync out of the store, and returns the copy."""
    copy = scratch / "workspace"
    shutil.copytree(WORKSPACE, copy, ignore=shutil.ignore_patterns("target", ".git"))
    source = copy / STORE / "src" / "folder.rs"
    text = source.read_text()
    if text.count(SYNC) != 1:
        sys.exit(f"{source} does not hold the sync as this script knows it")
    source.write_text(text.replace(SYNC, NO_SYNC))
    return copy


class Disk:
    """A file system in a file, mounted as long as the power is on."""

    def __init__(self, scratch):
        self.image = scratch / "image"
        self.root = scratch / "mounted"
        self.root.mkdir(exist_ok=True)

    def make(self):
        self.image.unlink(missing_ok=True)
        with self.image.open("wb") as image:
            image.truncate(IMAGE_BYTES)
        run("mkfs.ext4", "-q", "-F", self.image)

    def mount(self):
        run("mount", "-o", "loop", self.image, self.root)

    def unmount(self):
        run("umount", self.root)

    def cut(self):
        root = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(root, EXT4_IOC_SHUTDOWN, struct.pack("I", EXT4_GOING_FLAGS_NOLOGFLUSH))
        finally:
            os.close(root)


def write_until_cut(disk, program, first, seconds):
    """Lets the program write for a while, cuts the power, and returns the writes that were acknowledged."""
    ledger = disk.root / "ledger.sled"
    writer = subprocess.Popen([program, "write", ledger, str(first)], stdout=subprocess.PIPE)
    output = []
    reader = threading.Thread(target=lambda: output.append(writer.stdout.read()))
    reader.start()
    time.sleep(seconds)
    os.kill(writer.pid, signal.SIGSTOP)
    _, status = os.waitpid(writer.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        sys.exit("the writer ended before its power was cut")
    disk.cut()
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    reader.join()
    # A line without its end was not printed whole: its write may count as not acknowledged.
    return output[0].decode().split("\n")[:-1]


def check(disk, program, acknowledged):
    """Returns how many acknowledged writes are missing, or None if the ledger does not open."""
    lines = "".join(f"{line}\n" for line in acknowledged)
    done = subprocess.run([program, "check", disk.root / "ledger.sled"], input=lines, capture_output=True, text=True)
    if done.returncode == 0:
        return int(done.stdout)
    print(f"  does not open: {done.stderr.strip().splitlines()[-1]}")
    return None


def cut_often(name, program, rounds, scratch, chance):
    """Returns the number of writes, of lost ones, of rounds that lost some, and of ledgers that do not open."""
    print(f"{name}:")
    disk = Disk(scratch)
    totals = {"acknowledged": 0, "lost": 0, "rounds with losses": 0, "most lost": 0, "not opened": 0}
    acknowledged = []
    is_whole = False
    for number in range(rounds):
        if number % ROUNDS_OF_IMAGE == 0 or not is_whole:
            disk.make()
            acknowledged = []
        disk.mount()
        # One round in four is cut while the ledger is opened or made.
        seconds = chance.uniform(0, 0.1) if chance.random() < 0.25 else chance.uniform(0.1, 3)
        try:
            new = write_until_cut(disk, program, number * LAUNCHES_OF_ROUND, seconds)
        finally:
            disk.unmount()
        acknowledged += new
        disk.mount()
        try:
            missing = check(disk, program, acknowledged)
        finally:
            disk.unmount()
        is_whole = missing == 0
        totals["acknowledged"] += len(new)
        totals["not opened"] += missing is None
        totals["lost"] += missing or 0
        totals["most lost"] = max(totals["most lost"], missing or 0)
        totals["rounds with losses"] += bool(missing)
        found = "does not open" if missing is None else f"{missing} lost"
        print(f"  round {number + 1}: {seconds:.2f} s, {len(new)} writes, {found}", flush=True)
    print("  " + ", ".join(f"{key}: {value}" for key, value in totals.items()), flush=True)
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, help="power cuts of each kind [default: 40]")
    parser.add_argument("--seed", type=int, default=1, help="decides when the power is cut [default: 1]")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("only root can mount")
    with tempfile.TemporaryDirectory(prefix="power-cuts-") as scratch:
        scratch = pathlib.Path(scratch)
        as_it_is = build(WORKSPACE, WORKSPACE / "target")
        as_it_is = shutil.copy(as_it_is, scratch / "power_cut")
        good = cut_often("as it is", as_it_is, options.rounds, scratch, random.Random(options.seed))
        without = build(copy_without_sync(scratch), scratch / "target")
        bad = cut_often("without the sync", without, options.rounds, scratch, random.Random(options.seed))
    if good["lost"] or good["not opened"]:
        sys.exit("the ledger lost what it had acknowledged")
    if not bad["lost"] and not bad["not opened"]:
        sys.exit("the ledger without the sync lost nothing: these rounds prove nothing")


if __name__ == "__main__":
    main()
