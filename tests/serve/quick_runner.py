"""A runner process in some milliseconds, without a model. It takes a lock, which the system releases at its end, and writes a line if another held it."""

import fcntl
import os
import socket
import sys

if __name__ == "__main__":
    lock, ready, descriptor = sys.argv[1:]
    parent = socket.socket(fileno=int(descriptor))
    held = os.open(lock, os.O_RDWR | os.O_APPEND)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(held, b"two at once\n")
    parent.sendall(bytes.fromhex(ready))
    while parent.recv(2**16):
        pass
