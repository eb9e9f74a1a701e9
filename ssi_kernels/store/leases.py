"""Claims in object storage, which has no locks: leases that their owner renews, by the clock of the service.

A claim is an object; its owner rewrites another one, its pulse, as long as it lives. A claim without a pulse for
`LIFETIME` is that of a dead process. Of two claims at the same time the earlier one goes first, by the time at which
the service received it and then by name; every claim waits for `SETTLING`, after which all earlier ones are visible.
"""

from __future__ import annotations

import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta

from ssi_kernels.store.atomic import cannot_write
from ssi_kernels.store.claims import Claim
from ssi_kernels.store.remote import RemotePath

LIFETIME = timedelta(seconds=90)
RENEWAL = 20.0
SETTLING = 1.2  # seconds; services tell times in whole seconds


class LeaseBoard:
    """The board below the prefix `folder`."""

    def __init__(self, folder: RemotePath):
        self._folder = folder

    @contextmanager
    def post(self, make: Callable[[list[Claim]], Claim]) -> Iterator[None]:
        """See `Board`. The ticket takes a place in the queue; what is claimed follows when all before it is known."""
        name = f"{platform.node()}-{secrets.token_hex(6)}"
        pulse = self._part(name, "pulse")
        with ExitStack() as stack:
            stack.callback(self._bury, name)
            try:
                pulse.write_bytes(b"")
                self._part(name, "ticket").write_bytes(b"")
                time.sleep(SETTLING)
                stack.enter_context(_renewed(pulse))
                claim = make(self._before(name))
                self._part(name, "claim").write_bytes(claim.encoded())
            except OSError as error:
                raise cannot_write(self._folder, error) from error
            yield

    def _part(self, name: str, part: str) -> RemotePath:
        return self._folder / f"{name}.{part}"

    def _before(self, name: str) -> list[Claim]:
        """The living claims that came before `name`; waits until each of them has said what it claims."""
        earlier = []
        for other in self._queue():
            if other == name:
                break
            earlier.append(other)
        return [claim for other in earlier if (claim := self._awaited(other)) is not None]

    def _queue(self) -> list[str]:
        """Names of living claims, the earliest first; removes those of the dead.

        The latest time on the board stands for now: whoever looks has just written something there.
        """
        received = {found.name: found.modified for found in self._folder.objects()}
        now, tickets = max(received.values(), default=None), []
        for stem in [name.removesuffix(".ticket") for name in received if name.endswith(".ticket")]:
            pulse = received.get(f"{stem}.pulse")
            if pulse is None or now - pulse > LIFETIME:
                self._bury(stem)
            else:
                tickets.append((received[f"{stem}.ticket"], stem))
        return [stem for _, stem in sorted(tickets)]

    def _awaited(self, name: str) -> Claim | None:
        """The claim of an earlier process; None when it gave up before it made one."""
        while True:
            with suppress(FileNotFoundError):
                return Claim.decoded(self._part(name, "claim").read_bytes())
            if name not in self._queue():
                return None
            time.sleep(SETTLING)

    def _bury(self, name: str) -> None:
        """Removes a claim; the pulse last, so that what is left by a kill in between still counts as dead later."""
        for part in ("ticket", "claim", "pulse"):
            with suppress(OSError):
                self._part(name, part).unlink(missing_ok=True)


@contextmanager
def _renewed(pulse: RemotePath) -> Iterator[None]:
    """Rewrites the pulse as long as the block runs."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(RENEWAL):
            with suppress(OSError):
                pulse.write_bytes(b"")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
