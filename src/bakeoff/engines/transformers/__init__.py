"""Engine `transformers`: every architecture of the library, run by the library itself.

`engine.py` is the asynchronous side and loads no heavy library; `worker.py` is what runs on the
compute thread.
"""
