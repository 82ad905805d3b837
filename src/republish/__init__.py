"""Publish a changing table of personal data again and again without giving anyone away."""

import lazy_loader

__version__ = "0.1.0"

# `__init__.pyi` lists the public names. Each is loaded on first use, so that `republish --help` does not wait.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
