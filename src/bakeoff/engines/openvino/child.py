"""The process that owns the model: token ids in, token ids out. Run as a script, by path.

The library holds Python's interpreter lock for a whole step, so that no thread beside it would run;
hence a process. It imports nothing of bakeoff, and neither torch nor transformers.

On its standard input and output are JSON texts, a line each:

    <- {"model": folder, "threads": n, "rows": n, "batch": n}    first
    -> {"ready": version}
    <- {"add": [[id, [token, ...], {settings}], ...], "drop": [id, ...]}      at any time
    -> {"new": [[id, [token, ...], [logprob, ...], done], ...]}               after each step
    -> {"failed": [[id, text], ...]}                                          what was not taken

It ends with its input, or by an exception, which it writes to its standard error.
"""

from __future__ import annotations

import json
import os
import select
from typing import Any

_PIECE = 1 << 20


class Lines:
    """The lines that come in; only whole ones are given out."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._left = b""
        self._open = True

    def next(self, wait: bool) -> dict[str, Any] | None:
        """The next one; None at the end, or where none is there and it is not to be waited for."""
        while b"\n" not in self._left:
            idle = not (wait or self._left)  # what has begun to come is waited for
            if not self._open or (idle and not select.select([self._source], [], [], 0)[0]):
                return None
            piece = os.read(self._source, _PIECE)
            self._open = bool(piece)
            if not piece:
                return None
            self._left += piece
        line, _, self._left = self._left.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    @property
    def ended(self) -> bool:
        """Whether no more will come."""
        return not self._open and b"\n" not in self._left


class Pipeline:
    """The library's pipeline and what runs in it."""

    def __init__(self, said: dict[str, Any]) -> None:
        import numpy
        import openvino
        import openvino_genai

        self.version = str(openvino_genai.__version__)
        self._numpy, self._openvino, self._library = numpy, openvino, openvino_genai
        config = openvino_genai.SchedulerConfig()
        config.cache_size = 0  # it grows with what runs, which is bounded from outside
        config.max_num_seqs = said["rows"]
        config.max_num_batched_tokens = said["batch"]
        config.enable_prefix_caching = False  # it would be shared by all who ask
        exact = {
            "INFERENCE_PRECISION_HINT": "f32",
            "KV_CACHE_PRECISION": "f32",
            "INFERENCE_NUM_THREADS": said["threads"],
        }
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(
            said["model"], config, "CPU", exact
        )
        self._running: dict[int, Any] = {}

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self._running)

    def take(self, message: dict[str, Any]) -> list[list[Any]]:
        """Take in and drop requests; those that the library refuses, and what it says."""
        refused = []
        for number in message.get("drop", ()):
            handle = self._running.pop(number, None)
            if handle is not None:
                handle.cancel()
        for number, ids, settings in message.get("add", ()):
            try:
                self._running[number] = self._add(number, ids, settings)
            except Exception as error:  # whatever the library says costs this request alone
                refused.append([number, f"{type(error).__name__}: {error}"])
        return refused

    def _add(self, number: int, ids: list[int], settings: dict[str, Any]) -> Any:
        config = self._library.GenerationConfig()
        config.max_new_tokens = settings["max_new"]
        config.min_new_tokens = settings.get("min_new", 0)
        config.repetition_penalty = settings.get("repetition_penalty", 1.0)
        config.stop_token_ids = set(settings.get("ends", ()))
        config.logprobs = int(settings.get("logprobs", 0))
        config.do_sample = False
        tensor = self._openvino.Tensor(self._numpy.array([ids], dtype=self._numpy.int64))
        return self._pipeline.add_request(number, tensor, config)

    def step(self) -> list[list[Any]]:
        """One step for everyone; what is new of each."""
        self._pipeline.step()
        running = self._library.GenerationStatus.RUNNING
        found = []
        for number, handle in list(self._running.items()):
            ids: list[int] = []
            logprobs: list[float] = []
            done = handle.get_status() != running
            while handle.can_read():
                for output in handle.read().values():
                    ids += output.generated_ids
                    logprobs += output.generated_log_probs
            if ids or done:
                found.append([number, ids, logprobs, done])
            if done:
                del self._running[number]
        return found


def main() -> None:
    """Serve until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the lines
    lines = Lines(0)

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    said = lines.next(wait=True)
    if said is None:
        return
    pipeline = Pipeline(said)
    say({"ready": pipeline.version})
    while not lines.ended:
        message = lines.next(wait=not pipeline.busy)
        while message is not None:
            if refused := pipeline.take(message):
                say({"failed": refused})
            message = lines.next(wait=False)
        if pipeline.busy and not lines.ended:
            say({"new": pipeline.step()})


if __name__ == "__main__":
    main()
