"""Doctor: what a checkpoint is, what is wrong with it, and whether each engine runs it right.

`examine.py` puts the parts together; each check is a file of its own in `checks/`, named in
`registry.py`. Importing this package loads no heavy library.
"""
