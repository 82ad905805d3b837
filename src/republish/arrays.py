"""Names for the arrays that travel between the rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
LongArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]
