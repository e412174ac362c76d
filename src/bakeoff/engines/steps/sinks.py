"""Where texts of the loop go: to a caller who wants them whole, or piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bakeoff.core.errors import BakeoffError
from bakeoff.core.outputs import Completion, Failure, TokenChunk
from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.text import streaming
from bakeoff.engines.text.finishing import Made
from bakeoff.engines.text.recording import Shows
from bakeoff.engines.text.writing import outcome


class Whole:
    """Gives out each text when it is complete; a `Sink`.

    Attributes:
        show: nothing is shown before.
    """

    show: Shows | None = None

    def __init__(
        self, row: Row, control: Control, give: Callable[[list[Completion | Failure]], None]
    ) -> None:
        self._row = row
        self._control = control
        self._give = give

    def end(self, made: Sequence[Made]) -> None:
        """See `Sink.end`."""
        self._give([outcome(self._row, one, self._control) for one in made])


class Pieces:
    """Gives out the chunks of a text as they become certain; a `Sink`.

    Attributes:
        show: takes the tokens so far.
    """

    show: Shows | None

    def __init__(
        self,
        telling: streaming.Telling,
        push: Callable[[TokenChunk], None],
        done: Callable[[BakeoffError | None], None],
    ) -> None:
        """`done` is called once, behind the last chunk, with what went wrong."""
        self.show = telling.show
        self._telling = telling
        self._push = push
        self._done = done

    def end(self, made: Sequence[Made]) -> None:
        """See `Sink.end`; further copies of a greedy text come whole."""
        error = next((one for one in made if isinstance(one, BakeoffError)), None)
        texts = [one for one in made if isinstance(one, Completion)]
        if error is None:
            self._telling.end(texts[0])
            for copy in texts[1:]:
                self._push(streaming.whole(copy))
        self._done(error)
