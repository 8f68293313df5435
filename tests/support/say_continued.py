"""A job that says `up`, then `on-again` each time it is continued; any signal that ends a program ends it.

No shell can stand in: one that is stopped in the middle of a vfork() does not stop.
"""

import os
import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT])
os.write(1, b"up\n")
while signal.sigwait([signal.SIGCONT]):
    os.write(1, b"on-again\n")
