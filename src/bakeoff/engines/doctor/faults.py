"""Codes of what can be wrong, each with what it means. docs/doctor.md lists them."""

from __future__ import annotations

FAULTS: dict[str, str] = {
    # configuration
    "unknown-config-key": "config.json has a key that transformers does not know: a setting is "
    "lost, or misspelt.",
    "unknown-generation-key": "generation_config.json has a key that transformers does not know.",
    "generation-setting-not-applied": "generation_config.json asks for something that bakeoff does "
    "not do.",
    "bad-generation-setting": "A value in generation_config.json is impossible; it is not applied.",
    "rope-base-missing": "config.json names no base of the rotary positions although this one "
    "cannot do without: the library's default is taken.",
    "rope-base-doubtful": "The base of the rotary positions does not go with the window or the "
    "family, or text is likelier under another one.",
    "rope-settings-contradict": "config.json gives the settings of the rotary positions twice, and "
    "differently.",
    "rope-half-precision": "Tables of the rotary positions are kept in half precision; loaded so, "
    "long texts go wrong.",
    "decoder-start-wrong": "The decoder starts with another token than its family does.",
    "decoder-start-missing": "Nothing says which token the decoder starts with.",
    # text
    "chat-template-fails": "The chat template renders no user's turn, or shows no end of a turn.",
    "chat-template-not-used": "There are chat templates, but none is named default.",
    "system-role-dropped": "The chat template leaves a system message out without a word.",
    "generation-prompt-missing": "The chat template does not open the assistant's turn: the model "
    "must write its header itself.",
    "template-prints-none": "The chat template writes the word None where there is no system "
    "message.",
    "bos-twice": "A rendered conversation begins with two begin-of-sequence tokens.",
    "bos-beyond-vocabulary": "A token is named as the begin that the model does not have.",
    "end-marker-missing": "What ends a turn in the chat template is not in the end-of-sequence "
    "set: other tools let the model run on.",
    "no-end": "The checkpoint names no end-of-sequence token: texts run to their limit.",
    "end-beyond-vocabulary": "A token is named as the end that the model does not have.",
    "pad-is-end": "Padding and end are one token, and prompts hold it: a mask made from the "
    "padding's id hides real tokens.",
    "tokenizer-beyond-embeddings": "The tokenizer gives ids for which the model has no embedding: "
    "a text with them cannot be read.",
    "prompt-differs": "bakeoff reads a prompt as other tokens than the library does, and no fault "
    "of the chat template explains it.",
    # weights
    "head-missing": "The output head is not tied to the embeddings, and the files hold none.",
    "unused-weights": "The files hold weights that the architecture has no place for.",
    "weights-not-finite": "Weights are infinite or NaN.",
    "logits-not-finite": "The model gives NaN or infinity for ordinary text.",
    "overflows-float16": "Inner values go beyond what float16 holds: run in float16 it gives NaN.",
    "memory-too-small": "The model does not fit into the memory that is free.",
    "load-failed": "The model cannot be loaded.",
    "plain-fails": "Plain transformers fails on ordinary text; there is nothing to compare with.",
    # engines
    "no-engine": "No engine takes a kind of request.",
    "engine-fails": "An engine that should run the model does not.",
    "text-differs": "An engine's greedy text is not that of plain transformers.",
    "logprobs-differ": "An engine's log-probabilities are not those of plain transformers.",
    "depends-on-batch": "An encoder's answers in a batch are not those it gives alone.",
    # the doctor
    "check-failed": "A check could not be carried out on this model.",
}
"""Code of a warning or problem -> what it means."""
