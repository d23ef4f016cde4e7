#!/usr/bin/python3
# tracer.py SOURCE MOUNTPOINT LOG: a file system tracer as they are written in Python, on
# fusepy: passes all on and writes a line an operation, with path, length, offset and
# microseconds. Something to measure iops mount against.
import os, sys, time

from fusepy import FUSE, FuseOSError, Operations


class Tracer(Operations):
    def __init__(self, root, log):
        self.root, self.log = root, open(log, "w", buffering=1)

    def __call__(self, op, path, *args):
        begin = time.perf_counter()
        try:
            result = getattr(self, op)(self.root + path if op != "link" else path, *args)
        except OSError as e:
            raise FuseOSError(e.errno)
        finally:
            us = (time.perf_counter() - begin) * 1e6
            if op == "read":
                self.log.write(f"{op} {path} size={args[0]} offset={args[1]} {us:.1f}us\n")
            elif op == "write":
                self.log.write(f"{op} {path} size={len(args[0])} offset={args[1]} {us:.1f}us\n")
            else:
                self.log.write(f"{op} {path} {us:.1f}us\n")
        return result

    def getattr(self, path, fh=None):
        s = os.lstat(path)
        return {k: getattr(s, k) for k in ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime",
                                           "st_nlink", "st_size", "st_uid")}

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(path)

    def access(self, path, mode):
        if not os.access(path, mode):
            raise FuseOSError(13)

    def open(self, path, flags):
        return os.open(path, flags)

    def create(self, path, mode, fi=None):
        return os.open(path, os.O_WRONLY | os.O_CREAT, mode)

    def read(self, path, length, offset, fh):
        return os.pread(fh, length, offset)

    def write(self, path, buf, offset, fh):
        return os.pwrite(fh, buf, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(path, length)

    def flush(self, path, fh):
        return 0

    def fsync(self, path, datasync, fh):
        return os.fsync(fh)

    def release(self, path, fh):
        return os.close(fh)

    def unlink(self, path):
        return os.unlink(path)


FUSE(Tracer(os.path.realpath(sys.argv[1]), sys.argv[3]), sys.argv[2], foreground=True, nothreads=True)
