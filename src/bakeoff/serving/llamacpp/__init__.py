"""The wire format of llama.cpp's server, as editor plug-ins speak it."""
