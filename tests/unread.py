#!/usr/bin/python3
"""unread.py SIGNAL COMMAND...: nobody reads what the command writes to standard output, a
page and more at once, and it is sent SIGNAL, by its name, each 0.3 s once it waits for that.
Prints its status or -signal, whether that took several signals, and what it wrote to
standard error."""
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time

PAGE = 4096
r, w = os.pipe()
fcntl.fcntl(w, 1031, PAGE)  # F_SETPIPE_SZ
p = subprocess.Popen(sys.argv[2:], stdout=w, stderr=subprocess.PIPE, text=True)
os.close(w)
waiting = bytes(4)
while p.poll() is None and struct.unpack("i", waiting)[0] < PAGE:
    time.sleep(0.01)
    waiting = fcntl.ioctl(r, termios.FIONREAD, waiting)
n = 0
while p.poll() is None and n < 100:
    p.send_signal(getattr(signal, sys.argv[1]))
    n += 1
    time.sleep(0.3)
p.kill()
print(p.wait(), n > 1, p.stderr.read().strip())
