"""`ComputeThread`: the one thread that owns a model; the event loop talks to it by futures."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from bakeoff.core.errors import EngineClosed

T = TypeVar("T")


class _Job(NamedTuple):
    call: Callable[[], Any]
    future: Future[Any]


class ComputeThread:
    """Runs calls one after the other on a thread of its own, in the order of submission.

    The thread is a daemon: a process that ends does not wait for a long computation.
    """

    def __init__(self, name: str) -> None:
        """`name` is the thread's name, for debuggers."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Put a call in line; cancelling the future before its turn drops the call.

        Raises:
            EngineClosed: the thread was closed.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise EngineClosed("the engine was closed")
            self._jobs.put(_Job(call, future))
        return future

    async def run(self, call: Callable[[], T]) -> T:
        """Put a call in line and wait for its result without blocking the event loop.

        Raises:
            EngineClosed: the thread was closed, before the call or while it waited.
        """
        return await asyncio.wrap_future(self.submit(call))

    def close(self) -> None:
        """Take no more calls; those in line fail with `EngineClosed`. May be called twice.

        The call that runs now ends by itself; `join` waits for it.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)

    async def join(self) -> None:
        """Wait until the thread has ended; call `close` first."""
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue
            if self._closed:
                job.future.set_exception(EngineClosed("the engine was closed"))
                continue
            try:
                result = job.call()
            except BaseException as error:  # whatever it is, the caller must see it
                job.future.set_exception(error)
            else:
                job.future.set_result(result)
            del job  # the closure may hold tensors
