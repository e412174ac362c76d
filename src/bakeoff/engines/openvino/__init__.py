"""Engine `openvino`: decoder-only models on a CPU, many requests at a time.

`able.py` says what it can honour before anything is loaded, `engine.py` is the asynchronous side,
`worker.py` is what runs on the compute thread, and `child.py` the process that owns the model
(`process.py` starts it and talks to it). A checkpoint is exported once (`conversion.py`), by tools
that live in an environment of their own (`tools.py`), and kept in the cache (`converted.py`).
`proven.yaml` lists the settings whose texts were found equal to those of plain transformers;
`make prove` writes it.
"""
