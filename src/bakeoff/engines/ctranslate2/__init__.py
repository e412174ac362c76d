"""Engine `ctranslate2`: converted models on a CPU, several times as fast for encoder-decoders.

`able.py` says what it can honour before anything is loaded, `engine.py` is the asynchronous side,
`worker.py` is what runs on the compute thread. A model is converted once (`conversion.py`) and
kept in the cache (`converted.py`). `proven.yaml` lists the settings whose texts were found equal
to those of plain transformers; `make prove` writes it.
"""
